"""The comparison itself: what it must see, and what it must not mind."""

from __future__ import annotations

from typing import Any

import pytest
from hard_schemas import NOTHING, POINT, TEXT, tool
from survival import losses, lost_limits, refusals

NUMBER: dict[str, Any] = {"type": "integer", "minimum": 1, "description": "How many. At least 1."}
UNION: dict[str, Any] = {"anyOf": [TEXT, NUMBER]}


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        (NUMBER, {"type": "INTEGER", "minimum": 1.0, "description": "How many. At least 1. Really."}),
        ({"anyOf": [NUMBER, NOTHING]}, {**NUMBER, "nullable": True}),
        ({"anyOf": [TEXT, NUMBER, NOTHING]}, {**UNION, "nullable": True}),
        ({"anyOf": [TEXT, NUMBER, NOTHING]}, {"any_of": [{"anyOf": [TEXT, NOTHING]}, NUMBER]}),
        ({"anyOf": [TEXT, NUMBER, NOTHING]}, {"anyOf": [TEXT, {**NUMBER, "nullable": True}]}),
        (POINT, {**POINT, "required": ["y", "x"], "minProperties": 0}),
    ],
    ids=str,
)
def test_other_words_for_the_same_lose_nothing(wanted: dict[str, Any], got: dict[str, Any]) -> None:
    assert losses(tool(wanted), tool(got)) == []


@pytest.mark.parametrize(
    ("wanted", "got", "lost"),
    [
        (NUMBER, {**NUMBER, "type": "string"}, "types of $.value"),
        (NUMBER, {**NUMBER, "description": "How many."}, "words of $.value"),
        ({"anyOf": [TEXT, NOTHING]}, TEXT, "types of $.value"),
        (POINT, {**POINT, "required": ["x", "y", "label"]}, "required of $.value"),
        (POINT, {**POINT, "properties": {"x": TEXT, "y": {"type": "number"}}}, "$.value.label is lost"),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, "choices of $.value"),
        ({"type": "array", "items": TEXT}, {"type": "array"}, "$.value[*] is lost"),
        (UNION, TEXT, "$.value|1 is lost"),
    ],
    ids=str,
)
def test_losses_are_named(wanted: dict[str, Any], got: dict[str, Any], lost: str) -> None:
    assert lost in losses(tool(wanted), tool(got))


def test_schema_that_is_left_out_is_that_of_a_tool_without_parameters() -> None:
    assert losses({"type": "object", "properties": {}}, None) == []
    assert "$.value is lost" in losses(tool(TEXT), None)


def test_lost_limits_are_named() -> None:
    assert lost_limits(tool(NUMBER), tool({"type": "integer"})) == {"minimum"}
    assert lost_limits(tool(NUMBER), tool({**NUMBER, "minimum": 2})) == set()


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("parameters", {"type": "array"}),
        ("parameters of Vertex", {"anyOf": [TEXT, NOTHING]}),
        ("parametersJsonSchema", {"$ref": "#/$defs/A"}),
    ],
)
def test_keywords_that_gemini_refuses_in_a_field_are_named(field: str, refused: dict[str, Any]) -> None:
    assert refusals(tool(refused), field) != []
    assert refusals(tool(NUMBER), field) == []


def test_unknown_keyword_is_refused_by_the_message() -> None:
    assert any("has no field named" in each for each in refusals(tool({**TEXT, "uniqueItems": True}), "parameters"))
