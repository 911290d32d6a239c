"""From a place in a tool's schema to the place in the manifest that made it so.

The schema is compiled from parameters and types, so `/properties/files/items/properties/path/minLength` leads through
`[tools.read_files] params.files` and its type to `[types.FileReadRequest] fields.path` and there to `min_length`; in
the form with definitions `/$defs/FileReadRequest/properties/path` leads to the same field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolmason_runtime.toml.positions import KeyPath

from toolmason.model.tool import Tool
from toolmason.model.types import ListOf, MapOf, Named, ObjectType, TypeRef, Value
from toolmason.resolve.types import KEYWORDS
from toolmason.schema import pointer_parts

Types = Mapping[str, ObjectType]

_KEYS: Final[Mapping[str, str]] = {
    **{keyword: name for name, keyword in KEYWORDS.items()},
    "default": "default",
    "description": "description",
    "type": "type",
}
"""What the manifest calls a keyword of the schema."""


def manifest_place(pointer: str, tool: Tool, types: Types) -> KeyPath:
    """Give the key path that stands behind `pointer` in a schema of `tool`, or behind what is around it.

    The schema is the one that clients are sent, or the one with definitions; `types` are those of the server, by
    name. Of a schema that the author gave whole it is the place in `input_schema`.
    """
    parts = pointer_parts(pointer)
    if not tool.params_class:
        return (*tool.at, "input_schema", *(int(part) if part.isdecimal() else part for part in parts))
    match parts:
        case ["$defs", name, *rest] if name in types:
            return _in_object(rest, types[name], types)
        case _:
            return _in_values(parts, tool.params, types) or tool.at


def _in_object(parts: Sequence[str], found: ObjectType, types: Types) -> KeyPath:
    if parts == ["description"]:
        return (*found.at, "description")
    return _in_values(parts, found.fields, types) or found.at


def _in_values(parts: Sequence[str], values: Sequence[Value], types: Types) -> KeyPath:
    """Follow `parts` from an object whose properties are `values`; empty where that leads to none of them."""
    match parts:
        case ["properties", name, *rest]:
            found = next((each for each in values if each.name == name), None)
            return _in_value(rest, found, types) if found else ()
        case ["required", index] if index.isdecimal():
            required = [each for each in values if each.required]
            return required[int(index)].at if int(index) < len(required) else ()
        case _:
            return ()


def _in_value(parts: Sequence[str], value: Value, types: Types) -> KeyPath:
    match parts:
        case []:
            return value.at
        case ["anyOf" | "allOf", _, *rest]:
            # A value that may be null, or a named type with constraints beside it.
            return _in_value(rest, value, types)
        case [keyword, *_] if keyword in _KEYS:
            return (*value.at, _KEYS[keyword])
        case _:
            return _in_type(parts, value.type, types) or (*value.at, "type")


def _in_type(parts: Sequence[str], ref: TypeRef, types: Types) -> KeyPath:
    match ref, parts:
        case (ListOf(inner), ["items", *rest]) | (MapOf(inner), ["additionalProperties", *rest]):
            return _in_type(rest, inner, types)
        case Named(name), [_, *_] if parts != ["$ref"] and name in types:
            return _in_object(parts, types[name], types)
        case _:
            return ()
