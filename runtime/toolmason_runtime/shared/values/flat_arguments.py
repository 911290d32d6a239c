"""Check arguments without nested objects, such as those of command tools, without importing pydantic.

Only valid arguments that need no conversion are accepted. All others, such as `"42"` for an integer, are left to the
model or to the validator of the schema, which converts or rejects them. So a call has the same result with and without
this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolmason_runtime.shared.values.patterns import PatternTimeoutError, is_found, time_limit

Check = Callable[[Any], bool]
"""Returns whether a value is valid without a conversion."""
FlatCheck = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""Returns the sent arguments without those that are null; None if they are not accepted."""

MAX_EXACT: Final = 2**53
"""Maximum magnitude of accepted numbers: the model may round a larger one to a limit."""
_IGNORED: Final = frozenset({"description", "default", "title", "format", "examples"})
"""Keywords that generated models and validators of schemas ignore as well."""
_OBJECT_KEYWORDS: Final = frozenset({"$schema", "type", "properties", "required", "additionalProperties"})
"""`additionalProperties` has no effect, because arguments beside `properties` are not accepted."""
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_RULES: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"enum", "minLength", "maxLength", "pattern"}),
    "integer": frozenset({"enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems"}),
}
"""The supported keywords of each type."""


def flat_check(schema: Mapping[str, Any]) -> FlatCheck | None:
    """Return the check of the members of `schema`, an object; None if it has a rule that is not supported."""
    if schema.get("type", "object") != "object":
        return None
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = frozenset(schema.get("required", ()))
    checks = {name: member for name, part in properties.items() if (member := value_check(part)) is not None}
    if schema.keys() - _IGNORED - _OBJECT_KEYWORDS or len(checks) < len(properties):
        return None

    def check(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        sent = {name: arguments[name] for name in checks if arguments.get(name) is not None}
        if not required <= sent.keys() or arguments.keys() - checks.keys():
            return None
        try:
            with time_limit():
                return sent if all(checks[name](value) for name, value in sent.items()) else None
        except PatternTimeoutError:
            return None

    return check


def value_check(schema: Any) -> Check | None:
    """Return the check of one value or array of values; None if the schema has a rule that is not supported.

    The check raises PatternTimeoutError.
    """
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    rules = {keyword: rule for keyword, rule in schema.items() if keyword not in _IGNORED and keyword != "type"}
    if not isinstance(kind, str) or kind not in _RULES or rules.keys() - _RULES[kind]:
        return None
    if kind == "array":
        return _array_check(rules)
    types, choices = _PYTHON_TYPES[kind], rules.pop("enum", None)
    # With the type, because True equals 1.
    typed_choices = None if choices is None else [(type(choice), choice) for choice in choices]
    limits = [_LIMITS[keyword](rule) for keyword, rule in rules.items()]
    if any(abs(rule) > MAX_EXACT for rule in rules.values() if not isinstance(rule, str)):
        return None
    if kind in {"integer", "number"}:
        limits.append(lambda value: -MAX_EXACT <= value <= MAX_EXACT)

    def check(value: Any) -> bool:
        # `type`, because True is an instance of int. NaN and infinity fail the limits of a number.
        is_valid = type(value) in types and (typed_choices is None or (type(value), value) in typed_choices)
        return is_valid and all(is_within(value) for is_within in limits)

    return check


def _array_check(rules: Mapping[str, Any]) -> Check | None:
    item_check = value_check(rules.get("items"))
    shortest, longest = rules.get("minItems", 0), rules.get("maxItems")
    if item_check is None:
        return None

    def check(value: Any) -> bool:
        is_list = type(value) is list and shortest <= len(value) and (longest is None or len(value) <= longest)
        return is_list and all(map(item_check, value))

    return check


_LIMITS: Final[Mapping[str, Callable[[Any], Check]]] = {
    "minLength": lambda limit: lambda value: len(value) >= limit,
    "maxLength": lambda limit: lambda value: len(value) <= limit,
    "pattern": lambda pattern: lambda value: is_found(pattern, value),
    "minimum": lambda limit: lambda value: value >= limit,
    "maximum": lambda limit: lambda value: value <= limit,
    "exclusiveMinimum": lambda limit: lambda value: value > limit,
    "exclusiveMaximum": lambda limit: lambda value: value < limit,
}
