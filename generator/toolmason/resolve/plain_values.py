"""Accept valid values of simple schemas without jsonschema, whose import and checks take long.

Other values, and those of schemas with other keywords, are left to jsonschema, so no message depends on this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolmason_runtime.protocol.patterns import PatternTimeoutError, is_found

from toolmason.model.types import JsonSchema

_ANNOTATIONS: Final = frozenset({"$defs", "default", "description", "format", "title"})
"""Keywords that limit no values; our validator does not check `format`."""
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_RULES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
    # With the type, because True equals 1.
    "enum": lambda value, choices: any(type(choice) is type(value) and choice == value for choice in choices),
    "pattern": lambda value, pattern: is_found(pattern, value),
    "required": lambda value, names: all(name in value for name in names),
}
_TYPE_OF_RULE: Final = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("integer", "number")),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), ("string",)),
    **dict.fromkeys(("minItems", "maxItems", "items"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties"), ("object",)),
    "enum": ("string", "integer"),
}
"""The types whose values a keyword limits."""


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
    if not isinstance(kind, str) or any(kind not in _TYPE_OF_RULE.get(keyword, ()) for keyword in rules):
        return False
    # `type`, because True is an instance of int.
    if type(value) not in _PYTHON_TYPES[kind]:
        return False
    if not all(_RULES[keyword](value, rule) for keyword, rule in rules.items() if keyword in _RULES):
        return False
    if kind == "array":
        return all(_is_valid(rules["items"], item, definitions) for item in value) if "items" in rules else not value
    properties = rules.get("properties", {})
    return kind != "object" or all(
        name in properties and _is_valid(properties[name], member, definitions) for name, member in value.items()
    )
