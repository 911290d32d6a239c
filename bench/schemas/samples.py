"""Valid values of a schema, made from it and validated by it."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from typing import Any, Final

from hypothesis.errors import HypothesisException
from hypothesis.strategies import from_regex

from bench.schemas.semantics import Acceptance, UnusableSchemaError, resolve_ref

_MAX_DEPTH: Final = 8
_MAX_CHARS: Final = 20_000
"""Larger values of recursive schemas take a validator minutes."""
_FORMATS: Final = {"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "uri": "https://example.com/a"}
_WORDS: Final = ("abc", "a-b", "A1", "1", "main", "/a", "a@b.example", "0" * 40, "#a1b2c3", "12:30", "2026-01-02")
_VARIANTS: Final = tuple((is_full, number) for is_full in (True, False) for number in range(4))
"""All arguments or only the required ones, and the number of the branch of each union."""


def samples(schema: Any) -> tuple[Any, ...]:
    """Return up to eight different valid values of an author's schema in 2020-12 (see `author_semantics`)."""
    acceptance = Acceptance(schema)
    found: list[Any] = []
    for is_full, number in _VARIANTS:
        value = _Maker(schema, is_full, number).value(schema, 0)
        try:
            is_small = len(json.dumps(value)) <= _MAX_CHARS
            if is_small and value not in found and acceptance.accepts(value):
                found.append(value)
        except UnusableSchemaError:
            continue
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Maker:
    root: Any
    is_full: bool
    number: int

    def value(self, schema: Any, depth: int) -> Any:
        """Return a value that is probably valid."""
        node = self._composed(schema, depth)
        if "const" in node:
            return node["const"]
        if node.get("enum"):
            return node["enum"][self.number % len(node["enum"])]
        kind = node.get("type") or ("object" if "properties" in node else "array" if "items" in node else "string")
        if isinstance(kind, list):
            kind = kind[self.number % len(kind)]
        match kind:
            case "object":
                return self._object(node, depth)
            case "array":
                return self._array(node, depth)
            case "string":
                return self._string(node)
            case "integer" | "number":
                return self._number(node, kind)
            case "boolean":
                return self.number % 2 == 0
        return None

    def _composed(self, schema: Any, depth: int) -> dict[str, Any]:
        """Return one node for a schema with its references, its `allOf`, and one branch of each union."""
        if not isinstance(schema, dict) or depth > 4 * _MAX_DEPTH:
            return {}
        merged = {name: value for name, value in schema.items() if name not in {"$ref", "allOf", "anyOf", "oneOf"}}
        parts = [*schema.get("allOf", ())]
        if isinstance(schema.get("$ref"), str):
            parts.append(resolve_ref(self.root, schema["$ref"]))
        unions = [schema[keyword] for keyword in ("anyOf", "oneOf") if schema.get(keyword)]
        parts += [branches[self.number % len(branches)] for branches in unions]
        for part in parts:
            other = self._composed(part, depth + 1)
            properties = {**other.get("properties", {}), **merged.get("properties", {})}
            required = [*merged.get("required", ()), *other.get("required", ())]
            merged = {**other, **merged}
            merged |= {"properties": properties} if properties else {}
            merged |= {"required": required} if required else {}
        return merged

    def _object(self, node: dict[str, Any], depth: int) -> dict[str, Any]:
        required = node.get("required", [])
        properties = node.get("properties", {})
        is_full = self.is_full and depth < _MAX_DEPTH
        value = {
            name: self.value(child, depth + 1)
            for name, child in properties.items()
            if (name in required or is_full) and child is not False and depth < 2 * _MAX_DEPTH
        }
        value |= {name: "any" for name in required if name not in properties}
        extra = node.get("additionalProperties")
        if isinstance(extra, dict) and is_full:
            value["key"] = self.value(extra, depth + 1)
        return value

    def _array(self, node: dict[str, Any], depth: int) -> list[Any]:
        prefix = node.get("prefixItems", [])
        count = node.get("minItems", 0)
        if self.is_full and depth < _MAX_DEPTH:
            count = max(count, len(prefix), 1)
        items = node.get("items", {})
        parts = [prefix[index] if index < len(prefix) else items for index in range(int(min(count, 20)))]
        return [self.value(part, depth + 1) for part in parts if part is not False]

    def _number(self, node: dict[str, Any], kind: str) -> float:
        low, high = node.get("minimum"), node.get("maximum")
        step = node.get("multipleOf") or 1
        if "exclusiveMinimum" in node:
            low = node["exclusiveMinimum"] + step
        if "exclusiveMaximum" in node:
            high = node["exclusiveMaximum"] - step
        candidates = (low, high) if self.number % 2 == 0 else (high, low)
        found = next((each for each in candidates if each is not None), 7 * step)
        return int(found) if kind == "integer" else found

    def _string(self, node: dict[str, Any]) -> str:
        low, high = int(node.get("minLength", 0)), int(node.get("maxLength", 10_000))
        if pattern := node.get("pattern"):
            return _matching(pattern, low, high)
        text = _FORMATS.get(node.get("format", ""), f"word {self.number}")
        return (text + "x" * low)[: max(low, min(high, len(text)))] if low < 10_000 else text


def _matching(pattern: str, low: int, high: int) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `example` is for interactive use
            found = [word for word in _WORDS if re.search(pattern, word) and low <= len(word) <= high]
            return found[0] if found else str(from_regex(re.compile(pattern, re.ASCII), fullmatch=True).example())
    except (HypothesisException, re.error):
        return ""
