"""Checks of single values, made from the rules in `field.metadata`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from toolmason_runtime.shared.toml.problems import LINE_BREAK, Kind, quoted, unprintable
from toolmason_runtime.shared.toml.tables import is_required


class ValueCheck(NamedTuple):
    """A check of one value. `describe` takes the value and its name, such as `` `size` in [part] ``."""

    kind: Kind
    is_valid: Callable[[Any], bool]
    describe: Callable[[Any, str], str]
    hint: Callable[[Any], str] = lambda _: ""


def value_checks(field: dataclasses.Field[Any], hint: Any) -> list[ValueCheck]:
    """Return the checks of a field of type `hint`. A required text without a pattern must not be blank."""
    rules = field.metadata
    checks = [make(rules) for rule, make in _CHECKS.items() if rule in rules]
    return [_NOT_BLANK, *checks] if hint is str and is_required(field) and "pattern" not in rules else checks


_NOT_BLANK: Final = ValueCheck(Kind.EMPTY, lambda text: bool(text.strip()), lambda _, name: f"{name} is empty")


def _max_length_check(rules: Mapping[str, Any]) -> ValueCheck:
    limit: int = rules["max_length"]
    return ValueCheck(
        Kind.LENGTH,
        lambda text: len(text) <= limit,
        lambda text, name: f"{name} has {len(text):,} characters: at most {limit:,} are allowed",
        lambda text: f"leave out {len(text) - limit:,} or more",
    )


def _pattern_check(rules: Mapping[str, Any]) -> ValueCheck:
    value_form = re.compile(rules["pattern"])
    words = rules["words"]
    return ValueCheck(
        Kind.PATTERN,
        lambda text: value_form.fullmatch(text) is not None,
        lambda text, name: f"{quoted(text)} does not fit {name}: expected {words}",
    )


def _minimum_check(rules: Mapping[str, Any]) -> ValueCheck:
    minimum = rules["minimum"]
    return ValueCheck(
        Kind.MINIMUM,
        lambda number: number >= minimum,
        lambda number, name: f"{name} is {number}: it must be at least {minimum}",
    )


def _one_line_check(rules: Mapping[str, Any]) -> ValueCheck:
    return ValueCheck(
        Kind.UNPRINTABLE,
        lambda text: not unprintable(text),
        lambda text, name: f"{name} contains {unprintable(text)}",
        lambda text: rules["one_line"] if unprintable(text) == LINE_BREAK else "leave it out",
    )


def _not_empty_check(rules: Mapping[str, Any]) -> ValueCheck:
    return ValueCheck(Kind.EMPTY, bool, lambda _, name: f"{name} is empty", lambda _: rules["not_empty"])


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], ValueCheck]]] = {
    "max_length": _max_length_check,
    "pattern": _pattern_check,
    "minimum": _minimum_check,
    "one_line": _one_line_check,
    "not_empty": _not_empty_check,
}
