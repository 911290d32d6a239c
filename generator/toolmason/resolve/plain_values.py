"""Accept valid values of simple schemas without jsonschema, whose import and checks take long.

Other values, and those of schemas with other keywords, are left to jsonschema, so no message depends on this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.shared.values.flat_arguments import value_check
from toolmason_runtime.shared.values.patterns import PatternTimeoutError

from toolmason.model.types import JsonSchema

_ANNOTATIONS: Final = frozenset({"$defs", "default", "description", "format", "title"})
"""Keywords that limit no values; our validator does not check `format`."""
_RULES: Final = {
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
"""The supported keywords of values that contain values."""


def is_plainly_valid(schema: JsonSchema, value: Any, definitions: Mapping[str, JsonSchema]) -> bool:
    """Return whether `value` is valid, and all of its properties are declared. False leaves it to jsonschema.

    `schema` is made from types of a manifest; `definitions` has its `$defs`.
    """
    try:
        return _is_valid(schema, value, definitions)
    except (PatternTimeoutError, RecursionError):
        return False


def _is_valid(schema: Any, value: Any, definitions: Mapping[str, JsonSchema]) -> bool:
    if not isinstance(schema, dict):
        return False
    rules = {keyword: rule for keyword, rule in schema.items() if keyword not in _ANNOTATIONS}
    if rules.keys() == {"$ref"}:
        target = definitions.get(rules["$ref"].removeprefix("#/$defs/"), {})
        return "$ref" not in target and _is_valid(target, value, definitions)
    kind = rules.pop("type", None)
    if not isinstance(kind, str) or kind not in _RULES:
        check = value_check(schema)
        return check is not None and check(value)
    if rules.keys() - _RULES[kind]:
        return False
    if kind == "array":
        length = len(value) if type(value) is list else -1
        return rules.get("minItems", 0) <= length <= rules.get("maxItems", length) and all(
            _is_valid(rules.get("items"), item, definitions) for item in value
        )
    properties = rules.get("properties", {})
    return (
        type(value) is dict
        and all(name in value for name in rules.get("required", ()))
        and all(name in properties and _is_valid(properties[name], value[name], definitions) for name in value)
    )
