"""Convert types of the model to JSON Schema, with references (`$defs`) for parameters and inlined for results.

Schemas of parameters check examples and defaults, generate the Pydantic models, and are the source of the schemas sent
to clients and providers (`toolmason.schema`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolmason.model.types import (
    ArrayType,
    DeclaredType,
    EnumType,
    JsonSchema,
    MapType,
    NamedType,
    PrimitiveType,
    Property,
    TypeRef,
    UnionType,
)

_REFERENCE: Final = re.compile(r'"#/\$defs/([^"]+)"')

Types = Mapping[str, DeclaredType]

MAX_RECURSION = 3
"""Maximum expansions of a recursive result type; deeper levels are open objects."""


def object_schema(values: Sequence[Property], description: str = "", *, formats: bool = True) -> JsonSchema:
    """Return the object schema for `values` with references to `#/$defs`.

    `formats=False` omits `format`: validators differ too much for a check.
    """
    schema: JsonSchema = {"type": "object"}
    if description:
        schema["description"] = description
    schema["properties"] = {value.name: property_schema(value, formats=formats) for value in values}
    if required := [value.name for value in values if value.required]:
        schema["required"] = required
    return schema


def property_schema(value: Property, *, formats: bool = True) -> JsonSchema:
    """Return the schema of one parameter or field with references to `#/$defs`."""
    node = _type_schema(value.type)
    if "$ref" in node and (value.nullable or value.constraints):
        node = {"allOf": [node]}
    if value.nullable:
        node = _or_null(node)
    node |= {name: rule for name, rule in value.constraints.items() if formats or name != "format"}
    if value.nullable and "enum" in node:
        node["enum"] = [*node["enum"], None]
    if value.description:
        node["description"] = value.description
    if value.has_default:
        node["default"] = value.default
    return node


def _or_null(node: JsonSchema) -> JsonSchema:
    return {**node, "type": [node["type"], "null"]} if "type" in node else {"anyOf": [node, {"type": "null"}]}


def _type_schema(ref: TypeRef) -> JsonSchema:
    match ref:
        case PrimitiveType(kind):
            return {"type": kind}
        case ArrayType(item):
            return {"type": "array", "items": _type_schema(item)}
        case MapType(inner):
            return {"type": "object", "additionalProperties": _type_schema(inner)}
        case NamedType(name):
            return {"$ref": f"#/$defs/{name}"}


def declared_schema(declared: DeclaredType) -> JsonSchema:
    """Return the schema of a type of `[types]` with references to `#/$defs`."""
    match declared:
        case EnumType(choices=choices):
            return _described({"type": "string", "enum": list(choices)}, declared.description)
        case UnionType(members=members):
            return _described({"anyOf": [_type_schema(NamedType(name)) for name in members]}, declared.description)
        case _:
            return object_schema(declared.fields, declared.description)


def _described(schema: JsonSchema, description: str) -> JsonSchema:
    return {**schema, "description": description} if description else schema


def definitions(types: Sequence[DeclaredType]) -> dict[str, JsonSchema]:
    """Return the `$defs` of `types`."""
    return {declared.name: declared_schema(declared) for declared in types}


def with_definitions(schema: JsonSchema, definitions: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return `schema` with the definitions that it uses, directly or in other definitions."""
    used: set[str] = set()
    pending = [schema]
    while pending:
        names = {
            name for name in _REFERENCE.findall(json.dumps(pending.pop(), ensure_ascii=False)) if name in definitions
        }
        pending += [definitions[name] for name in names - used]
        used |= names
    return {**schema, "$defs": {name: definitions[name] for name in definitions if name in used}} if used else schema


def result_schema(named: DeclaredType, types: Types) -> JsonSchema:
    """Return the schema of a structured type with references inlined; deeper recursion is an open object."""
    return _result_object(named, types, {})


def _result_declared(declared: DeclaredType, types: Types, levels: Mapping[str, int]) -> JsonSchema:
    match declared:
        case EnumType():
            return declared_schema(declared)
        case UnionType(members=members):
            branches = [_result_object(types[name], types, levels) for name in members]
            return _described({"anyOf": branches}, declared.description)
        case _:
            return _result_object(declared, types, levels)


def _result_object(named: DeclaredType, types: Types, open_levels: Mapping[str, int]) -> JsonSchema:
    if open_levels.get(named.name, 0) > MAX_RECURSION:
        return {"type": "object"}
    levels = {**open_levels, named.name: open_levels.get(named.name, 0) + 1}
    schema: JsonSchema = {"type": "object"}
    if named.description:
        schema["description"] = named.description
    schema["properties"] = {value.name: _result_value(value, types, levels) for value in named.fields}
    if required := [value.name for value in named.fields if value.required]:
        schema["required"] = required
    return schema


def _result_value(value: Property, types: Types, levels: Mapping[str, int]) -> JsonSchema:
    node = _result_type(value.type, types, levels)
    if value.nullable:
        node = _or_null(node)
    node |= value.constraints
    if value.nullable and "enum" in node:
        node["enum"] = [*node["enum"], None]
    if value.description:
        node["description"] = value.description
    return node


def _result_type(ref: TypeRef, types: Types, levels: Mapping[str, int]) -> JsonSchema:
    match ref:
        case PrimitiveType(kind):
            return {"type": kind}
        case ArrayType(item):
            return {"type": "array", "items": _result_type(item, types, levels)}
        case MapType(inner):
            return {"type": "object", "additionalProperties": _result_type(inner, types, levels)}
        case NamedType(name):
            return _result_declared(types[name], types, levels)


def without_texts(schema: JsonSchema) -> JsonSchema:
    """Return a copy of `schema` without descriptions."""
    return _bare(schema, keeps_members=True)


def rules(schema: JsonSchema) -> JsonSchema:
    """Return a copy of `schema` without the keywords that a check of arguments ignores: texts, defaults and formats."""
    result: JsonSchema = {}
    for keyword, part in schema.items():
        if keyword == "properties":
            result[keyword] = {name: rules(member) for name, member in part.items()}
        elif keyword == "items":
            result[keyword] = rules(part)
        elif keyword not in {"title", "description", "default", "format"}:
            result[keyword] = part
    return result


def listed_result(schema: JsonSchema) -> JsonSchema:
    """Return the shorter form of `schema` for `tools/list`, which accepts at least the same values.

    It has no descriptions, and no members of an object that is a single property of another one; items of lists and
    values of maps keep theirs. Full schemas would be more than half of a list, and few clients show them to a model.
    """
    return _bare(schema, keeps_members=False)


def _bare(node: JsonSchema, *, keeps_members: bool, is_value: bool = False) -> JsonSchema:
    """Remove descriptions, and without `keeps_members` the members of an object that is the value of a property."""
    bare: JsonSchema = {}
    for keyword, part in node.items():
        match keyword:
            case "description":
                pass
            case "properties" | "required" if is_value and not keeps_members:
                pass
            case "properties":
                bare[keyword] = {
                    name: _bare(member, keeps_members=keeps_members, is_value=True) for name, member in part.items()
                }
            case "items" | "additionalProperties" if isinstance(part, dict):
                bare[keyword] = _bare(part, keeps_members=keeps_members)
            case "anyOf":
                bare[keyword] = [_bare(branch, keeps_members=keeps_members, is_value=is_value) for branch in part]
            case _:
                bare[keyword] = part
    return bare


def unique_paths(schema: JsonSchema) -> list[list[str]]:
    """Return the paths of arrays in arguments whose items must be unique. Recursive types have none.

    In a path such as `["shelves", "*", "books"]`, `*` matches every item of an array and every member of a map.
    """
    return list(_unique_paths(schema, schema.get("$defs", {}), []))


def _unique_paths(schema: JsonSchema, types: Mapping[str, JsonSchema], path: list[str]) -> Iterator[list[str]]:
    if schema.get("uniqueItems"):
        yield path
    branches = [*schema.get("allOf", ()), *schema.get("anyOf", ())]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        branches.append(types.get(name, {}))
        types = {other: types[other] for other in types if other != name}
    members = list(schema.get("properties", {}).items())
    members += [("*", schema[keyword]) for keyword in ("items", "additionalProperties") if keyword in schema]
    for branch in branches:
        yield from _unique_paths(branch, types, path)
    for name, member in members:
        yield from _unique_paths(member, types, [*path, name])
