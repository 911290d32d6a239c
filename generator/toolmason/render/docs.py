"""A schema as the rows of a table, for people: one row a property, those inside objects and arrays too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 3
"""How deep properties are followed. A recursive result is written out further than anybody wants to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One property. `path` leads to it: `files[].head`. `default` is JSON, empty if there is none."""

    path: str
    type: str
    required: bool
    default: str
    meaning: str


def rows(schema: Mapping[str, Any]) -> tuple[Row, ...]:
    """Give the properties of an object schema in their order, each followed by those inside it."""
    return tuple(_rows(schema, "", MAX_DEPTH))


def _rows(schema: Mapping[str, Any], above: str, levels: int) -> Iterator[Row]:
    required = schema.get("required", ())
    for name, written in schema.get("properties", {}).items():
        if written is False:
            continue
        # `true` says no more than `{}`: anything may stand here.
        part = written if isinstance(written, dict) else {}
        path = above + name
        # Nothing may stand beside `anyOf`, so what is said of a union is said in its alternatives.
        said = [part, *part.get("anyOf", ())]
        yield Row(
            path=path,
            type=_type_words(part),
            required=name in required,
            default=next((json.dumps(each["default"], ensure_ascii=False) for each in said if "default" in each), ""),
            meaning=" ".join(dict.fromkeys(str(each["description"]) for each in said if "description" in each)),
        )
        if levels > 1:
            inner, steps = _inside(part)
            yield from _rows(inner, f"{path}{steps}.", levels - 1)


def _inside(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Give the object that lies in arrays, maps or nothing, and the steps to it."""
    steps = ""
    while True:
        if isinstance(items := schema.get("items"), dict):
            schema, steps = items, f"{steps}[]"
        elif isinstance(values := schema.get("additionalProperties"), dict):
            schema, steps = values, f"{steps}.*"
        else:
            return schema, steps


def _type_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    if alternatives := [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]:
        return " or ".join(dict.fromkeys(map(_type_words, alternatives)))
    kind = schema.get("type", "any")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if isinstance(items := schema.get("items"), dict):
        return f"{words} of {_type_words(items)}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"{words} of {_type_words(values)}"
    return words
