"""Parts of the editor schema that the rules of several tables share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

BARE_WORDS: Final = {
    "if": {"required": ["flag"], "properties": {"flag": {"pattern": "^[^-]*[^=-]$"}}},
    "then": {"required": ["type"], "properties": {"type": {"const": "boolean"}}},
}
"""Only a boolean has a bare word as its flag."""
PROPERTY_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"


def none_of(keys: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a table without `keys`."""
    return {"not": {"anyOf": [{"required": [key]} for key in keys]}}


def one_of(*keys: str) -> dict[str, Any]:
    """Return the schema of a table with exactly one of `keys`."""
    return {"oneOf": [{"required": [key]} for key in keys]}


def without_param_keys(*keys: str) -> dict[str, Any]:
    """Return the schema of a tool whose parameters have none of `keys`."""
    forbidden = [{"required": [key]} for key in keys]
    return {"properties": {"params": {"additionalProperties": {"not": {"type": "object", "anyOf": forbidden}}}}}


def whole(pattern: str) -> str:
    """Anchor `pattern` to the whole text: in some validators `$` also matches before a final line break."""
    return rf"^(?:{pattern})$(?!\n)"
