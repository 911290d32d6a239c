"""The sampler that the schema library is tested with: what it draws is right, plentiful, and the same every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.schemas.corpus import corpus
from bench.schemas.reading import meaning, validator
from bench.schemas.sampling import UnsampleableError, near_valid_instances, valid_instances
from jsonschema import Draft7Validator, Draft202012Validator

ROOT = Path(__file__).parents[2]
TREE = {
    "$ref": "#/$defs/Tree",
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
            "required": ["name", "kids"],
        }
    },
}
ARGUMENTS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["path"],
    "additionalProperties": False,
}
PART_OF_ALL = """
import json, sys
from bench.schemas.corpus import corpus
from bench.schemas.sampling import near_valid_instances, valid_instances
for row in corpus()[::7]:
    valid = valid_instances(row.schema, count=5, seed=3)
    print(json.dumps([valid, [each.instance for each in near_valid_instances(row.schema, count=5, valid=valid)]]))
"""


def drawn(schema: Any, count: int = 40) -> list[Any]:
    return valid_instances(schema, count=count, seed=1)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.name) for row in corpus() if row.style.startswith("pydantic")]
)
def test_what_is_drawn_from_a_schema_of_pydantic_is_valid_and_what_is_next_to_it_is_not(row: Any) -> None:
    judge = Draft202012Validator(row.schema)
    valid = valid_instances(row.schema, count=10)

    assert valid
    for value in valid:
        judge.validate(value)
    for near in near_valid_instances(row.schema, count=10, valid=valid):
        assert not judge.is_valid(near.instance)


def test_a_schema_of_draft_07_is_drawn_from_as_that_draft_has_it() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "minItems": 2}},
        "required": ["pair"],
        "dependencies": {"x": ["pair"]},
    }

    for value in drawn(schema):
        Draft7Validator(schema).validate(value)
        assert isinstance(value["pair"][1], int)


def test_every_schema_of_the_corpus_gives_values_and_all_with_arguments_give_wrong_ones() -> None:
    for row in corpus():
        valid = valid_instances(row.schema, count=4)
        assert valid, row.name
        if any(isinstance(value, dict) and value for value in valid) and "properties" in row.schema:
            assert near_valid_instances(row.schema, count=4, valid=valid) or row.name == "zod_any", row.name


def test_the_first_value_has_all_that_is_optional_and_the_second_none_of_it() -> None:
    full, least = valid_instances(ARGUMENTS, count=2)

    assert full.keys() == ARGUMENTS["properties"].keys()  # type: ignore[attr-defined]
    assert full["tags"]
    assert least.keys() == {"path"}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        pytest.param({"enum": ["a", 1, None]}, ["a", 1, None], id="enum"),
        pytest.param({"const": {"a": [1]}}, [{"a": [1]}], id="const"),
        pytest.param({"type": ["string", "null"], "enum": ["a", None, 3]}, ["a", None], id="enum-and-type"),
        pytest.param({"type": "boolean"}, [True, False], id="boolean"),
        pytest.param({"type": "integer", "exclusiveMinimum": 2, "maximum": 4}, [3, 4], id="bounds"),
        pytest.param({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 4}, [4, 8], id="multiple"),
        pytest.param({"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}, [1], id="draft-04"),
        pytest.param({"type": "STRING", "enum": ["a"], "nullable": True}, ["a", None], id="gemini"),
        pytest.param({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}, {"not": {"const": 3}}]}, [2], id="all-of"),
        pytest.param({"oneOf": [{"const": "a"}, {"const": 1}]}, ["a", 1], id="one-of"),
        pytest.param(
            {"type": "array", "prefixItems": [{"const": 1}], "items": False, "minItems": 1}, [[1]], id="tuple"
        ),
        pytest.param({"type": "array", "items": {"const": 0}, "contains": {"type": "integer"}, "maxItems": 1}, [[0]]),
        pytest.param({"type": "string", "pattern": "^(ab|c{2})$"}, ["ab", "cc"], id="pattern"),
        pytest.param({"type": "string", "pattern": "^[^a-zA-Z0-9 ./:@!_]$"}, ["-"], id="negated-set"),
        pytest.param({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "const": 5}}}, [5], id="anchor"),
        pytest.param({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"const": 5}}}, [5], id="escapes"),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"const": 1}},
                "if": {"required": ["a"]},
                "then": {"required": ["b"]},
            },
            [{}],
            id="if",
        ),
    ],
)
def test_every_value_of_a_small_schema_is_found(schema: Any, wanted: list[Any]) -> None:
    found = drawn(schema)

    assert all(value in found for value in wanted)
    assert all(validator(meaning(schema)).is_valid(value) for value in found)


def test_what_depends_on_an_argument_is_drawn_with_it() -> None:
    schema = {
        "type": "object",
        "properties": {"card": {"type": "string"}, "address": {"type": "string"}},
        "dependentRequired": {"card": ["address"]},
        "dependentSchemas": {"card": {"properties": {"code": {"type": "integer"}}, "required": ["code"]}},
    }

    assert any(value.keys() == {"card", "address", "code"} for value in drawn(schema))


def test_a_map_is_drawn_with_names_that_fit() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^x-[a-z]+$": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 1,
    }
    named = {"type": "object", "propertyNames": {"enum": ["red"]}, "additionalProperties": {"const": 1}}

    assert all(name.startswith("x-") for value in drawn(schema) for name in value)
    assert {"red": 1} in drawn(named)


def test_a_schema_that_holds_itself_gives_values_of_several_depths() -> None:
    def depth(tree: Any) -> int:
        return 1 + max(map(depth, tree["kids"]), default=0)

    assert len({depth(value) for value in drawn(TREE)}) >= 3


def test_a_schema_that_takes_nothing_gives_nothing() -> None:
    assert drawn({"type": "string", "minLength": 3, "maxLength": 2}) == []
    assert drawn({"type": "object", "properties": {"a": False}, "required": ["a"]}) == []
    assert drawn({"allOf": [{"type": "string"}, {"type": "integer"}]}) == []


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}, id="pattern"),
        pytest.param({"allOf": [{"type": "object"}, {"$ref": "https://example.com/other"}]}, id="network"),
    ],
)
def test_a_schema_that_no_validator_can_use_is_said_to_be_one(schema: Any) -> None:
    with pytest.raises(UnsampleableError):
        list(near_valid_instances(schema, count=4, valid=[{"x": "text"}]))


def test_values_next_to_valid_ones_differ_in_one_step_of_each_kind() -> None:
    near = near_valid_instances(ARGUMENTS, count=30)

    assert {each.step for each in near} == {"type", "missing", "null", "unknown", "value"}
    assert {each.path for each in near if each.step == "missing"} == {("path",)}
    assert {each.path for each in near if each.step == "null"} <= {("path",), ("tags", 0), ("tags", 1), ("tags", 2)}


def test_the_values_on_the_wrong_side_of_a_limit_are_among_them() -> None:
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 50}},
        "required": ["limit"],
    }
    near = near_valid_instances(schema, count=80)

    assert {0, 51} <= {each.instance.get("limit") for each in near if each.step == "value"}


def test_a_null_for_an_optional_argument_is_no_step() -> None:
    near = near_valid_instances(ARGUMENTS, count=99)

    assert not any(each.path == ("limit",) and each.step == "null" for each in near)


def test_a_seed_gives_the_same_values_and_another_gives_others() -> None:
    assert valid_instances(TREE, count=9, seed=4) == valid_instances(TREE, count=9, seed=4)
    assert valid_instances(TREE, count=9, seed=4) != valid_instances(TREE, count=9, seed=5)
    assert near_valid_instances(TREE, count=9, seed=4) == near_valid_instances(TREE, count=9, seed=4)


def test_the_draws_do_not_depend_on_the_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", PART_OF_ALL],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    [one] = said
    assert json.loads(one.splitlines()[0])


def test_drawing_leaves_the_schema_as_it_is() -> None:
    before = json.dumps(ARGUMENTS)
    near_valid_instances(ARGUMENTS, count=5)

    assert json.dumps(ARGUMENTS) == before
