"""JSON Schema in words: what a value should have been, and what it was instead."""

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
_PLURALS = {
    "string": "strings",
    "integer": "integers",
    "number": "numbers",
    "boolean": "booleans",
    "array": "arrays",
    "object": "objects",
}
MAX_SHOWN_LENGTH = 60
"""Characters of a value that are quoted."""


def expected(schema: Mapping[str, Any]) -> str:
    """Say what `schema` asks for, such as `an integer from 1 to 100`; empty if it asks for nothing in particular."""
    plain = nullless(schema)
    if choices := plain.get("enum") or ([plain["const"]] if "const" in plain else []):
        return f"one of: {', '.join(map(_choice, choices))}"
    kinds = plain.get("type", [])
    nouns = " or ".join(_NOUNS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in _NOUNS)
    return f"{nouns}{_items(plain)}{_limits(plain)}" if nouns else ""


def nullless(schema: Any) -> dict[str, Any]:
    """Give `schema` without the choice of null, which `nullable` then says; a union of one branch is that branch."""
    found: dict[str, Any] = dict(schema) if isinstance(schema, dict) else {}
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = [each for each in found.get(keyword, ()) if each != {"type": "null"}]
        if len(branches) == 1:
            is_nullable = len(found[keyword]) > 1
            found = {name: rule for name, rule in found.items() if name != keyword} | nullless(branches[0])
            found |= {"nullable": True} if is_nullable else {}
    kinds = found.get("type")
    if isinstance(kinds, list):
        named = [kind for kind in kinds if kind != "null"]
        found |= {"nullable": True} if len(named) < len(kinds) else {}
        found["type"] = named[0] if len(named) == 1 else named
    if "enum" in found:
        found["enum"] = [each for each in found["enum"] if each is not None]
    return found


def shown(value: Any) -> str:
    """Quote a value in short."""
    if isinstance(value, dict):
        return f"an object with {_counted(len(value), 'member')}"
    if isinstance(value, list):
        return f"an array of {_counted(len(value), 'item')}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}..."


def _choice(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _items(schema: Mapping[str, Any]) -> str:
    kind = nullless(schema.get("items")).get("type")
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
    least, most = schema.get(low), schema.get(high)
    if least is not None and most is not None:
        return f"of {least} to {_counted(most, unit)}" if unit else f"from {least} to {most}"
    if least is not None:
        return f"of at least {_counted(least, unit)}"
    return f"of at most {_counted(most, unit)}" if most is not None else ""


def _counted(number: Any, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}" if unit else f"{number}"
