"""Accept schemas of common keywords without jsonschema, whose import and checks take a third of a full generation.

Others are left to jsonschema, so no message depends on this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_DIALECTS: Final = frozenset(
    {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}
)
_LOCAL_REFERENCE: Final = re.compile(r"#/(?:\$defs|definitions)/\w+", re.ASCII)


def is_plain_schema(schema: Any) -> bool:
    """Return whether a schema is valid in the drafts 7 and 2020-12. False leaves it to jsonschema."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        if check is None or not check(value):
            return False
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_value(value: Any) -> bool:  # noqa: ARG001  of any type
    return True


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_type(value: Any) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _are_names(value) and bool(value) and _TYPES.issuperset(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_plain_schema, value))


def _are_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_plain_schema, value.values()))


def _are_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(_are_names(part) or is_plain_schema(part) for part in value.values())


def _are_schemas_of_patterns(value: Any) -> bool:
    return _are_named_schemas(value) and all(map(_is_pattern, value))


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_dialect(value: Any) -> bool:
    return isinstance(value, str) and value in _DIALECTS


def _is_local_reference(value: Any) -> bool:
    return isinstance(value, str) and _LOCAL_REFERENCE.fullmatch(value) is not None


_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "$defs": _are_named_schemas,
    "$ref": _is_local_reference,
    "$schema": _is_dialect,
    "additionalProperties": is_plain_schema,
    "allOf": _are_schemas,
    "anyOf": _are_schemas,
    "const": _is_value,
    "default": _is_value,
    "definitions": _are_named_schemas,
    "dependencies": _are_dependencies,
    "dependentSchemas": _are_named_schemas,
    "deprecated": _is_flag,
    "description": _is_text,
    "else": is_plain_schema,
    "enum": _is_list,
    "examples": _is_list,
    "format": _is_text,
    "if": is_plain_schema,
    "items": is_plain_schema,
    "maxItems": _is_count,
    "maxLength": _is_count,
    "maxProperties": _is_count,
    "maximum": _is_number,
    "minItems": _is_count,
    "minLength": _is_count,
    "minProperties": _is_count,
    "minimum": _is_number,
    "not": is_plain_schema,
    "oneOf": _are_schemas,
    "pattern": _is_pattern,
    "patternProperties": _are_schemas_of_patterns,
    "properties": _are_named_schemas,
    "propertyNames": is_plain_schema,
    "required": _are_names,
    "then": is_plain_schema,
    "title": _is_text,
    "type": _is_type,
    "uniqueItems": _is_flag,
}
"""Check of the value of each keyword. A recursion error is for the caller: it means a schema that is too deep."""
