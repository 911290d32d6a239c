"""Fit rows to the declared type of a result, where a column and its field have different types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import BaseModel

_Types = frozenset[str]
_SPECIAL: Final = frozenset({"NaN", "Infinity", "-Infinity"})


def fitting_rows(rows: Sequence[Mapping[str, Any]], model: type[BaseModel], *, is_list: bool) -> list[dict[str, Any]]:
    """Return rows with values that fit the fields of `model`, where a conversion loses nothing.

    A number becomes a text, decimals and large integers numbers, 0 and 1 booleans, and JSON text an array or object,
    if the field has only that type. NaN and infinity become null in a number that may be null.
    """
    types = _field_types(model, is_list)
    return [{name: _fitting(value, types.get(name, frozenset())) for name, value in row.items()} for row in rows]


@cache
def _field_types(model: type[BaseModel], is_list: bool) -> dict[str, _Types]:
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    row = schema["properties"]["items"].get("items", {}) if is_list else schema
    if "$ref" in row:
        row = definitions[row["$ref"].rpartition("/")[2]]
    return {name: _types(member, definitions) for name, member in row.get("properties", {}).items()}


def _types(schema: Mapping[str, Any], definitions: Mapping[str, Any], level: int = 0) -> _Types:
    if "$ref" in schema and level < 8:
        return _types(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions, level + 1)
    types: set[str] = set()
    for branch in schema.get("anyOf", ()):
        types |= _types(branch, definitions, level)
    kind = schema.get("type")
    return frozenset(types | ({kind} if isinstance(kind, str) else set()))


def _fitting(value: Any, types: _Types) -> Any:
    if value is None or not types:
        return value
    if isinstance(value, str):
        return value if "string" in types else _parsed(value, types)
    if isinstance(value, bool):
        return value if "boolean" in types or types - {"null"} != {"string"} else json.dumps(value)
    if isinstance(value, int | float):
        if types - {"null"} == {"string"}:
            return str(value)
        if types - {"null"} == {"boolean"} and value in (0, 1):
            return bool(value)
    return value


def _parsed(text: str, types: _Types) -> Any:
    """Return the value of a text for a field without texts; the text if it is not of its type."""
    if text in _SPECIAL and "number" in types:
        return None if "null" in types else text
    with suppress(ValueError):
        if "integer" in types:
            return int(text)
        if "number" in types:
            return float(text)
        value = json.loads(text)
        if ("array" in types and isinstance(value, list)) or ("object" in types and isinstance(value, dict)):
            return value
    return text
