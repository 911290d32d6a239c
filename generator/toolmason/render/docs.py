"""JSON Schema as the rows of a table: one row per property, nested ones included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

MAX_DEPTH = 3
"""Maximum nesting depth of rows. The schema of a recursive result expands further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One property. `path` leads to it: `files[].head`. `default` is JSON, empty if there is none."""

    path: str
    type: str
    required: bool
    default: str
    meaning: str


def rows(schema: Mapping[str, Any]) -> tuple[Row, ...]:
    """Return the properties of an object schema in order, each followed by its own properties.

    A property of several objects of a union has one row.
    """
    unique: dict[str, Row] = {}
    for row in _rows(schema, "", MAX_DEPTH):
        known = unique.setdefault(row.path, row)
        if known.type != row.type:
            unique[row.path] = replace(known, type=f"{known.type} or {row.type}")
    return tuple(unique.values())


def _rows(schema: Mapping[str, Any], prefix: str, levels: int) -> Iterator[Row]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        if value is False:
            continue
        # `true` means the same as `{}`: any value.
        part = value if isinstance(value, dict) else {}
        path = prefix + name
        # Some dialects allow no keywords beside `anyOf`: a union has its description and default in its alternatives.
        nodes = [part, *part.get("anyOf", ())]
        yield Row(
            path=path,
            type=_format_type(part),
            required=name in required,
            default=next((json.dumps(node["default"], ensure_ascii=False) for node in nodes if "default" in node), ""),
            meaning=" ".join(dict.fromkeys(str(node["description"]) for node in nodes if "description" in node)),
        )
        if levels > 1:
            inner, steps = _unwrap(part)
            for node in (inner, *inner.get("anyOf", ())):
                if "properties" in node:
                    yield from _rows(node, f"{path}{steps}.", levels - 1)


def _unwrap(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the schema inside arrays and maps with the path to it, such as `[].*`."""
    steps = ""
    while True:
        if isinstance(items := schema.get("items"), dict):
            schema, steps = items, f"{steps}[]"
        elif isinstance(values := schema.get("additionalProperties"), dict):
            schema, steps = values, f"{steps}.*"
        else:
            return schema, steps


def _format_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"])
    if alternatives := [node for node in schema.get("anyOf", ()) if node != {"type": "null"}]:
        return " or ".join(dict.fromkeys(map(_format_type, alternatives)))
    kind = schema.get("type", "any")
    text = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if isinstance(items := schema.get("items"), dict):
        return f"{text} of {_format_type(items)}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"{text} of {_format_type(values)}"
    return text
