"""JSON Schema validation that never leaves the machine, and that no text can keep busy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from toolmason_runtime.protocol.patterns import is_found

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


def validator(schema: Mapping[str, Any]) -> Validator:
    """Compile `schema` (2020-12). The library is imported here, since not every server needs it.

    Its `iter_errors` raises PatternTimeoutError if a pattern cannot be matched in time. `unevaluatedProperties` beside
    `patternProperties` is not supported: the library matches the names with Python's `re` there.
    """
    from referencing import Registry

    # `$schema` would bring the library's own validator back.
    plain = {keyword: rule for keyword, rule in schema.items() if keyword != "$schema"}
    # A registry of its own: without one a reference to another document would be fetched.
    found: Validator = _validator_class()(plain, registry=Registry())
    return found


@cache
def _validator_class() -> Any:
    """Return the library's validator with our own engine in each keyword that matches a pattern."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    theirs: Mapping[str, Any] = Draft202012Validator.VALIDATORS

    def pattern(validator: Any, rule: str, value: Any, _: Mapping[str, Any]) -> Iterator[ValidationError]:
        if validator.is_type(value, "string") and not is_found(rule, value):
            yield ValidationError(f"{value!r} does not match {rule!r}")

    def pattern_properties(
        validator: Any, rules: Mapping[str, Any], value: Any, _: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not validator.is_type(value, "object"):
            return
        for rule, schema in rules.items():
            for name, inner in value.items():
                if is_found(rule, name):
                    yield from validator.descend(inner, schema, path=name, schema_path=rule)

    def additional_properties(
        validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if validator.is_type(value, "object"):
            patterns = schema.get("patternProperties", {})
            # Without the patterns, the library's keyword matches none itself.
            value = {name: inner for name, inner in value.items() if not any(is_found(each, name) for each in patterns)}
            schema = {keyword: each for keyword, each in schema.items() if keyword != "patternProperties"}
        yield from theirs["additionalProperties"](validator, rule, value, schema)

    own = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }
    return extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]
