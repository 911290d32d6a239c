"""Whether data fits a schema, told in words: for defaults and examples in a manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from jsonschema import ValidationError
from toolmason_runtime.protocol.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.protocol.validation import validator
from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import KeyPath

from toolmason.model.types import JsonSchema

MAX_QUOTED_CHARS = 60
"""Characters of a value that a message quotes."""
MAX_SECONDS = 2.0
"""How long the patterns of a schema may take with one value, unless they are linear. A server allows less."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where data does not fit; `path` leads to it from the data's root."""

    path: KeyPath
    message: str
    hint: str = ""


class SchemaChecker:
    """Checks data against schemas that refer to `#/$defs` shared by a manifest."""

    def __init__(self, definitions: Mapping[str, JsonSchema]) -> None:
        self._definitions = dict(definitions)

    def problems(self, schema: JsonSchema, data: Any, *, closed: bool = True) -> list[Problem]:
        """List every place of `data` that does not fit, unknown properties included.

        `closed` says that objects take nothing but what they name, as all that is made from a manifest's own types
        does. Otherwise that is so only where `additionalProperties` is false.
        """
        whole = dict(schema)
        if definitions := {**self._definitions, **schema.get("$defs", {})}:
            whole["$defs"] = definitions
        try:
            with time_limit(MAX_SECONDS):
                errors = list(validator(whole).iter_errors(data))
        except RecursionError:
            return [Problem((), "the schema refers to itself without end")]
        except PatternTimeoutError as error:
            return [Problem((), f"{_shown(error.text)} {error}")]
        unknown = _Unknown(definitions, closed).problems(schema, data, ())
        told = {each.path[:-1] for each in unknown}
        return [
            _problem(error)
            for error in errors
            if error.validator != "additionalProperties" or tuple(error.absolute_path) not in told
        ] + unknown


_OPENING = frozenset(
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
"""Keywords that can declare a property beside `properties`."""


@dataclass(frozen=True)
class _Unknown:
    """Finds properties that no schema declares: legal JSON Schema, but in an example a slip of the pen."""

    _definitions: Mapping[str, JsonSchema]
    _closed: bool

    def problems(self, schema: JsonSchema, data: Any, path: KeyPath) -> list[Problem]:
        """List the unknown properties of `data`, which stands at `path`."""
        schema = self._followed(schema)
        if isinstance(data, list):
            items = schema.get("items", {})
            return [each for place, item in enumerate(data) for each in self.problems(items, item, (*path, place))]
        known = schema.get("properties")
        if not isinstance(data, dict) or known is None:
            return []
        is_open = schema.get("additionalProperties", not self._closed) is not False or not _OPENING.isdisjoint(schema)
        found: list[Problem] = []
        for name, value in data.items():
            if name in known:
                found += self.problems(known[name], value, (*path, name))
            elif not is_open:
                hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
                found.append(Problem((*path, name), f"unknown argument `{name}`", hint))
        return found

    def _followed(self, schema: Any) -> JsonSchema:
        if not isinstance(schema, dict):
            return {}
        if "properties" in schema:
            return schema
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self._followed(schema["allOf"][0])
        reference = schema.get("$ref", "")
        return self._definitions.get(reference.removeprefix("#/$defs/"), {}) if reference else schema


@dataclass(frozen=True)
class _Worded:
    error: ValidationError

    @cached_property
    def value(self) -> str:
        return _shown(self.error.instance)

    def message(self) -> str:
        rule = str(self.error.validator)
        asked, given = cast("Any", self.error.validator_value), cast("Any", self.error.instance)
        if rule == "required":
            absent = [name for name in asked if name not in given]
            return "missing " + ", ".join(f"`{name}`" for name in absent)
        if rule == "type":
            wanted = asked if isinstance(asked, str) else " or ".join(asked)
            return f"{self.value} is no {wanted}"
        if rule == "enum":
            return f"{self.value} is none of {', '.join(json.dumps(each, ensure_ascii=False) for each in asked)}"
        if rule == "pattern":
            return f"{self.value} does not match `{asked}`"
        return _LIMITS[rule].format(self.value, asked) if rule in _LIMITS else f"{self.value} does not fit `{rule}`"


_LIMITS = {
    "minimum": "{} is below {}",
    "maximum": "{} is above {}",
    "exclusiveMinimum": "{} is not above {}",
    "exclusiveMaximum": "{} is not below {}",
    "minLength": "{} is shorter than {} characters",
    "maxLength": "{} is longer than {} characters",
    "minItems": "{} has fewer than {} items",
    "maxItems": "{} has more than {} items",
    "uniqueItems": "{} has an item twice",
}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"`{text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + '...'}`"


def _problem(error: ValidationError) -> Problem:
    return Problem(tuple(error.absolute_path), _Worded(error).message())
