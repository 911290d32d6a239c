"""Whether a default or an example fits its schema, in words."""

from __future__ import annotations

from typing import Any

import pytest

from toolmason.resolve import examples
from toolmason.resolve.examples import SchemaChecker

A = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}


def said(schema: dict[str, Any], data: Any, *, closed: bool = True) -> list[str]:
    return [each.message for each in SchemaChecker({}).find_problems(schema, data, closed=closed)]


def test_unknown_arguments_are_reported_at_every_level() -> None:
    assert said(A, {"a": {"c": 1}, "d": 1}) == ["unknown argument `c`", "unknown argument `d`"]
    assert said(A, {"a": {"b": "x"}}) == []


@pytest.mark.parametrize(
    "opening",
    [
        {"patternProperties": {"^d": True}},
        {"oneOf": [{"properties": {"d": True}}]},
        {"anyOf": [{"properties": {"d": True}}]},
        {"allOf": [{"properties": {"d": True}}]},
        {"if": {"required": ["a"]}, "then": {"properties": {"d": True}}},
        {"additionalProperties": True},
        {"unevaluatedProperties": True},
        {"$ref": "#/$defs/D", "$defs": {"D": {"properties": {"d": True}}}},
    ],
    ids=lambda opening: next(iter(opening)),
)
def test_argument_that_another_keyword_may_declare_is_not_unknown(opening: dict[str, Any]) -> None:
    assert said({**A, **opening}, {"d": 1}) == []
    assert said({**A, **opening}, {"d": 1, "a": {"c": 1}}) == ["unknown argument `c`"]


def test_open_schema_accepts_more_unless_additional_properties_is_false() -> None:
    assert said(A, {"d": 1}, closed=False) == []
    assert said({**A, "additionalProperties": False}, {"d": 1}, closed=False) == ["unknown argument `d`"]


def test_boolean_property_takes_anything_or_nothing() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": False}}
    assert said(schema, {"a": {"c": [1]}}) == []
    assert len(said(schema, {"b": 1})) == 1


def test_schema_may_use_its_own_definitions_and_those_of_the_manifest() -> None:
    checker = SchemaChecker({"Note": {"type": "object", "properties": {"text": {"type": "string"}}}})
    properties = {"a": {"$ref": "#/$defs/own"}, "b": {"$ref": "#/$defs/Note"}}
    schema = {"type": "object", "properties": properties, "$defs": {"own": {"type": "integer"}}}
    assert checker.find_problems(schema, {"a": 1, "b": {"text": "x"}}) == []
    found = checker.find_problems(schema, {"a": "x", "b": {"texts": 1}})
    assert [each.path for each in found] == [("a",), ("b", "texts")]


def test_endless_self_reference_of_a_schema_is_reported() -> None:
    assert said({"type": "object", "$ref": "#"}, {}) == ["the schema refers to itself endlessly"]


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("^[a-z]+$", "a" * 500, "A"),
        ("^[a-z]+$", "a" * 5000, "a" * 5000 + "A"),
        ("^[a-z]+(-[a-z]+)*$", "some-words-with-dashes-é".removesuffix("-é"), "some-words-with-dashes-é"),
    ],
    ids=["short", "long", "repeated group"],
)
def test_patterns_are_searched_in_texts_of_any_length(pattern: str, fits: str, does_not: str) -> None:
    assert said({"type": "string", "pattern": pattern}, fits) == []
    (message,) = said({"type": "string", "pattern": pattern}, does_not)
    assert message.endswith(f"does not match `{pattern}`")


@pytest.mark.uncovered
@pytest.mark.parametrize("keyword", ["pattern", "propertyNames", "patternProperties", "additionalProperties"])
def test_regex_match_is_stopped_after_a_time_limit_and_reported(keyword: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "PATTERN_TIMEOUT_S", 0.2)
    pattern = "^(?=(a|aa)+$)"
    schemas: dict[str, dict[str, Any]] = {
        "pattern": {"properties": {"x": {"type": "string", "pattern": pattern}}},
        "propertyNames": {"propertyNames": {"pattern": pattern}},
        "patternProperties": {"patternProperties": {pattern: True}},
        "additionalProperties": {"patternProperties": {pattern: True}, "additionalProperties": False},
    }
    text = "a" * 100 + "b"

    (message,) = said({"type": "object", **schemas[keyword]}, {"x": text, text: 1}, closed=False)
    assert message == f'`"{"a" * 59}...` could not be matched with {pattern} in time; send a shorter value'


def test_pattern_that_python_would_search_for_ever_is_matched() -> None:
    (message,) = said({"type": "string", "pattern": "^(a+)+$"}, "a" * 60 + "b")
    assert message.endswith("does not match `^(a+)+$`")
