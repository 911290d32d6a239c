"""The short form of a tool in `tools/list`, without members that no client needs.

With the remaining hints, every client makes the same approval decisions as with all four. `destructiveHint` and
`openWorldHint` are listed if they are true, although that is their default: Claude Code reads a missing one as false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason_runtime.shared.catalogue import WireTool

_SEPARATORS: Final = str.maketrans("", "", " _-.")


def listed_tool(tool: WireTool) -> WireTool:
    """Return `tool` without hints that follow from the others, and without a title that repeats its name."""
    listed = {key: value for key, value in tool.items() if key != "title" or not _is_same_text(value, tool["name"])}
    return listed | ({"annotations": _needed_hints(tool["annotations"])} if "annotations" in tool else {})


def _needed_hints(hints: Mapping[str, bool]) -> dict[str, bool]:
    """Return the hints without defaults that all clients share, and without those that a tool that only reads implies.

    MCP gives `destructiveHint` and `idempotentHint` no meaning in such a tool.
    """
    implied = {("destructiveHint", False), ("idempotentHint", False), ("idempotentHint", True)}
    omitted = implied if hints.get("readOnlyHint") else {("readOnlyHint", False), ("idempotentHint", False)}
    return {name: value for name, value in hints.items() if (name, value) not in omitted}


def _is_same_text(title: str, name: str) -> bool:
    """Return whether two texts differ in case and separators only, as `Git log` and `git_log`, not `C++` and `c`."""
    return title.casefold().translate(_SEPARATORS) == name.casefold().translate(_SEPARATORS)
