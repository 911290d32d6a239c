"""Valid values that are accepted without jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.values.validation import validator

from toolmason.resolve.plain_values import is_plainly_valid

NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.0, float("nan"), float("inf"), True, False])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("ab1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def _rules(**rules: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={**rules, "description": st.just("text"), "nullable": st.just(True)})


def _typed(kind: str, **rules: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _rules(**rules).map(lambda node: {"type": kind, **node})


LIMITS = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBERS)
CHOICES = st.lists(NUMBERS | st.text("ab1", max_size=2), min_size=1, max_size=3)
SMALL = st.integers(0, 2)
LEAVES = (
    _typed("integer", **LIMITS, enum=CHOICES, multipleOf=st.just(2))
    | _typed("number", **LIMITS)
    | _typed("boolean")
    | _typed("string", enum=CHOICES, minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(["^a", "b$", "[ab]"]))
    | st.sampled_from([{}, {"$ref": "#/$defs/Pair"}, {"$ref": "#/$defs/Loop"}, {"type": ["string", "null"]}])
)


def _nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    required = st.lists(st.sampled_from("abc"), unique=True, max_size=2)
    return _typed("array", items=inner, minItems=SMALL, maxItems=SMALL, uniqueItems=st.just(True)) | _typed(
        "object", properties=properties, required=required, additionalProperties=inner | st.booleans()
    )


SCHEMAS = st.recursive(LEAVES, _nested, max_leaves=4)
DEFINITIONS: dict[str, dict[str, Any]] = {
    "Pair": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/Pair"}}},
    "Loop": {"$ref": "#/$defs/Loop"},
}


@given(SCHEMAS, VALUES)
def test_accepted_value_is_valid_for_jsonschema(schema: dict[str, Any], value: Any) -> None:
    if is_plainly_valid(schema, value, DEFINITIONS):
        assert not list(validator({**schema, "$defs": DEFINITIONS}).iter_errors(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "minimum": 1, "enum": [1, 2]}, 2),
        ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3, "format": "date"}, "abc"),
        ({"type": "array", "items": {"$ref": "#/$defs/Pair"}, "maxItems": 1}, [{"a": 1, "b": {}}]),
        ({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}, {"a": 1}),
    ],
    ids=["integer", "string", "list of a named type", "object"],
)
def test_usual_values_are_accepted(schema: dict[str, Any], value: Any) -> None:
    assert is_plainly_valid(schema, value, DEFINITIONS)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, True),
        ({"type": "integer"}, 1.0),
        ({"type": "integer", "enum": [True]}, 1),
        ({"type": "object", "properties": {}}, {"a": 1}),
        ({"$ref": "#/$defs/Loop"}, 1),
        ({"type": "string", "const": "a"}, "a"),
    ],
    ids=["boolean", "float", "equal choice", "undeclared property", "endless reference", "other keyword"],
)
def test_other_values_are_left_to_jsonschema(schema: dict[str, Any], value: Any) -> None:
    assert not is_plainly_valid(schema, value, DEFINITIONS)
