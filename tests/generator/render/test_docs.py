"""A schema as a table: every property is found, also inside arrays, maps and objects."""

from __future__ import annotations

from typing import Any

from toolmason.render.docs import MAX_DEPTH, rows


def test_properties_inside_arrays_maps_and_objects_follow_theirs() -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    schema = {
        "type": "object",
        "properties": {
            "one": point,
            "many": {"type": "array", "items": {"type": "array", "items": point}},
            "named": {"type": "object", "additionalProperties": point},
        },
        "required": ["many"],
    }
    assert [(row.path, row.type, row.required) for row in rows(schema)] == [
        ("one", "object", False),
        ("one.x", "integer", True),
        ("many", "array of array of object", True),
        ("many[][].x", "integer", True),
        ("named", "object of object", False),
        ("named.*.x", "integer", True),
    ]


def test_choices_defaults_and_meanings_are_shown() -> None:
    schema = {"properties": {"order": {"enum": ["a", 1, None], "default": "a", "description": "What comes first"}}}
    (row,) = rows(schema)
    assert (row.type, row.default, row.meaning) == ('"a" or 1 or null', '"a"', "What comes first")


def test_nullable_and_unrestricted_types_are_shown() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}, "b": {}, "c": True}}
    assert [(row.path, row.type) for row in rows(schema)] == [("a", "string or null"), ("b", "any"), ("c", "any")]


def test_property_that_nothing_fits_is_left_out() -> None:
    assert rows({"properties": {"a": False}}) == ()


def test_rows_deeper_than_the_limit_are_omitted() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(MAX_DEPTH + 2):
        schema = {"type": "object", "properties": {"inner": schema}}
    assert [row.path for row in rows(schema)] == ["inner", "inner.inner", "inner.inner.inner"]
