"""Describe JSON Schemas and values in error texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_PLURALS = {kind: f"{kind}s" for kind in ("string", "integer", "number", "boolean", "array", "object")}
MAX_QUOTED_CHARS = 60
"""Maximum characters of a quoted value."""


def describe_schema(schema: Mapping[str, Any]) -> str:
    """Describe the valid values, such as `an integer from 1 to 100`; empty if any value is valid."""
    plain = without_null(schema)
    if choices := plain.get("enum") or ([plain["const"]] if "const" in plain else []):
        return f"one of: {', '.join(map(_choice, choices))}"
    types = plain.get("type", [])
    nouns = " or ".join(_NOUNS[kind] for kind in ([types] if isinstance(types, str) else types) if kind in _NOUNS)
    return f"{nouns}{_items(plain)}{_limits(plain)}" if nouns else ""


def without_null(schema: Any) -> dict[str, Any]:
    """Return `schema` without null, with `nullable` instead; a union of one branch becomes that branch.

    Example: `{"anyOf": [{"type": "string"}, {"type": "null"}]}` becomes `{"type": "string", "nullable": True}`.
    """
    result: dict[str, Any] = dict(schema) if isinstance(schema, dict) else {}
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = [branch for branch in result.get(keyword, ()) if branch != {"type": "null"}]
        if len(branches) == 1:
            is_nullable = len(result[keyword]) > 1
            result = {name: rule for name, rule in result.items() if name != keyword} | without_null(branches[0])
            result |= {"nullable": True} if is_nullable else {}
    types = result.get("type")
    if isinstance(types, list):
        others = [kind for kind in types if kind != "null"]
        result |= {"nullable": True} if len(others) < len(types) else {}
        result["type"] = others[0] if len(others) == 1 else others
    if "enum" in result:
        result["enum"] = [value for value in result["enum"] if value is not None]
    return result


def shown(value: Any) -> str:
    """Return a short form of a value: its JSON, or the size of an object or array."""
    if isinstance(value, dict):
        return f"an object with {_count(len(value), 'member')}"
    if isinstance(value, list):
        return f"an array of {_count(len(value), 'item')}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}..."


def _choice(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _items(schema: Mapping[str, Any]) -> str:
    kind = without_null(schema.get("items")).get("type")
    return f" of {_PLURALS[kind]}" if isinstance(kind, str) and kind in _PLURALS else ""


def _limits(schema: Mapping[str, Any]) -> str:
    parts = [
        _range(schema, "minimum", "maximum", ""),
        _range(schema, "minLength", "maxLength", "character"),
        _range(schema, "minItems", "maxItems", "item"),
        f"greater than {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else "",
        f"less than {schema['exclusiveMaximum']}" if "exclusiveMaximum" in schema else "",
        f"a multiple of {schema['multipleOf']}" if "multipleOf" in schema else "",
        f"that matches {schema['pattern']}" if "pattern" in schema else "",
        "all different" if schema.get("uniqueItems") else "",
    ]
    return "".join(f" {part}" for part in parts if part)


def _range(schema: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    minimum, maximum = schema.get(low), schema.get(high)
    if minimum is not None and maximum is not None:
        return f"of {minimum} to {_count(maximum, unit)}" if unit else f"from {minimum} to {maximum}"
    if minimum is not None:
        return f"of at least {_count(minimum, unit)}"
    return f"of at most {_count(maximum, unit)}" if maximum is not None else ""


def _count(number: Any, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}" if unit else f"{number}"
