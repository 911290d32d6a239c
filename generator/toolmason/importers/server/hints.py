"""The hints that a server declares for its tools. MCP says that clients must treat them as untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DECLARED: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def declared_annotations(tool: Mapping[str, Any]) -> dict[str, bool]:
    """Return the hints that a tool declares. A value that is not a boolean declares nothing."""
    annotations = tool.get("annotations")
    if not isinstance(annotations, Mapping):
        return {}
    return {name: annotations[name] for name in _DECLARED if isinstance(annotations.get(name), bool)}


def accepted_hints(tool: Mapping[str, Any]) -> dict[str, bool] | None:
    """Return `hints` for a tool whose declaration the author accepts; None if it declares nothing.

    Of contradicting hints, the worse one counts. Missing ones are those that MCP assumes: destructive and open world.
    """
    declared = declared_annotations(tool)
    if not declared:
        return None
    read_only = declared.get("readOnlyHint", False) and not declared.get("destructiveHint", False)
    return {
        "read_only": read_only,
        "destructive": not read_only and declared.get("destructiveHint", True),
        "idempotent": read_only or declared.get("idempotentHint", False),
        "open_world": declared.get("openWorldHint", True),
    }


def hints_comment(tool: Mapping[str, Any]) -> str:
    """Return the declared hints as text for the author; empty without any."""
    declared = declared_annotations(tool)
    return ", ".join(f"{name} = {str(value).lower()}" for name, value in declared.items())


def is_unasked(hints: Mapping[str, bool] | None) -> bool:
    """Return whether calls of a tool with these hints run without approval."""
    return hints is not None and hints["read_only"] and not hints["destructive"]


def unasked_text(names: list[str]) -> str:
    """Return the line of reports about the tools that run without approval, with all of their names."""
    return f"runs without approval: {', '.join(names) or 'none'}"
