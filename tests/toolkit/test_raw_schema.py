"""A schema given whole: references are written out, and what cannot be served is refused with a hint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolwright.raw_schema import RawSchemaError, read_raw_schema

HERE = Path()


def read(properties: dict[str, Any], **others: Any) -> Any:
    return read_raw_schema({"type": "object", "properties": properties, **others}, HERE)["properties"]


def refusal(schema: Any, *, verbatim: bool = False) -> str:
    with pytest.raises(RawSchemaError) as caught:
        read_raw_schema(schema, HERE, verbatim=verbatim)
    return f"{caught.value} | {caught.value.hint}"


def test_references_by_path_and_by_anchor_are_written_out() -> None:
    definitions = {"a/b ~": {"type": "string"}, "named": {"$anchor": "here", "type": "integer"}}
    properties = {"a": {"$ref": "#/$defs/a~1b%20~0"}, "b": {"$ref": "#here"}, "c": {"$ref": "#/properties/b"}}
    assert read(properties, **{"$defs": definitions}) == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "integer"},
    }


def test_first_item_of_a_list_can_be_referred_to() -> None:
    parts = {"a": {"anyOf": [{"type": "string"}]}, "b": {"$ref": "#/properties/a/anyOf/0"}}
    assert read(parts)["b"] == {"type": "string"}


def test_boolean_schemas_stay_and_can_be_referred_to() -> None:
    properties = {"a": True, "b": {"$ref": "#/$defs/any"}, "c": {"$ref": "#/$defs/none", "title": "Never"}}
    assert read(properties, **{"$defs": {"any": True, "none": False}}) == {
        "a": True,
        "b": True,
        "c": {"title": "Never", "not": {}},
    }


@pytest.mark.parametrize("keyword", ["default", "const"])
def test_reference_in_data_is_data(keyword: str) -> None:
    value = {"$ref": "https://example.org/x", "$id": "y", "$dynamicRef": "z"}
    assert read({"a": {keyword: value}}) == {"a": {keyword: value}}
    assert read({"a": {"enum": [value], "examples": [value]}}) == {"a": {"enum": [value], "examples": [value]}}


def test_property_may_have_the_name_of_a_keyword() -> None:
    properties = {"$ref": {"type": "string"}, "$defs": {"type": "string"}, "$id": {"type": "string"}}
    assert read(properties) == properties


def test_texts_beside_a_reference_override_and_rules_are_added() -> None:
    target = {"type": "object", "description": "Theirs", "properties": {"a": {"type": "string"}}}
    beside = {"required": ["b"], "properties": {"b": {"type": "string"}}}
    properties = {
        "text": {"$ref": "#/$defs/A", "description": "Ours", "type": "object"},
        "rules": {"$ref": "#/$defs/A", **beside, "allOf": [{"minProperties": 1}]},
    }
    assert read(properties, **{"$defs": {"A": target}}) == {
        "text": {**target, "description": "Ours"},
        "rules": {**beside, "allOf": [target, {"minProperties": 1}]},
    }


def test_root_that_is_a_reference_keeps_its_type() -> None:
    target = {"properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": target}}
    assert read_raw_schema(schema, HERE) == {"type": "object", "allOf": [target]}


def test_what_only_serves_references_goes_at_every_level() -> None:
    inner = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": {}}, "definitions": {}}
    assert read({"a": {"type": "object", **inner}}, **inner, **{"$id": "root"}) == {"a": {"type": "object"}}


RULES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "string"]),
        "required": st.lists(st.sampled_from("abc"), unique=True),
        "properties": st.dictionaries(st.sampled_from("abc"), st.sampled_from([{"type": "string"}, True, False])),
        "additionalProperties": st.booleans(),
        "unevaluatedProperties": st.booleans(),
        "description": st.just("text"),
    },
)


@given(
    target=RULES,
    beside=RULES,
    data=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", 1])) | st.just("text"),
)
def test_written_out_schema_takes_what_the_one_with_references_takes(
    target: dict[str, Any], beside: dict[str, Any], data: Any
) -> None:
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/A", **beside}}, "$defs": {"A": target}}
    written = read_raw_schema(schema, HERE)
    assert "$ref" not in json.dumps(written)
    given_data = {"p": data}
    assert Draft202012Validator(written).is_valid(given_data) == Draft202012Validator(schema).is_valid(given_data)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"maximum": float("inf")}, "the number inf"),
        ({"maximum": json.loads("1e999")}, "the number inf"),
        ({"description": "\ud800"}, "`\\ud800`, half a character"),
        ({"default": {"\udfff": 1}}, "`\\udfff`, half a character"),
        ({"$dynamicRef": "#a"}, "uses `$dynamicRef` | use `$ref`"),
        ({"$dynamicAnchor": "a"}, "uses `$dynamicAnchor` | use `$ref`"),
        ({"$recursiveRef": "#"}, "uses `$recursiveRef` | use `$ref`"),
        ({"$id": "other", "type": "string"}, "`$id` is `other` below its root | leave `$id` out"),
        ({"$ref": "other.json#/a"}, "refers to another document: `other.json#/a` | copy it"),
        ({"$ref": "#/$defs/none"}, "cannot be followed: `#/$defs/none` | give the path"),
        ({"$ref": "#nobody"}, "cannot be followed: `#nobody` | give the path"),
        ({"$ref": "#/required/0"}, "cannot be followed"),
        ({"$ref": "#/required/9"}, "cannot be followed"),
        ({"$ref": "#/x-note"}, "cannot be followed"),
    ],
)
@pytest.mark.parametrize("verbatim", [False, True])
def test_schema_that_cannot_be_served_is_refused(part: Any, said: str, verbatim: bool) -> None:
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"], "x-note": {"type": "nothing"}}
    assert said in refusal(schema, verbatim=verbatim)


@pytest.mark.parametrize("address", ["#", "#/properties/a", "#/properties"])
def test_schema_that_holds_itself_is_refused_unless_it_is_sent_as_it_is(address: str) -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"$ref": address}}}}
    if address == "#/properties":
        assert "cannot be followed" in refusal(schema)
    else:
        assert "is recursive" in refusal(schema)
        assert read_raw_schema(schema, HERE, verbatim=True) == schema


def test_schema_that_doubles_with_every_reference_is_refused() -> None:
    definitions: dict[str, Any] = {"a0": {"type": "string"}}
    for level in range(1, 30):
        definitions[f"a{level}"] = {"anyOf": [{"$ref": f"#/$defs/a{level - 1}"}] * 2}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a29"}}, "$defs": definitions}
    assert "grows beyond" in refusal(schema)


@pytest.mark.parametrize("name", ["a\0b", "../outside.json", "missing.json", "x" * 5000])
def test_file_that_cannot_be_read_is_refused(name: str) -> None:
    assert name in refusal(name)


@pytest.mark.parametrize("text", ["{", "\ufeff{}", "[" * 100_000, '{"type": "object", "minProperties": 1e999}'])
def test_file_that_is_no_schema_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(RawSchemaError):
        read_raw_schema("a.json", tmp_path)
