"""The keywords of JSON Schema: what each holds, and which type of value it speaks about.

JSON Schema 2020-12 (core and validation), with what draft-04 to draft-07 and OpenAPI 3.0 wrote differently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

Kind = Literal["string", "integer", "number", "boolean", "object", "array", "null"]

KINDS: Final[tuple[Kind, ...]] = ("string", "number", "boolean", "array", "object", "null")
"""The types of JSON. `integer` is no type of JSON's own but a part of `number`. The order is that of alternatives where
anything goes: langchain-google-genai keeps the last one, and an array without items would be refused."""

OTHER_TYPE_NAMES: Final[Mapping[str, Kind | None]] = {
    "any": None,
    "bool": "boolean",
    "date": "string",
    "datetime": "string",
    "dict": "object",
    "double": "number",
    "enum": "string",
    "file": "string",
    "float": "number",
    "int": "integer",
    "list": "array",
    "long": "integer",
    "map": "object",
    "none": "null",
    "str": "string",
    "tuple": "array",
    "uuid": "string",
}
"""What servers write for a type that is none, and what they mean; None is any."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schema_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


_TOO_LARGE: Final = 10**1_000
"""Python writes no number of more than 4,300 digits, and what is made of those that are taken has to be written."""


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return abs(value) < _TOO_LARGE if isinstance(value, int) else isinstance(value, float) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_bound(value: Any) -> bool:
    return _is_number(value) or _is_flag(value)  # a boolean is draft-04's


def _is_value(value: Any) -> bool:
    """Whether it is a value of JSON; one that is too large to look through is taken for one."""
    match value:
        case str() | bool() | None:
            return True
        case int() | float():
            return _is_number(value)
        case _ if is_small(value):
            return bool(json_text(value, sort_keys=True))
        case _:
            return True


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_value, value))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) for each in value)
    return isinstance(value, str)


HOLDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "type": _is_type,
    "enum": _is_values,
    "const": _is_value,
    "nullable": _is_flag,
    "minLength": _is_count,
    "maxLength": _is_count,
    "pattern": _is_text,
    "format": _is_text,
    "contentEncoding": _is_text,
    "contentMediaType": _is_text,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_bound,
    "exclusiveMaximum": _is_bound,
    "multipleOf": _is_factor,
    "items": lambda value: isinstance(value, dict | bool | list),
    "prefixItems": _is_schema_list,
    "additionalItems": _is_schema,
    "minItems": _is_count,
    "maxItems": _is_count,
    "uniqueItems": _is_flag,
    "contains": _is_schema,
    "minContains": _is_count,
    "maxContains": _is_count,
    "unevaluatedItems": _is_schema,
    "properties": _is_named_schemas,
    "required": _is_names,
    "additionalProperties": _is_schema,
    "patternProperties": _is_named_schemas,
    "propertyNames": _is_schema,
    "minProperties": _is_count,
    "maxProperties": _is_count,
    "dependentRequired": _is_named_schemas,
    "dependentSchemas": _is_named_schemas,
    "dependencies": _is_named_schemas,
    "unevaluatedProperties": _is_schema,
    "allOf": _is_schema_list,
    "anyOf": _is_schema_list,
    "oneOf": _is_schema_list,
    "not": _is_schema,
    "if": _is_schema,
    "then": _is_schema,
    "else": _is_schema,
    "$ref": _is_text,
    "$dynamicRef": _is_text,
    "$recursiveRef": _is_text,
    "title": _is_text,
    "description": _is_text,
    "default": _is_value,
    "deprecated": _is_flag,
    "examples": _is_values,
    "example": _is_value,
}
"""Keyword to whether a value is one that it can hold. Everything else is an annotation that no provider reads."""


def _held_by(*tests: Callable[[Any], bool]) -> frozenset[str]:
    return frozenset(keyword for keyword, test in HOLDS.items() if test in tests)


COUNTS: Final = _held_by(_is_count)
NUMBERS: Final = _held_by(_is_number, _is_bound, _is_factor)
TEXTS: Final = _held_by(_is_text)
FLAGS: Final = _held_by(_is_flag)
"""The keywords of `HOLDS` by what they hold; a bound is among the numbers."""
TYPES: Final = frozenset({*KINDS, "integer"})

SILENT: Final = frozenset(
    {
        "$anchor",
        "$comment",
        "$defs",
        "$dynamicAnchor",
        "$id",
        "$recursiveAnchor",
        "$schema",
        "$vocabulary",
        "definitions",
    }
)
"""Keywords that say nothing once references are written out."""

ONE_SCHEMA: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
MANY_SCHEMAS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
NAMED_SCHEMAS: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords that hold a schema, a list of schemas, and schemas by name. What other keywords hold is data."""

LIMITS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "boolean": (),
    "object": ("minProperties", "maxProperties"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "null": (),
}
"""Type to the keywords that limit it by themselves, in the order they are written."""


def kind_of(value: Any) -> Kind:
    """Give the type of a JSON value; 1.0 is an integer, as JSON Schema has it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case list():
            return "array"
        case _:
            return "object"


def key_of(value: Any) -> tuple[str, Any]:
    """Give what two JSON values share where JSON Schema takes them for equal: 1 is 1.0, true is not 1.

    What is no JSON, or too large, is equal to itself alone.
    """
    match value:
        case bool():
            return "boolean", value
        case int() | float():
            return "number", value
        case str() | None:
            return "text", value
        case _ if is_small(value) and (text := json_text(value, sort_keys=True)):
            return "whole", text
        case _:
            return "itself", id(value)


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Give a value as JSON on one line; empty where it holds what JSON cannot."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys)
    except (TypeError, ValueError):
        return ""


_SMALL: Final = 2_000


def is_small(value: Any) -> bool:
    """Whether a JSON value has few parts, each counted as often as it stands there, and does not nest too deep."""
    waiting, left, level = [value], _SMALL, 0
    while waiting and left > 0 and level < 200:
        left -= len(waiting)
        inside = [each for each in waiting if isinstance(each, dict | list)]
        waiting = [part for each in inside for part in (each.values() if isinstance(each, dict) else each)][: left + 1]
        level += 1
    return not waiting and left >= 0
