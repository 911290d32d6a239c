"""What of a catalogue a running server serves, as flags and environment chose at its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry
from toolmason_runtime.suggestions import did_you_mean

STYLES: Final = ("search-call", "list-describe", "discover-schema", "classic")
"""The styles of discovery: which meta-tools stand in `tools/list`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The style of discovery, whether tools of the tier `all` are served, and the categories to keep (empty: each)."""

    style: str
    all_tools: bool = False
    toolsets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(_unknown("discovery style", self.style, STYLES))


def visible_tools(catalogue: Catalogue, selection: Selection) -> dict[str, ToolEntry]:
    """Give the tools that can be found and called, in the order of the manifest.

    Raises:
        ValueError: a toolset is no category; the text names those there are.
    """
    return {name: entry for name, entry in served_tools(catalogue, selection).items() if is_enabled(entry)}


def served_tools(catalogue: Catalogue, selection: Selection) -> dict[str, ToolEntry]:
    """Return the tools of the tier and of the toolsets, disabled ones too.

    Raises:
        ValueError: a toolset is no category; the text names those there are.
    """
    categories = frozenset(_category(toolset, catalogue) for toolset in selection.toolsets)

    def is_chosen(entry: ToolEntry) -> bool:
        of_tier = selection.all_tools or entry["tier"] == "core"
        return of_tier and (not categories or entry["category"] in categories)

    return {name: entry for name, entry in catalogue["tools"].items() if is_chosen(entry)}


def is_enabled(entry: ToolEntry) -> bool:
    """Whether the tool may be called at all."""
    return entry.get("enabled", True)


def _category(toolset: str, catalogue: Catalogue) -> str:
    wanted = toolset.strip()
    if wanted not in catalogue["categories"]:
        raise ValueError(_unknown("toolset", wanted, tuple(catalogue["categories"])))
    return wanted


def _unknown(what: str, given: str, known: Sequence[str]) -> str:
    hint = did_you_mean(given, known)
    listed = ", ".join(f"`{each}`" for each in known) or "none"
    return f"unknown {what} `{given}`: there are {listed}{f'; {hint}' if hint else ''}"
