"""Walk through a schema. Keywords are recognized by position: a property named `not` or `$ref` is a property."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolmason.schema.keywords import SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS

MAX_WALKED: Final = 50_000
"""Maximum schemas of one walk."""

_WITH_SCHEMAS: Final = frozenset((*SCHEMA_MAP_KEYWORDS, *SCHEMA_LIST_KEYWORDS, *SCHEMA_KEYWORDS))

Parts: TypeAlias = tuple[str | int, ...]
"""The unescaped parts of a JSON Pointer."""


def walk(root: Any) -> Iterator[tuple[dict[str, Any], Parts]]:
    """Yield each object schema inside `root` once, with its location."""
    pending: list[tuple[Any, Parts]] = [(root, ())]
    seen: set[int] = set()
    while pending and len(seen) < MAX_WALKED:
        schema, parts = pending.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema, parts
        for keyword, value in schema.items():
            if keyword in _WITH_SCHEMAS:
                pending += [(subschema, parts + inner) for inner, subschema in subschemas(keyword, value)]


def subschemas(keyword: str, value: Any) -> list[tuple[Parts, Any]]:
    """Return the schemas in the value of a keyword, with the parts from the schema around it: `("properties", "a")`."""
    if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
        return [((keyword, name), schema) for name, schema in value.items()]
    if keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list | tuple):
        return [((keyword, index), schema) for index, schema in enumerate(value)]
    return [((keyword,), value)] if keyword in SCHEMA_KEYWORDS else []
