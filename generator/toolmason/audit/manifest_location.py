"""Map a pointer in a tool's schema to the key of the manifest that the schema is compiled from.

`/properties/files/items/properties/path/minLength` leads from `[tools.read_files] params.files` to its type
`[types.FileReadRequest] fields.path` and its key `min_length`. `/$defs/FileReadRequest/properties/path` leads to the
same field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.model.tool import Tool
from toolmason.model.types import ArrayType, DeclaredType, MapType, NamedType, Property, TypeRef, UnionType
from toolmason.resolve.types import KEYWORDS
from toolmason.schema import pointer_parts

Types = Mapping[str, DeclaredType]

_MANIFEST_KEYS: Final[Mapping[str, str]] = {
    **{keyword: name for name, keyword in KEYWORDS.items()},
    **{keyword: keyword for keyword in ("default", "description", "type")},
}
"""Schema keyword to manifest key."""


def manifest_location(pointer: str, tool: Tool, types: Types) -> KeyPath:
    """Return the key path for `pointer` in a schema of `tool`, or for its nearest parent with a key.

    The schema is the advertised one or the one with definitions; `types` are the server's types by name. For a schema
    that the author wrote as JSON Schema, the result is in `input_schema`.
    """
    parts = pointer_parts(pointer)
    if not tool.params_class:
        return (*tool.at, "input_schema", *(int(part) if part.isdecimal() else part for part in parts))
    match parts:
        case ["$defs", name, *rest] if name in types:
            return _in_object(rest, types[name], types)
        case _:
            return _in_values(parts, tool.params, types) or tool.at


def _in_object(parts: Sequence[str], declared: DeclaredType, types: Types) -> KeyPath:
    if parts == ["description"]:
        return (*declared.at, "description")
    match parts:
        case ["anyOf", index, *rest] if isinstance(declared, UnionType) and int(index) < len(declared.members):
            return _in_object(rest, types[tuple(declared.members)[int(index)]], types)
    return _in_values(parts, declared.fields, types) or declared.at


def _in_values(parts: Sequence[str], values: Sequence[Property], types: Types) -> KeyPath:
    """Follow `parts` from an object with properties `values`; return an empty path if there is no such property."""
    match parts:
        case ["properties", name, *rest]:
            value = next((value for value in values if value.name == name), None)
            return _in_value(rest, value, types) if value else ()
        case ["required", index] if index.isdecimal():
            required = [value for value in values if value.required]
            return required[int(index)].at if int(index) < len(required) else ()
        case _:
            return ()


def _in_value(parts: Sequence[str], value: Property, types: Types) -> KeyPath:
    match parts:
        case []:
            return value.at
        case ["anyOf", _, *_] if isinstance(value.type, NamedType) and isinstance(
            types.get(value.type.name), UnionType
        ):
            return _in_object(parts, types[value.type.name], types)
        case ["anyOf" | "allOf", _, *rest]:  # a nullable value, or a named type with constraints
            return _in_value(rest, value, types)
        case [keyword, *_] if keyword in _MANIFEST_KEYS:
            return (*value.at, _MANIFEST_KEYS[keyword])
        case _:
            return _in_type(parts, value.type, types) or (*value.at, "type")


def _in_type(parts: Sequence[str], ref: TypeRef, types: Types) -> KeyPath:
    match ref, parts:
        case (ArrayType(inner), ["items", *rest]) | (MapType(inner), ["additionalProperties", *rest]):
            return _in_type(rest, inner, types)
        case NamedType(name), [_, *_] if parts != ["$ref"] and name in types:
            return _in_object(parts, types[name], types)
        case _:
            return ()
