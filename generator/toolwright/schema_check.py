"""Whether data fits a schema, told in words: for defaults and examples in a manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError

from toolwright.model import JsonSchema
from toolwright.paths import KeyPath

MOST_SHOWN = 60
"""Characters of a value that a message quotes."""


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

    def problems(self, schema: JsonSchema, data: Any) -> list[Problem]:
        """List every place of `data` that does not fit, unknown properties included."""
        whole = {**schema, "$defs": self._definitions} if self._definitions else schema
        found = [_problem(error) for error in Draft202012Validator(whole).iter_errors(data)]
        return found + self._unknown(schema, data, ())

    def _unknown(self, schema: JsonSchema, data: Any, path: KeyPath) -> list[Problem]:
        """List properties no schema declares: legal JSON Schema, but in an example a slip of the pen."""
        schema = self._followed(schema)
        if isinstance(data, list):
            items = schema.get("items", {})
            return [each for place, item in enumerate(data) for each in self._unknown(items, item, (*path, place))]
        known = schema.get("properties")
        if not isinstance(data, dict) or known is None or schema.get("additionalProperties", False) is not False:
            return []
        found: list[Problem] = []
        for name, value in data.items():
            if name in known:
                found += self._unknown(known[name], value, (*path, name))
            else:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
                found.append(Problem((*path, name), f"unknown argument `{name}`", hint))
        return found

    def _followed(self, schema: Any) -> JsonSchema:
        if not isinstance(schema, dict):
            return {}
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self._followed(schema["allOf"][0])
        reference = schema.get("$ref", "")
        return self._definitions.get(reference.rpartition("/")[2], {}) if reference else schema


@dataclass(frozen=True)
class _Worded:
    error: ValidationError

    @cached_property
    def value(self) -> str:
        text = json.dumps(self.error.instance, ensure_ascii=False, default=str)
        return f"`{text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + '...'}`"

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


def _problem(error: ValidationError) -> Problem:
    return Problem(tuple(error.absolute_path), _Worded(error).message())
