"""From the manifest's own types to JSON Schema.

Three forms of the same meaning:

- `portable`: what clients are sent. Only encodings that survive every client's own converter: no `$ref`, no null
  unions, each node typed, limits repeated in the description.
- `exact`: what an instance must satisfy, with `$defs`; used to check examples and defaults, and given to
  datamodel-code-generator.
- `result`: what a structured result satisfies: exact, but with references written out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolwright.model import JsonSchema, ListOf, MapOf, Named, ObjectType, Primitive, TypeRef, Value

Types = Mapping[str, ObjectType]

RESULT_LEVELS = 3
"""How often a recursive result type is written out before an open object stands in for it."""


def portable(values: Sequence[Value], types: Types, *, root: bool = True) -> JsonSchema:
    """Give the object schema for `values` as clients are sent it."""
    schema: JsonSchema = {"type": "object", "properties": {each.name: _portable_value(each, types) for each in values}}
    if required := [each.name for each in values if each.required]:
        schema["required"] = required
    if not root and not values:
        del schema["properties"]
    return schema


def _portable_value(value: Value, types: Types) -> JsonSchema:
    schema = _portable_type(value.type, types)
    inner = schema.pop("description", "")
    limits = limit_words(value)
    text = " ".join(part for part in (_sentence(value.description or inner, bool(limits)), limits) if part)
    node: JsonSchema = {"type": schema.pop("type")}
    if text:
        node["description"] = text
    node |= schema
    node |= _portable_constraints(value)
    if value.has_default and value.default is not None:
        node["default"] = value.default
    return node


def _sentence(text: str, continues: bool) -> str:
    """End `text` with a stop if more follows."""
    return f"{text}." if continues and text and text[-1] not in ".!?:" else text


def _portable_type(ref: TypeRef, types: Types) -> JsonSchema:
    match ref:
        case Primitive(kind):
            return {"type": kind}
        case ListOf(item):
            return {"type": "array", "items": _portable_type(item, types)}
        case MapOf(inner):
            # A typed `additionalProperties` is refused by some Gemini paths; the server enforces it.
            return {"type": "object", "description": f"Names mapped to values of type {_type_words(inner)}"}
        case Named(name):
            named = types[name]
            schema = portable(named.fields, types, root=False)
            return {"type": "object", "description": named.description, **schema} if named.description else schema


def _type_words(ref: TypeRef) -> str:
    match ref:
        case Primitive(kind):
            return kind
        case ListOf(item):
            return f"array of {_type_words(item)}"
        case MapOf() | Named():
            return "object"


def _portable_constraints(value: Value) -> JsonSchema:
    """Keep what every provider takes. Gemini takes an `enum` of strings only."""
    kept = dict(value.constraints)
    choices = kept.get("enum")
    if choices is None or _kind(value.type) == "string":
        return kept
    del kept["enum"]
    if _kind(value.type) in {"integer", "number"}:
        kept["minimum"], kept["maximum"] = min(choices), max(choices)
    return kept


def _kind(ref: TypeRef) -> str:
    return ref.kind if isinstance(ref, Primitive) else ""


def limit_words(value: Value) -> str:
    """Say the limits of `value` in one fixed wording, since not every client passes the keywords on."""
    rules = value.constraints
    said = [
        _choice_words(rules, _kind(value.type)),
        _range_words(rules, "minimum", "maximum", ""),
        _range_words(rules, "minLength", "maxLength", "characters"),
        _range_words(rules, "minItems", "maxItems", "items"),
        f"Must match {rules['pattern']}" if "pattern" in rules else "",
        f"Format: {rules['format']}" if "format" in rules else "",
        "Items must differ" if rules.get("uniqueItems") else "",
        "May be null" if value.nullable else "",
    ]
    return " ".join(f"{each}." for each in said if each)


def _choice_words(rules: Mapping[str, Any], kind: str) -> str:
    # A string enum reaches every model as it is.
    if "enum" not in rules or kind == "string":
        return ""
    return "One of " + ", ".join(json.dumps(each) for each in rules["enum"])


def _range_words(rules: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    lowest, highest = rules.get(low), rules.get(high)
    if lowest is not None and highest is not None:
        return f"{lowest} to {highest}{_unit(unit, highest)}"
    if lowest is not None:
        return f"At least {lowest}{_unit(unit, lowest)}" if lowest or low == "minimum" else ""
    return f"At most {highest}{_unit(unit, highest)}" if highest is not None else ""


def _unit(plural: str, count: float) -> str:
    return "" if not plural else f" {plural.removesuffix('s') if count == 1 else plural}"


def exact(values: Sequence[Value], description: str = "") -> JsonSchema:
    """Give the object schema for `values` with references to `#/$defs`."""
    schema: JsonSchema = {"type": "object"}
    if description:
        schema["description"] = description
    schema["properties"] = {each.name: exact_value(each) for each in values}
    if required := [each.name for each in values if each.required]:
        schema["required"] = required
    return schema


def exact_value(value: Value) -> JsonSchema:
    """Give the schema of one value with references to `#/$defs`."""
    node = _exact_type(value.type)
    if "$ref" in node and (value.nullable or value.constraints):
        node = {"allOf": [node]}
    if value.nullable:
        node = _or_null(node)
    # A format is a hint to the model, not a check: implementations differ too much in what they refuse.
    node |= {name: rule for name, rule in value.constraints.items() if name != "format"}
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


def definitions(types: Sequence[ObjectType]) -> dict[str, JsonSchema]:
    """Give `$defs` for `types`."""
    return {each.name: exact(each.fields, each.description) for each in types}


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
