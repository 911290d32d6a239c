"""Check values against JSON Schemas of others: patterns have a time limit, and an unusable schema decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import regex
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import UnknownType
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

PATTERN_TIMEOUT_S: Final = 0.05
"""Time for one match of a pattern."""


_FAILURES: Final = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    *(UnknownType, Unresolvable),
)
"""Errors of the validator for invalid schemas: it expects that they were checked."""


class UndecidedError(Exception):
    """A schema cannot be evaluated: an invalid or slow pattern, an unknown reference, an invalid keyword."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text.

    Raises:
        UndecidedError: it is invalid, or takes too long.
    """
    try:
        return regex.search(pattern, text, timeout=PATTERN_TIMEOUT_S) is not None
    except (regex.error, TimeoutError) as error:
        raise UndecidedError(pattern) from error


def _check_pattern(_: Validator, pattern: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not matches(str(pattern), value):
        yield ValidationError(f"does not match {pattern}")


def _check_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, schema in patterns.items():
        for name, part in value.items():
            if matches(pattern, name):
                yield from validator.descend(part, schema, path=name, schema_path=pattern)


_Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _check_pattern, "patternProperties": _check_pattern_properties}
)


def validator(schema: Any) -> Validator:
    """Return a validator that also checks formats."""
    # An own registry: that of jsonschema would fetch references from the network.
    checker: Validator = _Validator(schema, registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    return checker


def accepts(checker: Validator, value: Any) -> bool:
    """Return whether a value is valid.

    Raises:
        UndecidedError: the schema cannot be evaluated.
    """
    try:
        return bool(checker.is_valid(value))
    except _FAILURES as error:
        raise UndecidedError(str(error)) from error
