"""Tool annotations of the meta-tools. Clients skip approval based on them; `listing` leaves out what others imply."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from toolmason_runtime.shared.catalogue import ToolEntry

READ_ONLY_ANNOTATIONS: Final[Mapping[str, bool]] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
"""Annotations of a meta-tool that reads the catalogue and runs no tool."""


def combined_annotations(entries: Collection[ToolEntry]) -> dict[str, bool]:
    """Return the annotations of a meta-tool that runs any of `entries`: each has the worst of their values."""
    return {
        "readOnlyHint": all(is_read_only(entry) for entry in entries),
        "destructiveHint": any(_hint(entry, "destructiveHint", default=not is_read_only(entry)) for entry in entries),
        "idempotentHint": all(_hint(entry, "idempotentHint", default=is_read_only(entry)) for entry in entries),
        "openWorldHint": any(_hint(entry, "openWorldHint", default=True) for entry in entries),
    }


def is_read_only(entry: ToolEntry) -> bool:
    """Return whether the tool has `readOnlyHint`."""
    return _hint(entry, "readOnlyHint", default=False)


def _hint(entry: ToolEntry, name: str, *, default: bool) -> bool:
    """Return one annotation of a tool; `default` is the one of the MCP specification."""
    return bool(entry["tool"].get("annotations", {}).get(name, default))
