"""Schemas as generators write them, each with one construct that `advertise` says in another way."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NOTHING: Schema = {"type": "null"}
POINT: Schema = {
    "type": "object",
    "title": "Point",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}, "label": {"type": "string"}},
    "required": ["x", "y"],
}
NAMED: Schema = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
CAT: Schema = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["kind", "lives"],
}
DOG: Schema = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "breed": {"type": "string"}},
    "required": ["kind"],
}
TREE: Schema = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["name"],
}
CHAIN: Schema = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/Chain"}, NOTHING]}},
    "required": ["value"],
}
JSON: Schema = {
    "anyOf": [
        TEXT,
        {"type": "number"},
        {"type": "boolean"},
        NOTHING,
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
    ]
}
EXPRESSION: Schema = {
    "oneOf": [
        {"type": "number"},
        {
            "type": "object",
            "properties": {
                "operator": {"enum": ["+", "-"]},
                "left": {"$ref": "#/$defs/Expression"},
                "right": {"$ref": "#/$defs/Expression"},
            },
            "required": ["operator", "left", "right"],
        },
    ]
}


def tool(value: Any, *, required: bool = True, **more: Any) -> Schema:
    """Give the parameters of a tool whose `value` is in question, beside one that is not."""
    names = ["path", "value"] if required else ["path"]
    return {"type": "object", "properties": {"path": TEXT, "value": value}, "required": names, **more}


def optional(value: Any) -> Schema:
    return tool(value, required=False)


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "object", "properties": {"end": TEXT}}
    for level in range(levels):
        schema = {
            "type": "object",
            "properties": {f"level_{level}": schema, "note": TEXT},
            "required": [f"level_{level}"],
        }
    return schema


HARD: dict[str, Schema] = {
    "no parameters": {"type": "object", "properties": {}},
    "no parameters, closed": {"type": "object", "additionalProperties": False},
    "optional text or null": optional({"anyOf": [TEXT, NOTHING], "default": None, "description": "A word"}),
    "optional model or null": {**optional({"anyOf": [{"$ref": "#/$defs/P"}, NOTHING]}), "$defs": {"P": POINT}},
    "required text or null": tool({"type": ["string", "null"], "description": "A word, or null for none"}),
    "required integer or null": tool({"anyOf": [{"type": "integer", "minimum": 1}, NOTHING]}),
    "required object or null": tool({"anyOf": [POINT, NOTHING], "description": "Where"}),
    "required list or null": tool({"anyOf": [{"type": "array", "items": TEXT}, NOTHING]}),
    "required choice or null": tool({"enum": ["asc", "desc", None], "description": "The order"}),
    "list of text or null": tool({"type": "array", "items": {"anyOf": [TEXT, NOTHING]}}),
    "union of scalars": tool({"anyOf": [TEXT, {"type": "integer"}], "description": "A name or a number"}),
    "union of scalars or null": tool({"anyOf": [TEXT, {"type": "integer"}, NOTHING]}),
    "union with a default": optional({"anyOf": [TEXT, {"type": "integer"}], "default": 5}),
    "union of text and a list": tool({"anyOf": [TEXT, {"type": "array", "items": TEXT}], "description": "One or many"}),
    "union of text and an object": tool({"anyOf": [TEXT, POINT]}),
    "union of objects": tool({"anyOf": [POINT, NAMED]}),
    "union by tag": {
        **tool(
            {"discriminator": {"propertyName": "kind"}, "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
        ),
        "$defs": {"Cat": CAT, "Dog": DOG},
    },
    "list of a union": tool({"type": "array", "items": {"oneOf": [TEXT, POINT]}, "minItems": 1}),
    "types as a list": tool({"type": ["string", "integer", "array", "object"], "items": TEXT}),
    "tree": {**tool({"$ref": "#/$defs/Tree"}), "$defs": {"Tree": TREE}},
    "chain": {**tool({"$ref": "#/$defs/Chain"}), "$defs": {"Chain": CHAIN}},
    "JSON value": {**tool({"$ref": "#/$defs/Json"}), "$defs": {"Json": JSON}},
    "expression": {**tool({"$ref": "#/$defs/Expression"}), "$defs": {"Expression": EXPRESSION}},
    "map of numbers": tool({"type": "object", "additionalProperties": {"type": "number"}, "description": "By name"}),
    "map of models": {**tool({"type": "object", "additionalProperties": {"$ref": "#/$defs/P"}}), "$defs": {"P": POINT}},
    "map by pattern": tool({"type": "object", "patternProperties": {"^x-": TEXT}, "additionalProperties": False}),
    "open object": tool({"type": "object"}),
    "open object with properties": tool({**POINT, "additionalProperties": True}),
    "closed object": tool({**POINT, "additionalProperties": False}, additionalProperties=False),
    "closed tuple": tool({"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "minItems": 2, "maxItems": 2}),
    "open tuple": tool({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": TEXT}),
    "tuple of draft-07": tool(
        {"type": "array", "items": [{"type": "number"}, {"type": "number"}], "additionalItems": False}
    ),
    "tuple of one type": tool({"type": "array", "prefixItems": [{"type": "number"}] * 2, "minItems": 2, "maxItems": 2}),
    "anything": tool({"description": "Any JSON"}),
    "anything, optional": optional(True),
    "list of anything": tool({"type": "array", "items": {}}),
    "list without items": tool({"type": "array"}),
    "choice": tool({"type": "string", "enum": ["read", "write"], "description": "How"}),
    "choice with nothing": tool({"enum": ["", "asc", "desc"]}),
    "choice without a type": tool({"enum": ["a", "b"]}),
    "choice of integers in a row": tool({"type": "integer", "enum": [1, 2, 3]}),
    "choice of integers apart": tool({"enum": [1, 10, 100]}),
    "choice of numbers": tool({"enum": [0.5, 1.5]}),
    "mixed choice": tool({"enum": ["auto", 1, True]}),
    "constant text": tool({"const": "v1"}),
    "constant integer": tool({"const": 3}),
    "constant true": tool({"const": True}),
    "described choices": tool(
        {"oneOf": [{"const": "a", "description": "First"}, {"const": "b", "description": "Last"}]}
    ),
    "shared model": {
        **tool({"type": "array", "items": {"$ref": "#/$defs/P"}}),
        "$defs": {
            "P": {**POINT, "properties": {**POINT["properties"], "unit": {"$ref": "#/$defs/Unit"}}},
            "Unit": {"enum": ["m", "km"], "type": "string"},
        },
    },
    "described reference": {**tool({"allOf": [{"$ref": "#/$defs/P"}], "description": "Where"}), "$defs": {"P": POINT}},
    "intersection": tool(
        {"allOf": [POINT, {"type": "object", "properties": {"z": {"type": "number"}}, "required": ["z"]}]}
    ),
    "exclusive bounds": tool({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}),
    "exclusive bounds of a number": tool({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    "steps": tool({"type": "integer", "multipleOf": 5, "minimum": 0}),
    "pattern and length": tool({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 8}),
    "format": tool({"type": "string", "format": "uuid", "title": "Id", "examples": ["a"]}),
    "list that differs": tool({"type": "array", "items": TEXT, "uniqueItems": True, "maxItems": 5}),
    "either or at the root": {
        "type": "object",
        "properties": {"id": TEXT, "name": TEXT},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    },
    "alternatives at the root": {"anyOf": [POINT, NAMED]},
    "needed with another": optional(TEXT) | {"dependentRequired": {"value": ["path"]}},
    "if and then": optional(TEXT) | {"if": {"required": ["value"]}, "then": {"required": ["path"]}},
    "not": tool({"type": "string", "not": {"enum": ["root"]}}),
    "names like keywords": {
        "type": "object",
        "properties": dict.fromkeys(("type", "properties", "items", "enum", "title", "default", "not", "anyOf"), TEXT)
        | {
            "required": {"type": "boolean"},
            "format": {"type": "array", "items": TEXT},
            "nullable": {"type": "boolean"},
        },
        "required": ["type", "required"],
    },
    "optional inside": tool({"type": "array", "items": {**POINT, "required": ["x"]}}),
    "six levels": tool(nested(6)),
    "list of lists": tool({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
    "defaults": optional({"type": "array", "items": TEXT, "default": ["a"]}),
    "dialect and words": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Args",
        "$comment": "-",
        **tool(TEXT),
    },
}
