"""The keywords of JSON Schema: their permitted values, and the type of instance each one constrains.

JSON Schema 2020-12 (core and validation), with the differences of draft-04 to draft-07 and OpenAPI 3.0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

JsonType = Literal["string", "integer", "number", "boolean", "object", "array", "null"]

JSON_TYPES: Final[tuple[JsonType, ...]] = ("string", "number", "boolean", "array", "object", "null")
"""The types of JSON; `integer` is a subset of `number`. A union of all types lists them in this order, because
langchain-google-genai keeps only the last alternative, and providers reject an array without items."""

TYPE_ALIASES: Final[Mapping[str, JsonType | None]] = {
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
"""Invalid type names that servers use, and the intended type; None means any."""


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
"""Python cannot print integers of more than 4,300 digits, and intersecting limits can multiply accepted numbers."""


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return abs(value) < _TOO_LARGE if isinstance(value, int) else isinstance(value, float) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_factor(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_bound(value: Any) -> bool:
    return _is_number(value) or _is_flag(value)  # boolean in draft-04


def _is_value(value: Any) -> bool:
    """Return whether `value` is JSON. Values too large to inspect count as JSON."""
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
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(name, str) for name in value)
    return isinstance(value, str)


VALUE_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
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
"""Predicate that the value of each keyword must satisfy. Any other keyword is an annotation that providers ignore."""


def _with_check(*tests: Callable[[Any], bool]) -> frozenset[str]:
    return frozenset(keyword for keyword, test in VALUE_CHECKS.items() if test in tests)


COUNT_KEYWORDS: Final = _with_check(_is_count)
NUMBER_KEYWORDS: Final = _with_check(_is_number, _is_bound, _is_factor)
TEXT_KEYWORDS: Final = _with_check(_is_text)
FLAG_KEYWORDS: Final = _with_check(_is_flag)
"""Keywords of `VALUE_CHECKS` by the type of their value; bounds count as numbers."""
REPETITIONS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
"""Keywords that a grammar expresses by repetition."""
MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Maximum integer that every JSON number represents exactly (JavaScript's `Number.MAX_SAFE_INTEGER`)."""
KNOWN_FORMATS: Final = frozenset(
    {"date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"}
    | {"uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer"}
    | {"base64", "base64url", "cidrv4", "cidrv6", "cuid", "cuid2", "e164", "guid", "jwt", "nanoid", "ulid", "url"}
)
"""Formats of JSON Schema and zod that a model knows by name."""
TYPE_NAMES: Final = frozenset({*JSON_TYPES, "integer"})

NO_EFFECT: Final = frozenset(
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
"""Keywords without effect after references are resolved."""

SCHEMA_KEYWORDS: Final = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
SCHEMA_LIST_KEYWORDS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYWORDS: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value is a schema, a list of schemas, or a map of schemas. The values of other keywords are data."""

LIMIT_KEYWORDS: Final[Mapping[JsonType, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"),
    "boolean": (),
    "object": ("minProperties", "maxProperties"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "null": (),
}
"""Keywords that limit each type on their own, in output order."""


def json_type_of(value: Any) -> JsonType:
    """Return the type of a JSON value. As in JSON Schema, 1.0 is an integer."""
    match value:
        case str():
            return "string"
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case list():
            return "array"
        case _:
            return "object"


def equality_key(value: Any) -> tuple[str, Any]:
    """Return a key that is equal for values that JSON Schema treats as equal: 1 and 1.0, but not 1 and true.

    A value that is too large or not JSON is equal only to itself.
    """
    match value:
        case str() | None:
            return "text", value
        case bool():
            return "boolean", value
        case int() | float():
            return "number", value
        case _ if is_small(value) and (text := json_text(value, sort_keys=True)):
            return "container", text
        case _:
            return "identity", id(value)


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Return a value as JSON on one line; empty if JSON cannot represent it."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys)
    except (TypeError, ValueError):
        return ""


def json_size(value: Any) -> int:
    """Return the bytes of a value as compact JSON; 0 if JSON cannot represent it."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return 0
    return len(text.encode("utf-8", "surrogatepass"))


_MAX_SMALL_VALUE_PARTS: Final = 2_000


def is_small(value: Any) -> bool:
    """Return whether a value has few parts, each counted as often as it occurs, and at most 200 levels."""
    containers = [value] if isinstance(value, dict | list) else []
    remaining = _MAX_SMALL_VALUE_PARTS - 1
    for _ in range(200):
        if not containers:
            return True
        inner: list[Any] = []
        for container in containers:
            remaining -= len(container)
            if remaining < 0:
                return False
            parts = container.values() if isinstance(container, dict) else container
            inner += [part for part in parts if isinstance(part, dict | list)]
        containers = inner
    return False
