"""JSON Schema validation without network access and in bounded time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from toolmason_runtime.shared.values.patterns import is_found

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


def validator(schema: Mapping[str, Any]) -> Validator:
    """Compile `schema` (2020-12). The library is imported here, because not every server needs it.

    Its `iter_errors` raises PatternTimeoutError if a pattern cannot be matched in time. `unevaluatedProperties` beside
    `patternProperties` is not supported: the library matches the names with Python's `re` there.
    """
    from referencing import Registry

    # `$schema` would select the library's own validator.
    rules = {keyword: rule for keyword, rule in schema.items() if keyword != "$schema"}
    # An empty registry: without it the library would fetch references to other documents.
    result: Validator = _validator_class()(rules, registry=Registry())
    return result


@cache
def _validator_class() -> Any:
    """Return the library's validator class with our regex engine in each keyword that matches a pattern."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    original: Mapping[str, Any] = Draft202012Validator.VALIDATORS

    def pattern(validator: Any, rule: str, value: Any, _: Mapping[str, Any]) -> Iterator[ValidationError]:
        if validator.is_type(value, "string") and not is_found(rule, value):
            yield ValidationError(f"{value!r} does not match {rule!r}")

    def pattern_properties(
        validator: Any, rules: Mapping[str, Any], value: Any, _: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not validator.is_type(value, "object"):
            return
        for rule, schema in rules.items():
            for name, member in value.items():
                if is_found(rule, name):
                    yield from validator.descend(member, schema, path=name, schema_path=rule)

    def additional_properties(
        validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if validator.is_type(value, "object"):
            patterns = schema.get("patternProperties", {})
            # The library would match the patterns again with Python's `re`, so they are removed.
            value = {name: value[name] for name in value if not any(is_found(pattern, name) for pattern in patterns)}
            schema = {keyword: schema[keyword] for keyword in schema if keyword != "patternProperties"}
        yield from original["additionalProperties"](validator, rule, value, schema)

    own = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }
    return extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]


def nearest_alternative(errors: Sequence[Any]) -> list[Any]:
    """Return the errors of the most likely branch of a union: of the right type and tag, with the fewest errors."""
    branches: dict[Any, list[Any]] = {}
    for error in errors:
        branches.setdefault(error.schema_path[0], []).append(error)

    def distance(branch: Sequence[Any]) -> tuple[bool, bool, int]:
        has_wrong_type = any(error.validator == "type" and not error.path for error in branch)
        has_wrong_tag = any(error.validator in {"const", "enum"} for error in branch)
        return has_wrong_type, has_wrong_tag, len(branch)

    return min(branches.values(), key=distance)
