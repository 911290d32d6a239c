"""A schema that is accepted without jsonschema is also valid for jsonschema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, SchemaError

from toolmason.render.plain_schemas import is_plain_schema

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        1,
        -1,
        1.5,
        2.0,
        "",
        "text",
        "string",
        "^a(b",
        "^[a-z]+$",
        "#/$defs/Note",
        "#/$defs/a b",
        "other.json",
    ),
    *(
        [],
        ["a"],
        ["a", "a"],
        ["string", "null"],
        [1],
        {},
        {"a": {}},
        {"a": []},
        {"a": ["b"]},
        {"^a(": {}},
        [{}],
        [True],
    ),
    *("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"),
)
KEYWORDS = (
    *("$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "default", "definitions"),
    *("dependencies", "dependentSchemas", "deprecated", "description", "else", "enum", "examples", "format", "if"),
    *("items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf"),
    *(
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
        "then",
        "title",
        "type",
    ),
    *("uniqueItems", "x-own", "$anchor", "exclusiveMinimum", "contains"),
)


def is_valid(schema: Any) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
        Draft7Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_each_accepted_value_of_a_keyword_is_valid(keyword: str) -> None:
    assert [value for value in VALUES if is_plain_schema({keyword: value}) and not is_valid({keyword: value})] == []


@settings(deadline=None, max_examples=300)
@given(
    schema=st.recursive(
        st.sampled_from(VALUES),
        lambda inner: st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
        max_leaves=8,
    )
)
def test_each_accepted_schema_is_valid(schema: Any) -> None:
    assert not is_plain_schema(schema) or is_valid(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "maxLength": 9}}, "required": ["a"]},
        {"$defs": {"Note": {"enum": ["a", 1]}}, "items": {"$ref": "#/$defs/Note"}, "minItems": 1, "uniqueItems": True},
        {"additionalProperties": False, "pattern": "^a+$", "description": "Text", "default": None},
    ],
)
def test_usual_schemas_do_not_need_jsonschema(schema: dict[str, Any]) -> None:
    assert is_plain_schema(schema)


def test_the_schema_of_manifests_does_not_need_jsonschema() -> None:
    path = Path(__file__).parents[3] / "generated" / "schemas" / "manifest.schema.json"
    assert is_plain_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "schema", [{"type": "text"}, {"minLength": "1"}, {"properties": {"a": 1}}, {"pattern": "("}, 1]
)
def test_an_invalid_schema_is_left_to_jsonschema(schema: Any) -> None:
    assert not is_plain_schema(schema)
