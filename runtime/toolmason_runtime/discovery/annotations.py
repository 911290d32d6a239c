"""The hints of meta-tools: clients decide by them what may run unasked, so all four are always sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from toolmason_runtime.protocol.catalogue import ToolEntry

LOOKS_UP: Final[Mapping[str, bool]] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
"""Those of a meta-tool that looks into the catalogue and runs nothing."""


def joint_hints(entries: Collection[ToolEntry]) -> dict[str, bool]:
    """Give those of a meta-tool that runs any of `entries`: by each hint it is as bad as the worst of them."""
    return {
        "readOnlyHint": all(is_read_only(entry) for entry in entries),
        "destructiveHint": any(_said(entry, "destructiveHint", absent=not is_read_only(entry)) for entry in entries),
        "idempotentHint": all(_said(entry, "idempotentHint", absent=is_read_only(entry)) for entry in entries),
        "openWorldHint": any(_said(entry, "openWorldHint", absent=True) for entry in entries),
    }


def is_read_only(entry: ToolEntry) -> bool:
    """Whether the tool says that it changes nothing."""
    return _said(entry, "readOnlyHint", absent=False)


def _said(entry: ToolEntry, name: str, *, absent: bool) -> bool:
    """Give one hint of a tool; `absent` is what the MCP specification takes it for when it is not said."""
    return bool(entry["tool"].get("annotations", {}).get(name, absent))
