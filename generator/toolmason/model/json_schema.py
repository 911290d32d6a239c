"""From the manifest's own types to JSON Schema.

Two forms of the same meaning:

- `exact`: what an instance must satisfy, with `$defs`; used to check examples and defaults, given to
  datamodel-code-generator, and the source of what clients and providers are sent (`toolmason.schema`).
- `result`: what a structured result satisfies: exact, but with references written out. `without_texts` leaves its rules
  alone, and `listed_result` what of them `tools/list` sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolmason.model.types import JsonSchema, ListOf, MapOf, Named, ObjectType, Primitive, TypeRef, Value

Types = Mapping[str, ObjectType]

RESULT_LEVELS = 3
"""How often a recursive result type is written out before an open object stands in for it."""


def exact(values: Sequence[Value], description: str = "", *, formats: bool = True) -> JsonSchema:
    """Give the object schema for `values` with references to `#/$defs`.

    Without `formats` those are left out: a format is a hint to a model, and implementations differ too much in what
    they refuse for it to be a check.
    """
    schema: JsonSchema = {"type": "object"}
    if description:
        schema["description"] = description
    schema["properties"] = {each.name: exact_value(each, formats=formats) for each in values}
    if required := [each.name for each in values if each.required]:
        schema["required"] = required
    return schema


def exact_value(value: Value, *, formats: bool = True) -> JsonSchema:
    """Give the schema of one value with references to `#/$defs`."""
    node = _exact_type(value.type)
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


def _exact_type(ref: TypeRef) -> JsonSchema:
    match ref:
        case Primitive(kind):
            return {"type": kind}
        case ListOf(item):
            return {"type": "array", "items": _exact_type(item)}
        case MapOf(inner):
            return {"type": "object", "additionalProperties": _exact_type(inner)}
        case Named(name):
            return {"$ref": f"#/$defs/{name}"}


def definitions(types: Sequence[ObjectType], *, formats: bool = True) -> dict[str, JsonSchema]:
    """Give `$defs` for `types`, as `exact` gives a schema."""
    return {each.name: exact(each.fields, each.description, formats=formats) for each in types}


def result(named: ObjectType, types: Types) -> JsonSchema:
    """Give the schema of a structured result, without references; deeper recursion is left open."""
    return _result_object(named, types, {})


def _result_object(named: ObjectType, types: Types, open_levels: Mapping[str, int]) -> JsonSchema:
    if open_levels.get(named.name, 0) > RESULT_LEVELS:
        return {"type": "object"}
    levels = {**open_levels, named.name: open_levels.get(named.name, 0) + 1}
    schema: JsonSchema = {"type": "object"}
    if named.description:
        schema["description"] = named.description
    schema["properties"] = {each.name: _result_value(each, types, levels) for each in named.fields}
    if required := [each.name for each in named.fields if each.required]:
        schema["required"] = required
    return schema


def _result_value(value: Value, types: Types, levels: Mapping[str, int]) -> JsonSchema:
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
        case Primitive(kind):
            return {"type": kind}
        case ListOf(item):
            return {"type": "array", "items": _result_type(item, types, levels)}
        case MapOf(inner):
            return {"type": "object", "additionalProperties": _result_type(inner, types, levels)}
        case Named(name):
            return _result_object(types[name], types, levels)


def without_texts(schema: JsonSchema) -> JsonSchema:
    """Return a result schema without its descriptions: the same rules."""
    return _bare(schema, keeps_members=True)


def listed_result(schema: JsonSchema) -> JsonSchema:
    """Return the part of a result schema that `tools/list` sends. Every result that fits `schema` fits it too.

    Descriptions go, and so do the members of an object that is a single value of another one: such objects are mostly
    metadata, equal in many tools. The items of lists and the values of maps keep theirs. Result schemas were more than
    half of a full list, and few clients show them to a model; the generated documentation has all of them.
    """
    return _bare(schema, keeps_members=False)


def _bare(node: JsonSchema, *, keeps_members: bool, is_value: bool = False) -> JsonSchema:
    """Drop the texts of `node`; and its members, if it is the value of a property and those do not stay."""
    bare: JsonSchema = {}
    for keyword, part in node.items():
        match keyword:
            case "description":
                pass
            case "properties" | "required" if is_value and not keeps_members:
                pass
            case "properties":
                bare[keyword] = {
                    name: _bare(each, keeps_members=keeps_members, is_value=True) for name, each in part.items()
                }
            case "items" | "additionalProperties" if isinstance(part, dict):
                bare[keyword] = _bare(part, keeps_members=keeps_members)
            case "anyOf":
                bare[keyword] = [_bare(each, keeps_members=keeps_members, is_value=is_value) for each in part]
            case _:
                bare[keyword] = part
    return bare


def unique_paths(schema: JsonSchema) -> list[list[str]]:
    """List where in arguments that fit an exact `schema` the items of an array must differ.

    Each path leads there from the arguments; `*` stands for every item of an array and every member of a map.
    """
    return list(_unique_paths(schema, schema.get("$defs", {}), []))


def _unique_paths(schema: JsonSchema, types: Mapping[str, JsonSchema], path: list[str]) -> Iterator[list[str]]:
    if schema.get("uniqueItems"):
        yield path
    same = [*schema.get("allOf", ()), *schema.get("anyOf", ())]
    if "$ref" in schema:
        same.append(types[schema["$ref"].removeprefix("#/$defs/")])
    inside = [(name, each) for name, each in schema.get("properties", {}).items()]
    inside += [("*", schema[keyword]) for keyword in ("items", "additionalProperties") if keyword in schema]
    for each in same:
        yield from _unique_paths(each, types, path)
    for name, each in inside:
        yield from _unique_paths(each, types, [*path, name])
