"""A caller that knows nothing but a search answer: it reads a signature back to a schema and makes up arguments."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

TYPES = {"str": "string", "int": "integer", "number": "number", "bool": "boolean", "object": "object", "any": ""}
RANGES = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
MAX_BRANCHES = 4
MAX_DEPTH = 12
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
VALUE = re.compile(rf'(?P<word>[A-Za-z_.][A-Za-z0-9_./-]*)|(?=["\[{{])|(?={NUMBER})')


class SignatureReader:
    """Reads one signature from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def schema(self) -> dict[str, Any]:
        """Return the schema of the parameters."""
        assert self._take("(")
        schema = self._members(")")
        assert self._at == len(self._text), self._text[self._at :]
        return schema

    def _members(self, end: str) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        while not self._take(end):
            assert not properties or self._take(", "), self._text[self._at :]
            name = self._json() if self._peek('"') else self._match(r"[^\W\d][\w.$@-]*")
            if not self._take("?"):
                required.append(name)
            assert self._take(":")
            properties[name] = self._type()
            if self._take("="):
                properties[name]["default"] = self._value()
            if self._take(" "):
                assert isinstance(self._json(), str)
        schema: dict[str, Any] = {"type": "object"}
        schema |= {"properties": properties} if properties else {}
        return schema | ({"required": sorted(required)} if required else {})

    def _type(self) -> dict[str, Any]:
        schema = self._single_type()
        schema |= self._limits(schema.get("type", ""))
        while self._take("[]"):
            schema = {"type": "array", **({"items": schema} if schema else {})}
            schema |= self._limits("array")
        return schema

    def _single_type(self) -> dict[str, Any]:
        if self._take("{"):
            return self._members("}")
        if self._take("("):
            schema = self._enum()
            assert self._take(")")
            return schema
        word = re.compile(r"\w+").match(self._text, self._at)
        if word and word[0] in TYPES:
            self._at = word.end()
            return {"type": TYPES[word[0]]} if TYPES[word[0]] else {}
        return self._enum()

    def _enum(self) -> dict[str, Any]:
        values = [self._value()]
        while self._take("|"):
            values.append(self._value())
        return {"enum": values}

    def _limits(self, kind: str) -> dict[str, Any]:
        limits: dict[str, Any] = {}
        if not self._take("("):
            return limits
        while not self._take(")"):
            assert not limits or self._take(", ")
            if bounds := re.compile(rf"({NUMBER})?\.\.({NUMBER})?").match(self._text, self._at):
                self._at = bounds.end()
                pairs = zip(RANGES[kind], bounds.groups(), strict=True)
                limits |= {keyword: json.loads(bound) for keyword, bound in pairs if bound}
            elif self._take("/"):
                end = self._text.index("/)", self._at)
                limits["pattern"] = self._text[self._at : end]
                self._at = end + 1
            else:
                limits["format"] = self._match(r"[\w.-]+")
        return limits

    def _value(self) -> Any:
        found = VALUE.match(self._text, self._at)
        assert found, self._text[self._at :]
        if not found["word"] or found["word"] in ("true", "false", "null"):
            return self._json()
        self._at = found.end()
        return found["word"]

    def _json(self) -> Any:
        value, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
        return value

    def _peek(self, token: str) -> bool:
        return self._text.startswith(token, self._at)

    def _take(self, token: str) -> bool:
        is_next = self._peek(token)
        self._at += len(token) if is_next else 0
        return is_next

    def _match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        assert found, self._text[self._at :]
        self._at = found.end()
        return found[0]


def known_schema(result: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that a result of a search states: `input_schema`, otherwise the one of the signature."""
    schema: dict[str, Any] = result.get("input_schema") or SignatureReader(result["signature"]).schema()
    return schema


def arguments_for(result: dict[str, Any]) -> Any:
    """Return arguments for a result of a search that are valid by its own words; the last attempt if none is."""
    schema = known_schema(result)
    rules = Draft202012Validator(schema)
    attempts = (
        _Attempt(schema, *choice).value(schema)
        for choice in product((False, True), range(MAX_BRANCHES), (1, 0, 2, 0.5, 10))
    )
    first = next(attempts)
    return first if rules.is_valid(first) else next(filter(rules.is_valid, attempts), first)


@dataclass(frozen=True)
class _Attempt:
    """A way to make up values: with optional members or without, the number of the branch of unions, and a number."""

    root: dict[str, Any]
    optional: bool
    branch: int
    number: float

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Return a value for a schema."""
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return "x"
        if "$ref" in schema:
            target = self.root
            for step in schema["$ref"].split("/")[1:]:
                target = target[step]
            return self.value(target, depth + 1)
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in schema:
                rest = {key: rule for key, rule in schema.items() if key != keyword}
                branch = schema[keyword][min(self.branch, len(schema[keyword]) - 1)]
                required = [*rest.get("required", ()), *branch.get("required", ())]
                return self.value({**rest, **branch, **({"required": required} if required else {})}, depth + 1)
        if schema.get("default") is not None:
            return schema["default"]
        if "enum" in schema or "const" in schema:
            return schema["enum"][0] if "enum" in schema else schema["const"]
        return self._of_type(schema, schema.get("type", "object" if "properties" in schema else "string"), depth)

    def _of_type(self, schema: dict[str, Any], kind: Any, depth: int) -> Any:
        match kind:
            case "object":
                members = schema.get("properties", {})
                optional = members if self.optional else ()
                names = dict.fromkeys((*schema.get("required", ()), *optional))
                return {name: self.value(members.get(name), depth + 1) for name in names}
            case "array":
                first = [self.value(item, depth + 1) for item in schema.get("prefixItems", ())]
                count = max(schema.get("minItems", 0), int(self.optional)) - len(first)
                return [*first, *(self.value(schema.get("items", {}), depth + 1) for _ in range(count))]
            case "string":
                return _text(schema)
            case "integer" | "number":
                return min(max(self.number, schema.get("minimum", 1)), schema.get("maximum", 1e9))
            case "boolean":
                return True
            case "null":
                return None
            case [first, *_]:
                return self._of_type(schema, first, depth)
        raise AssertionError(kind)


def _text(schema: dict[str, Any]) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength", 1000)
    if "pattern" not in schema:
        return ("x" * low or "x")[:high]
    known = settings(database=None, derandomize=True, phases=[Phase.generate])  # any match is enough
    text: str = find(st.from_regex(schema["pattern"]), lambda text: low <= len(text) <= high, settings=known)
    return text
