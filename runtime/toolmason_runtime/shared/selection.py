"""Select the tools of a catalogue that a server serves, from its options and environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import gmtime, strftime

from toolmason_runtime.shared.catalogue import Catalogue, DeprecationEntry, ToolEntry
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.values.wording import disabled, ended


@dataclass(frozen=True, slots=True)
class Selection:
    """The discovery style, whether the tier `all` is served, and the categories that are served (empty: all).

    Without `command_prompts`, slash commands are not served as prompts, for clients that have their files.

    Raises:
        ValueError: the style does not exist.
    """

    style: str
    all_tools: bool = False
    toolsets: tuple[str, ...] = ()
    command_prompts: bool = True

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(_unknown("discovery style", self.style, list(STYLES)))


def visible_tools(catalogue: Catalogue, selection: Selection) -> dict[str, ToolEntry]:
    """Return the enabled tools of `selection`, in the order of the manifest.

    Raises:
        ValueError: a toolset is not a category.
    """
    return {name: entry for name, entry in served_tools(catalogue, selection).items() if is_enabled(entry)}


def served_tools(catalogue: Catalogue, selection: Selection) -> dict[str, ToolEntry]:
    """Return the tools of `selection`, including disabled ones.

    Raises:
        ValueError: a toolset is not a category.
    """
    categories = frozenset(_category(toolset.strip(), catalogue) for toolset in selection.toolsets)

    def is_selected(entry: ToolEntry) -> bool:
        has_tier = selection.all_tools or entry["tier"] == "core"
        return has_tier and (not categories or entry["category"] in categories)

    return {name: entry for name, entry in catalogue["tools"].items() if is_selected(entry)}


def is_enabled(entry: ToolEntry) -> bool:
    """Return whether the tool may be called: it is not switched off, and its last day is not over."""
    return entry.get("enabled", True) and not _has_ended(entry)


def why_disabled(entry: ToolEntry) -> str:
    """Return the error for a call of a tool that is not enabled; it names the replacement of one that has ended."""
    name = entry["tool"]["name"]
    return ended(name, entry["deprecated"]) if _has_ended(entry) else disabled(name)


def _has_ended(entry: ToolEntry) -> bool:
    return "deprecated" in entry and is_over(entry["deprecated"])


def is_over(deprecation: DeprecationEntry) -> bool:
    """Return whether the last day of a deprecated tool or argument is over."""
    until = deprecation.get("until", "")
    # Dates of this form have the order of their texts.
    return bool(until) and strftime("%Y-%m-%d", gmtime()) > until


def _category(toolset: str, catalogue: Catalogue) -> str:
    if toolset not in catalogue["categories"]:
        raise ValueError(_unknown("toolset", toolset, tuple(catalogue["categories"])))
    return toolset


def _unknown(kind: str, name: str, valid_names: Sequence[str]) -> str:
    hint = did_you_mean(name, valid_names)
    names = ", ".join(f"`{valid_name}`" for valid_name in valid_names)
    options = f"use one of {names}" if names else "this server has none"
    return f"unknown {kind} `{name}`: {options}{f'; {hint}' if hint else ''}"
