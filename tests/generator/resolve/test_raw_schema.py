"""A schema given whole: it stays as it is, and what cannot be served is refused with a hint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolmason.resolve.raw_schema import read_raw_schema
from toolmason.resolve.raw_schema_error import RawSchemaError

HERE = Path()


def read(properties: dict[str, Any], **others: Any) -> Any:
    return read_raw_schema({"type": "object", "properties": properties, **others}, HERE)["properties"]


def refusal(schema: Any) -> str:
    with pytest.raises(RawSchemaError) as caught:
        read_raw_schema(schema, HERE)
    return f"{caught.value} | {caught.value.hint}"


def test_schema_stays_as_it_was_written_with_its_references() -> None:
    definitions = {"a/b ~": {"type": "string"}, "named": {"$anchor": "here", "type": "integer"}, "never": False}
    properties = {
        "a": {"$ref": "#/$defs/a~1b%20~0"},
        "b": {"$ref": "#here", "description": "It"},
        "c": {"$ref": "#/properties/d/anyOf/0"},
        "d": {"anyOf": [{"type": "string"}, True]},
        "e": {"$ref": "#/$defs/never"},
        "f": {"$ref": "#"},
    }
    assert read(properties, **{"$defs": definitions}) == properties


@pytest.mark.parametrize("keyword", ["default", "const"])
def test_reference_in_data_is_data(keyword: str) -> None:
    value = {"$ref": "https://example.org/x", "$id": "y", "$dynamicRef": "z"}
    assert read({"a": {keyword: value}}) == {"a": {keyword: value}}
    assert read({"a": {"enum": [value], "examples": [value]}}) == {"a": {"enum": [value], "examples": [value]}}


def test_property_may_have_the_name_of_a_keyword() -> None:
    properties = {"$ref": {"type": "string"}, "$defs": {"type": "string"}, "$id": {"type": "string"}}
    assert read(properties) == properties


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"maximum": float("inf")}, "the number inf"),
        ({"maximum": json.loads("1e999")}, "the number inf"),
        ({"description": "\ud800"}, "`\\ud800`"),
        ({"default": {"\udfff": 1}}, "`\\udfff`"),
        ({"$dynamicRef": "#a"}, "uses `$dynamicRef` | use `$ref`"),
        ({"$dynamicAnchor": "a"}, "uses `$dynamicAnchor` | use `$ref`"),
        ({"$recursiveRef": "#"}, "uses `$recursiveRef` | use `$ref`"),
        ({"$id": "other", "type": "string"}, "`$id` is `other` below its root | remove `$id`"),
        ({"$ref": "other.json#/a"}, "refers to another document: `other.json#/a` | copy it"),
        ({"$ref": "#/$defs/none"}, "has no target: `#/$defs/none` | write the path"),
        ({"$ref": "#nobody"}, "has no target: `#nobody` | write the path"),
        ({"$ref": "#/required/0"}, "has no target"),
        ({"$ref": "#/required/9"}, "has no target"),
        ({"$ref": "#/x-note"}, "has no target"),
    ],
)
def test_schema_that_cannot_be_served_is_refused(part: Any, said: str) -> None:
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"], "x-note": {"type": "nothing"}}
    assert said in refusal(schema)


def test_reference_to_a_value_that_is_not_a_schema_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"$ref": "#/properties"}}}}
    assert "has no target" in refusal(schema)


@pytest.mark.parametrize("name", ["a\0b", "../outside.json", "missing.json", "x" * 5000])
def test_file_that_cannot_be_read_is_refused(name: str) -> None:
    assert name in refusal(name)


@pytest.mark.parametrize("text", ["{", "\ufeff{}", "[" * 100_000, '{"type": "object", "minProperties": 1e999}'])
def test_file_that_is_not_a_valid_schema_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(RawSchemaError):
        read_raw_schema("a.json", tmp_path)


def write_schemas(root: Path, **files: Any) -> None:
    (root / "shared").mkdir()
    for name, schema in files.items():
        path = root / ("tool.json" if name == "tool" else f"shared/{name}.json")
        path.write_text(json.dumps(schema), encoding="utf-8")


def test_schemas_of_other_files_are_dereferenced(tmp_path: Path) -> None:
    size = {"$defs": {"size": {"type": "integer"}}}
    item = {"type": "object", "properties": {"size": {"$ref": "size.json#/$defs/size", "description": "In bytes."}}}
    tool = {"type": "object", "properties": {"item": {"$ref": "shared/item.json"}}}
    write_schemas(tmp_path, tool=tool, item=item, size=size)

    sizes = {"size": {"type": "integer", "description": "In bytes."}}
    assert read_raw_schema("tool.json", tmp_path)["properties"] == {"item": {"type": "object", "properties": sizes}}


def test_references_inside_a_file_stay_as_written(tmp_path: Path) -> None:
    tool = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}
    write_schemas(tmp_path, tool=tool)
    assert read_raw_schema("tool.json", tmp_path) == tool


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"$ref": "shared/missing.json"}, "cannot read `shared/missing.json`"),
        ({"$ref": "shared/other.json#/$defs/none"}, "`shared/other.json#/$defs/none` | write the path"),
        ({"$ref": "https://example.org/a.json"}, "another document: `https://example.org/a.json` | copy it"),
        ({"$ref": "//example.org/a.json"}, "another document: `file://example.org/a.json` | copy it"),
        ({"$ref": "shared/other.json", "minLength": 1}, "`minLength` beside `$ref`: `shared/other.json` | write both"),
        ({"anyOf": [{"$ref": "shared/other.json"}, {"const": {"$ref": "x"}}]}, "data with a `$ref`: `x` | copy"),
        ({"$ref": "shared/tree.json"}, "nests more than"),
        ({"$ref": "shared/broken.json"}, "a `$ref` of `tool.json` has no target: `#/$defs/none`"),
        ({"$ref": "shared/a%00b.json"}, "is not a valid file name"),
    ],
)
def test_reference_to_a_file_that_cannot_be_dereferenced_is_refused(part: Any, said: str, tmp_path: Path) -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    tool = {"type": "object", "properties": {"a": part}}
    write_schemas(tmp_path, tool=tool, other={"type": "string"}, tree=tree, broken={"$ref": "#/$defs/none"})

    with pytest.raises(RawSchemaError) as caught:
        read_raw_schema("tool.json", tmp_path)

    assert said in f"{caught.value} | {caught.value.hint}"
