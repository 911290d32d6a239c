"""Names of arguments that some provider refuses: what a model calls them, and what the tool does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def renamed(value: Any, schema: Any, names: Mapping[str, str]) -> Any:
    """Give `value` with the members that `schema` declares called as `names` has it (name there to name wanted).

    `schema` may declare either name; what it does not declare, such as the names in a map, stays.
    """
    if not names:
        return value
    if isinstance(value, list):
        inner = [each for node in _nodes(schema) if (each := node.get("items")) is not None]
        return [renamed(item, {"anyOf": inner}, names) for item in value]
    if not isinstance(value, dict):
        return value
    declared: dict[str, list[Any]] = {}
    for node in _nodes(schema):
        for name, part in node.get("properties", {}).items():
            declared.setdefault(name, []).append(part)
    found: dict[str, Any] = {}
    for name, item in value.items():
        other = names.get(name, name)
        parts = declared.get(name) or declared.get(other)
        found[name if parts is None else other] = renamed(item, {"anyOf": parts or []}, names)
    return found


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        for each in schema.get("anyOf", ()):
            yield from _nodes(each)
