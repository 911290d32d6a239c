"""The comparison of two schemas of arguments, where both mean nearly the same in other words."""

from __future__ import annotations

from typing import Any

import pytest

from toolmason.diff.rules import Severity
from toolmason.diff.values import compare_arguments

OTHERS = ["integer", "number", "null", "boolean", "array", "object"]


def differences(old: Any, new: Any) -> list[tuple[str, str]]:
    found = compare_arguments(old, new, old_aliases={}, new_aliases={})
    return [(one.severity.name, one.message) for one in found]


def argument(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"not": {"type": "string"}}, {"type": OTHERS}),
        ({"type": OTHERS}, {"not": {"type": "string"}}),
        ({}, {"type": ["string", "null"]}),
        ({"enum": ["a", None]}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"], "enum": ["a"]}, {"type": "string"}),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
)
def test_null_is_no_difference_if_both_accept_it_or_neither(old: Any, new: Any) -> None:
    found = differences(argument(old), argument(new))
    assert not [message for _, message in found if message.endswith(("accepts null", "be null"))], found


@pytest.mark.parametrize("schema", [{}, {"properties": {"a": {"type": "string"}}}, {"description": "None"}])
def test_arguments_are_an_object_with_and_without_the_type(schema: dict[str, Any]) -> None:
    typed = {"type": "object", **schema}
    assert differences(schema, typed) == differences(typed, schema) == []


def test_a_limit_of_all_arguments_is_a_sentence() -> None:
    old = argument({"type": "string"})
    message = "the object of arguments has `minProperties` `1`"
    assert differences(old, {**old, "minProperties": 1}) == [(Severity.BREAKING.name, message)]
