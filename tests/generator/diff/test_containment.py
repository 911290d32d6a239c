"""The decision about two schemas: a proof holds for every value, and a counterexample is one."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolmason.diff.containment import is_contained
from toolmason.diff.counterexamples import find_counterexample, samples
from toolmason.diff.schema_parts import closed

TEXT: Final[dict[str, Any]] = {"type": "string"}
INTEGER: Final[dict[str, Any]] = {"type": "integer"}
NUMBER: Final[dict[str, Any]] = {"type": "number"}


def record(properties: dict[str, Any], *required: str, **rules: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required], **rules}


def node(value: dict[str, Any]) -> dict[str, Any]:
    link = {"$ref": "#/$defs/Node"}
    return {
        "$defs": {"Node": record({"value": value, "next": link}, additionalProperties=False)},
        "$ref": "#/$defs/Node",
    }


def tagged(*tags: str) -> dict[str, Any]:
    return {"oneOf": [record({"kind": {"const": tag}, tag: TEXT}, "kind") for tag in tags]}


CONTAINED: Final = [
    (INTEGER, NUMBER),
    ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}),
    ({"type": "string", "enum": ["a"]}, TEXT),
    ({"const": 1}, INTEGER),
    ({"const": 1.0}, INTEGER),
    ({"type": "boolean"}, {"enum": [True, False]}),
    ({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}),
    ({"type": "integer", "exclusiveMaximum": 10}, {"type": "integer", "maximum": 9}),
    ({"type": "number", "minimum": 2}, {"type": "number", "exclusiveMinimum": 1.5}),
    ({"type": "number", "multipleOf": 0.2}, {"type": "number", "multipleOf": 0.1}),
    ({"type": "string", "enum": ["aa"]}, {"type": "string", "pattern": "^a+$"}),
    ({"type": "string", "pattern": "^a", "maxLength": 3}, {"type": "string", "pattern": "^a"}),
    ({"type": "string", "format": "date"}, TEXT),
    (record({"a": TEXT}, "a"), record({"a": TEXT})),
    (record({"a": TEXT}, additionalProperties=False), record({"a": TEXT, "b": TEXT}, additionalProperties=False)),
    ({"type": "object", "additionalProperties": INTEGER}, {"type": "object", "additionalProperties": NUMBER}),
    (record({"a": TEXT}, "a"), {"type": "object", "minProperties": 1}),
    (record({"a": TEXT}, additionalProperties=False), {"type": "object", "maxProperties": 1}),
    (
        {"type": "object", "patternProperties": {"^x-": INTEGER}, "additionalProperties": False},
        {"type": "object", "patternProperties": {"^x-": NUMBER}, "additionalProperties": False},
    ),
    ({"type": "array", "items": INTEGER, "maxItems": 3}, {"type": "array", "items": NUMBER, "maxItems": 4}),
    ({"type": "array", "items": TEXT, "maxItems": 0}, {"type": "array", "items": INTEGER}),
    ({"type": "array", "items": TEXT, "uniqueItems": True}, {"type": "array", "items": TEXT}),
    ({"type": "array", "prefixItems": [TEXT, INTEGER], "items": False}, {"prefixItems": [TEXT, NUMBER]}),
    ({"anyOf": [TEXT, INTEGER]}, {"anyOf": [INTEGER, TEXT, {"type": "null"}]}),
    ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
    ({"allOf": [{"minimum": 1}, {"maximum": 5}], "type": "integer"}, {"type": "integer", "minimum": 0, "maximum": 9}),
    (tagged("a", "b"), tagged("a", "b", "c")),
    (node(INTEGER), node(NUMBER)),
    ({"not": TEXT}, {"not": TEXT}),
    (False, TEXT),
    ({}, {"type": ["string", "number", "object", "array", "boolean", "null"]}),
]
REFUTED: Final = [
    (NUMBER, INTEGER),
    ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    (TEXT, {"type": "string", "enum": ["a"]}),
    (TEXT, {"type": "string", "minLength": 1}),
    (TEXT, {"type": "string", "maxLength": 200}),
    ({"type": "string", "pattern": "^[a-z0-9]*$"}, {"type": "string", "pattern": "^[a-z]*$"}),
    (TEXT, {"type": "string", "format": "date"}),
    (TEXT, {"type": "string", "format": "email"}),
    ({"type": "integer", "maximum": 100}, {"type": "integer", "maximum": 50}),
    ({"type": "number", "multipleOf": 0.1}, {"type": "number", "multipleOf": 0.2}),
    ({"enum": [1, True]}, {"enum": [1]}),
    (record({"a": TEXT}), record({"a": TEXT}, "a")),
    (record({"a": TEXT, "b": TEXT}, additionalProperties=False), record({"a": TEXT}, additionalProperties=False)),
    (
        {"type": "object", "patternProperties": {"^x-": TEXT}, "additionalProperties": False},
        {"type": "object", "patternProperties": {"^x-": INTEGER, "^y-": TEXT}, "additionalProperties": False},
    ),
    ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "maxItems": 10}),
    ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "uniqueItems": True}),
    ({"type": ["string", "null"]}, TEXT),
    ({"anyOf": [TEXT, INTEGER]}, {"oneOf": [TEXT, {"type": "string", "maxLength": 3}, INTEGER]}),
    (tagged("a", "b", "c"), tagged("a", "b")),
    (node(NUMBER), node(INTEGER)),
    (TEXT, False),
]


@pytest.mark.parametrize(("old", "new"), CONTAINED)
def test_a_contained_schema_is_proven_and_has_no_counterexample(old: Any, new: Any) -> None:
    assert is_contained(old, new)
    assert find_counterexample(old, new) is None


@pytest.mark.parametrize(("old", "new"), REFUTED)
def test_a_schema_that_is_not_contained_has_a_counterexample(old: Any, new: Any) -> None:
    assert not is_contained(old, new)
    found = find_counterexample(old, new)
    assert found is not None
    checker = Draft202012Validator.FORMAT_CHECKER
    assert Draft202012Validator(old, format_checker=checker).is_valid(found[0])
    assert not Draft202012Validator(new, format_checker=checker).is_valid(found[0])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}},
        {"$ref": "#"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.com/schema"},
        {"anyOf": [{"$ref": "#"}]},
        {"allOf": [{"$ref": "#"}]},
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": "(a+)+$"},
        {"type": 5, "minimum": "x", "properties": {"a": 1}},
        {"properties": {"a": {"enum": 1}}, "required": "a"},
        {"items": [{"type": "string"}], "additionalItems": False},
    ],
    ids=str,
)
def test_an_unusable_schema_ends_without_a_traceback(schema: Any) -> None:
    for old, new in ((schema, TEXT), (TEXT, schema), (schema, schema)):
        is_contained(old, new)
        find_counterexample(old, new)


SCALARS: Final = st.one_of(
    st.builds(
        lambda low, high: {"type": "integer", "minimum": low, "maximum": high}, st.integers(-3, 3), st.integers(-3, 3)
    ),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.sampled_from([-1, 0, 0.5, 2])),
    st.builds(lambda factor: {"type": "number", "multipleOf": factor}, st.sampled_from([0.5, 1, 2, 3])),
    st.builds(
        lambda low, high: {"type": "string", "minLength": low, "maxLength": high}, st.integers(0, 2), st.integers(0, 3)
    ),
    st.builds(lambda pattern: {"type": "string", "pattern": pattern}, st.sampled_from(["^a", "^[ab]+$", "b"])),
    st.builds(
        lambda values: {"enum": values},
        st.lists(st.sampled_from(["a", "b", 1, 1.0, True, None]), min_size=1, max_size=3),
    ),
    st.sampled_from([TEXT, INTEGER, NUMBER, {"type": ["integer", "null"]}, {"type": "boolean"}, {}, True, False]),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True)
    more = st.sampled_from([None, None, False]) | inner
    return st.one_of(
        st.builds(
            lambda properties, required, additional: {
                "type": "object",
                "properties": properties,
                "required": required,
                **({} if additional is None else {"additionalProperties": additional}),
            },
            st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
            names,
            more,
        ),
        st.builds(
            lambda pattern, schema, rest: {
                "type": "object",
                "patternProperties": {pattern: schema},
                "additionalProperties": rest,
            },
            st.sampled_from(["^a", "^[ab]$"]),
            inner,
            inner,
        ),
        st.builds(lambda schema, most: {"type": "array", "items": schema, "maxItems": most}, inner, st.integers(0, 3)),
        st.builds(
            lambda first, rest: {"type": "array", "prefixItems": first, "items": rest},
            st.lists(inner, min_size=1, max_size=2),
            inner,
        ),
        st.builds(
            lambda key, parts: {key: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda schema: {"not": schema}, inner),
    )


SCHEMAS: Final = st.recursive(SCALARS, containers, max_leaves=5)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(old=SCHEMAS, new=SCHEMAS)
def test_a_proof_holds_for_every_sample(old: Any, new: Any) -> None:
    if is_contained(old, new):
        values = [*samples(old, new), *samples(new, old)]
        mine, theirs = Draft202012Validator(old), Draft202012Validator(new)
        assert [value for value in values if mine.is_valid(value) and not theirs.is_valid(value)] == []


@settings(max_examples=50, deadline=None)
@given(schema=SCHEMAS)
def test_each_schema_contains_itself_and_what_is_closed(schema: Any) -> None:
    assert is_contained(schema, schema)
    if "not" not in str(schema) and "oneOf" not in str(schema):
        assert find_counterexample(closed(schema), schema) is None
