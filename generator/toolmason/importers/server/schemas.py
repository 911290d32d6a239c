"""Schemas of imported tools: the dialect of manifests, and the part that limits valid calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_TEXTS: Final = frozenset({"$comment", "$schema", "description", "examples", "title"})
"""Keywords that accept and reject nothing."""
_NAMED: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value has names as keys, not keywords."""
_VALUES: Final = frozenset({"const", "default", "enum", "examples"})


def without_texts(schema: Any) -> Any:
    """Return a copy of a JSON Schema without descriptions and other texts."""
    return changed_schemas(schema, lambda node: {key: value for key, value in node.items() if key not in _TEXTS})


def as_2020_12(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a JSON Schema in the dialect of manifests (2020-12), without `$schema`.

    Tuples are the only frequent difference: draft 7, which zod generates, has them in `items`.
    """
    changed = changed_schemas(schema, _modern_tuple)
    return {key: value for key, value in changed.items() if key != "$schema"}


def _modern_tuple(node: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(node.get("items"), list):
        return node
    names = {"items": "prefixItems", "additionalItems": "items"}
    return {names.get(key, key): value for key, value in node.items()}


def changed_schemas(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a copy of a JSON Schema with each of its schemas changed, the innermost first."""
    if isinstance(schema, list):
        return [changed_schemas(item, change) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    node: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _VALUES:
            node[key] = value
        elif key in _NAMED and isinstance(value, dict):
            node[key] = {name: changed_schemas(inner, change) for name, inner in value.items()}
        else:
            node[key] = changed_schemas(value, change)
    return change(node)
