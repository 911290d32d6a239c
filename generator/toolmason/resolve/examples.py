"""Validate defaults and examples against their schemas; describe each problem in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.values.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.shared.values.schema_keywords import Violation
from toolmason_runtime.shared.values.validation import nearest_alternative, validator

from toolmason.model.types import JsonSchema
from toolmason.resolve.plain_values import is_plainly_valid

MAX_QUOTED_CHARS: Final = 60
"""Maximum characters of a value in a message."""
PATTERN_TIMEOUT_S: Final = 2.0
"""Maximum seconds for the patterns of a schema and one value, unless they are linear. A server allows less."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid part of the data; `path` leads to it from the root of the data."""

    path: KeyPath
    message: str
    hint: str = ""


class SchemaChecker:
    """Validate data against schemas that refer to the `$defs` of a manifest."""

    def __init__(self, definitions: Mapping[str, JsonSchema]) -> None:
        self._definitions = dict(definitions)

    def find_problems(self, schema: JsonSchema, data: Any, *, closed: bool = True) -> list[Problem]:
        """Return every problem of `data`, unknown properties included.

        With `closed`, objects accept only declared properties, as in the types of a manifest. Otherwise objects with
        `additionalProperties: false` do.
        """
        whole = dict(schema)
        if definitions := {**self._definitions, **schema.get("$defs", {})}:
            whole["$defs"] = definitions
        try:
            with time_limit(PATTERN_TIMEOUT_S):
                if closed and is_plainly_valid(schema, data, definitions):
                    return []
                errors = [inner for error in validator(whole).iter_errors(data) for inner in _causes(error)]
        except RecursionError:
            return [Problem((), "the schema refers to itself endlessly")]
        except PatternTimeoutError as error:
            return [Problem((), f"{_quote_json(error.text)} {error}")]
        unknown = _UnknownProperties(definitions, closed).find(schema, data, ())
        parents = {problem.path[:-1] for problem in unknown}
        return [
            Problem(error.path, _format_error(error))
            for error in errors
            if error.keyword != "additionalProperties" or error.path not in parents
        ] + unknown


_OPEN_KEYWORDS: Final = frozenset(
    {
        "$ref",
        "allOf",
        "anyOf",
        "dependentSchemas",
        "else",
        "if",
        "oneOf",
        "patternProperties",
        "then",
        "unevaluatedProperties",
    }
)
"""Keywords besides `properties` that can declare a property."""


@dataclass(frozen=True)
class _UnknownProperties:
    """Find properties that no schema declares: legal JSON Schema, but a typo in an example."""

    _definitions: Mapping[str, JsonSchema]
    _closed: bool

    def find(self, schema: JsonSchema, data: Any, path: KeyPath) -> list[Problem]:
        """Return the unknown properties of `data`, the value at `path`."""
        schema = self._alternative(self._resolve(schema), data)
        if isinstance(data, list):
            items = schema.get("items", {})
            return [problem for index, item in enumerate(data) for problem in self.find(items, item, (*path, index))]
        declared = schema.get("properties")
        if not isinstance(data, dict) or declared is None:
            return []
        allows_others = schema.get("additionalProperties", not self._closed) is not False
        is_open = allows_others or not _OPEN_KEYWORDS.isdisjoint(schema)
        problems: list[Problem] = []
        for name, value in data.items():
            if name in declared:
                problems += self.find(declared[name], value, (*path, name))
            elif not is_open:
                hint = did_you_mean(name, declared) or f"known: {', '.join(declared)}"
                problems.append(Problem((*path, name), f"unknown argument `{name}`", hint))
        return problems

    def _alternative(self, schema: JsonSchema, data: Any) -> JsonSchema:
        """Return the only object of a union of the manifest whose enumerations `data` fits; else the schema itself."""
        if not (self._closed and isinstance(data, dict) and "anyOf" in schema and "properties" not in schema):
            return schema
        branches = [self._alternative(self._resolve(branch), data) for branch in schema["anyOf"]]
        fitting = [branch for branch in branches if "properties" in branch and _fits_enums(branch["properties"], data)]
        return fitting[0] if len(fitting) == 1 else schema

    def _resolve(self, schema: Any) -> JsonSchema:
        """Return the schema behind a reference or a single `allOf`."""
        if not isinstance(schema, dict):
            return {}
        if "properties" in schema:
            return schema
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self._resolve(schema["allOf"][0])
        reference = schema.get("$ref", "")
        return self._definitions.get(reference.removeprefix("#/$defs/"), {}) if reference else schema


def _fits_enums(properties: Mapping[str, JsonSchema], data: Mapping[str, Any]) -> bool:
    return all(data[name] in part["enum"] for name, part in properties.items() if name in data and "enum" in part)


_LIMITS: Final = {
    "minimum": "{} is below {}",
    "maximum": "{} is above {}",
    "exclusiveMinimum": "{} is not above {}",
    "exclusiveMaximum": "{} is not below {}",
    "minLength": "{} is shorter than {} characters",
    "maxLength": "{} is longer than {} characters",
    "minItems": "{} has fewer than {} items",
    "maxItems": "{} has more than {} items",
    "uniqueItems": "{} contains an item twice",
    "pattern": "{} does not match `{}`",
}


def _causes(error: Violation) -> Iterator[Violation]:
    """Yield the errors of the most likely branch of a union of objects, otherwise the error itself."""
    if error.keyword == "anyOf" and isinstance(error.instance, dict) and error.branches:
        for inner in nearest_alternative(error):
            yield from _causes(inner)
    else:
        yield error


def _format_error(error: Violation) -> str:
    keyword, value, expected = str(error.keyword), _quote_json(error.instance), error.rule
    match keyword:
        case "required":
            return "missing " + ", ".join(f"`{name}`" for name in expected if name not in error.instance)
        case "type":
            return f"{value} is not of type {expected if isinstance(expected, str) else ' or '.join(expected)}"
        case "enum":
            choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in expected)
            return f"{value} is not one of {choices}"
        case _ if keyword in _LIMITS:
            return _LIMITS[keyword].format(value, expected)
        case _:
            return f"{value} violates `{keyword}`"


def _quote_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"`{text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + '...'}`"
