"""The judge of converted schemas: it finds every fault it is for, and none where there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.schemas.corpus import Torture, corpus, is_hard, torture
from bench.schemas.judging import Original, judge, problems_of, property_paths
from bench.schemas.measuring import OURS, measure_converting
from bench.schemas.pydantic_models import rows
from bench.schemas.reading import meaning, reading, validator
from bench.schemas.sampling import Acceptance, UnsampleableError

TEXT = {"type": "string"}
SOURCE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 2},
        "mode": {"type": "string", "enum": ["r", "w"]},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "inner": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    },
    "required": ["path"],
}
CONVERTED = {
    "type": "OBJECT",
    "properties": {
        "path": {"type": "STRING", "minLength": 2},
        "mode": {"type": "STRING", "enum": ["r", "w"]},
        "limit": {"type": "INTEGER", "minimum": 1},
        "inner": {"type": "OBJECT", "properties": {"deep": {"type": "BOOLEAN"}}},
    },
    "required": ["path"],
}


def tool(part: Any) -> dict[str, Any]:
    return {"type": "OBJECT", "properties": {"x": part}}


def changed(**properties: Any) -> dict[str, Any]:
    """Give the converted schema with some properties in another way."""
    return CONVERTED | {"properties": {**CONVERTED["properties"], **properties}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        pytest.param(tool({"type": "STRING", "const": "a"}), 'no field named "const"', id="unknown-keyword"),
        pytest.param(tool({"type": ["STRING", "NULL"]}), "type field", id="type-array"),
        pytest.param(tool({"type": "STRING", "enum": ["a", 1]}), "enum field", id="enum-of-a-number"),
        pytest.param(tool({"type": "STRING", "maxLength": 2**70}), "out of range", id="beyond-int64"),
        pytest.param(tool({"type": "ARRAY"}), "items: missing field", id="no-items"),
        pytest.param(tool({"type": "ARRAY", "items": {}}), "items: missing field", id="empty-items"),
        pytest.param(
            tool({"type": "OBJECT", "items": {"type": "STRING"}}), "$type == Type.ARRAY", id="items-elsewhere"
        ),
        pytest.param(tool({"type": "STRING", "required": ["a"]}), "only allowed for OBJECT", id="required-elsewhere"),
        pytest.param(tool({"type": "OBJECT", "required": ["a"]}), "`a` is not defined", id="undeclared"),
        pytest.param(tool({"description": "x"}), "type: must be specified", id="no-type"),
        pytest.param(tool({"nullable": True}), "type: must be specified", id="null-alone"),
        pytest.param(tool({"type": "TYPE_UNSPECIFIED"}), "type: must be specified", id="unspecified"),
        pytest.param(tool({"type": "INTEGER", "enum": ["1"]}), "only allowed for STRING", id="enum-elsewhere"),
        pytest.param(tool({"type": "STRING", "enum": ["a", ""]}), "cannot be empty", id="empty-member"),
        pytest.param(tool({"type": "OBJECT", "properties": {"y": {"type": "ARRAY"}}}), "/properties/y", id="deep"),
        pytest.param({"type": "STRING"}, "not an OBJECT", id="root"),
        pytest.param([], "not an object", id="no-schema"),
    ],
)
def test_what_gemini_refuses_is_found(schema: Any, problem: str) -> None:
    assert any(problem in each for each in problems_of(schema, "gemini-parameters"))
    assert list(problems_of(schema, "gemini-vertex"))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        pytest.param(tool({"type": "NULL"}), "NULL is not in the message", id="null"),
        pytest.param(tool({"description": "x", "anyOf": [{"type": "STRING"}]}), "only field", id="beside-any-of"),
        pytest.param({"type": "OBJECT", "properties": {"a-b": {"type": "STRING"}}}, "`a-b` is no name", id="name"),
    ],
)
def test_vertex_refuses_more(schema: Any, problem: str) -> None:
    assert not list(problems_of(schema, "gemini-parameters"))
    assert any(problem in each for each in problems_of(schema, "gemini-vertex"))


def test_vertex_takes_what_only_its_message_has() -> None:
    schema = tool({"type": "OBJECT", "additionalProperties": {"type": "STRING"}})

    assert not list(problems_of(schema, "gemini-vertex"))
    assert list(problems_of(schema, "gemini-parameters"))


def test_the_rest_interface_reads_types_in_either_case() -> None:
    assert not list(problems_of({"type": "object", "properties": {"x": {"type": "string"}}}, "gemini-parameters"))


@pytest.mark.parametrize(
    ("dialect", "schema", "problem"),
    [
        ("mcp", {"properties": {}}, "type must be object"),
        ("mcp", {"type": "object", "properties": {"x": {"type": "STRING"}}}, "not valid JSON Schema"),
        ("mcp", {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}, "undefined schema #/$defs/X"),
        ("mcp", {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "not draft 2020-12"),
        ("mcp", {"type": "object", "properties": {"x": {"exclusiveMinimum": True}}}, "not valid JSON Schema"),
        ("gemini-json", {"type": "object", "properties": {"x": {"$ref": "#", "type": "object"}}}, "alongside"),
        ("openai", {"type": "object", "properties": {}, "anyOf": [{}]}, "must not have anyOf"),
        ("openai", {"type": "object"}, "missing properties"),
        ("openai", {"type": "object", "properties": {"x": {"type": "array"}}}, "missing items"),
        ("openai-strict", {"type": "object", "properties": {}}, "additionalProperties must be false"),
        ("openai-strict", {"type": "object", "properties": {"x": TEXT}}, "every property"),
        ("openai-strict", {"type": "object", "properties": {"x": {"allOf": [TEXT]}}}, "allOf is not permitted"),
        ("anthropic", {"type": "object", "oneOf": [{}]}, "oneOf is not supported"),
        ("anthropic", {"type": "object", "properties": {"a b": TEXT}}, "property key `a b`"),
    ],
)  # fmt: skip
def test_what_others_refuse_is_found(dialect: str, schema: Any, problem: str) -> None:
    assert any(problem in each for each in problems_of(schema, dialect))


@pytest.mark.parametrize("dialect", ["mcp", "openai", "anthropic"])
def test_plain_json_schema_is_taken_by_all_who_read_it(dialect: str) -> None:
    verdict = judge(SOURCE, SOURCE, dialect)

    assert verdict.good
    assert verdict.answer == 1
    assert verdict.tight == 1


def test_a_dialect_that_nobody_speaks_is_an_error() -> None:
    with pytest.raises(ValueError, match="klingon"):
        list(problems_of(SOURCE, "klingon"))


def test_a_faithful_conversion_is_good() -> None:
    verdict = judge(SOURCE, CONVERTED, "gemini-parameters")

    assert verdict.good
    assert verdict.tight == 1
    assert verdict.answer == 1


def test_a_lost_property_is_named_with_its_place() -> None:
    converted = changed(inner={"type": "OBJECT"})

    assert judge(SOURCE, converted, "gemini-parameters").lost == (".inner.deep",)


def test_a_value_that_is_no_longer_taken_is_shown() -> None:
    verdict = judge(SOURCE, changed(mode={"type": "STRING", "enum": ["r"]}), "gemini-parameters")

    assert not verdict.kept
    assert verdict.refused
    assert all(value["mode"] == "w" for value in verdict.refused)


def test_a_limit_that_is_gone_lets_values_in() -> None:
    verdict = judge(SOURCE, changed(mode={"type": "STRING"}), "gemini-parameters")

    assert verdict.kept
    assert verdict.tight is not None
    assert verdict.tight < 1
    assert all(near.path == ("mode",) for near in verdict.let_in if near.step != "unknown")
    assert verdict.answer == 0 or (verdict.answer or 0) < 1


def test_a_null_of_an_optional_argument_may_be_refused_and_one_of_a_required_argument_may_not() -> None:
    required = SOURCE | {"required": ["path", "limit"]}

    assert judge(SOURCE, CONVERTED, "gemini-parameters").kept
    assert not judge(required, CONVERTED | {"required": ["path", "limit"]}, "gemini-parameters").kept


def test_nullable_is_read_as_a_null_that_is_taken() -> None:
    required = SOURCE | {"required": ["path", "limit"]}
    nullable = changed(limit={"type": "INTEGER", "minimum": 1, "nullable": True}) | {"required": ["path", "limit"]}

    assert judge(required, nullable, "gemini-parameters").good


def test_a_zero_that_the_message_cannot_hold_is_read_as_nothing() -> None:
    none = {"type": "object", "properties": {"x": {"type": "array", "items": TEXT, "maxItems": 0}}}
    zero = tool({"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": 0})
    least = {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"]}
    also = tool({"type": "NUMBER", "minimum": 0}) | {"required": ["x"]}

    assert judge(none, zero, "gemini-parameters").tight != 1
    assert judge(least, also, "gemini-parameters").tight == 1
    assert judge(least, also, "gemini-vertex").tight != 1


def test_gemini_reads_a_part_of_json_schema() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^a$", "enum": ["a", "b"]}}}

    assert reading(schema, "gemini-json")["properties"]["x"] == {"type": "string", "enum": ["a", "b"]}


def test_one_of_is_read_as_any_of_by_gemini() -> None:
    part = {"oneOf": [{"type": "string"}], "anyOf": [{"minLength": 1}]}

    assert reading(part, "gemini-json") == {"allOf": [{"anyOf": [{}]}, {"anyOf": [{"type": "string"}]}]}


def test_a_strict_schema_asks_for_null_where_an_argument_is_left_out() -> None:
    strict = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["path", "limit"],
        "additionalProperties": False,
    }
    source = {"type": "object", "properties": {"path": TEXT, "limit": {"type": "integer"}}, "required": ["path"]}
    verdict = judge(source, strict, "openai-strict")

    assert verdict.good
    assert verdict.tight == 1


def test_a_renamed_property_is_known_by_its_old_name() -> None:
    source = {"type": "object", "properties": {"$top": {"type": "integer"}}, "required": ["$top"]}
    converted = {"type": "OBJECT", "properties": {"top": {"type": "INTEGER"}}, "required": ["top"]}

    assert judge(source, converted, "gemini-vertex", renamed={"top": "$top"}).good
    assert not judge(source, converted, "gemini-vertex").kept


def test_what_an_author_meant_is_read_from_older_dialects() -> None:
    old = {
        "id": "https://example.com/x",
        "type": "OBJECT",
        "properties": {
            "id": {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "nullable": True},
            "pair": {"items": [{"type": "string"}], "additionalItems": False},
            "bad": {"type": "string", "enum": None, "minLength": "3", "items": 7, "required": True},
        },
        "dependencies": {"pair": ["id"]},
        "default": {"type": "STRING", "nullable": True},
    }

    assert meaning(old) == {
        "type": "object",
        "properties": {
            "id": {"anyOf": [{"type": "integer", "exclusiveMinimum": 1}, {"type": "null"}]},
            "pair": {"prefixItems": [{"type": "string"}], "items": False},
            "bad": {"type": "string"},
        },
        "default": {"type": "STRING", "nullable": True},
        "dependentRequired": {"pair": ["id"]},
    }


def test_property_paths_follow_references_once_and_leave_out_what_cannot_be_there() -> None:
    schema = {
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/T"},
            "never": False,
            "gone": {"not": {}},
            "map": {"type": "object", "additionalProperties": {"properties": {"free": TEXT}}},
            "text": {"type": "string", "properties": {"beside": TEXT}},
        },
        "then": {"properties": {"also": TEXT}},
        "$defs": {"T": {"properties": {"name": TEXT, "kids": {"items": {"$ref": "#/$defs/T"}}}}},
    }

    assert set(property_paths(schema)) == {".tree", ".tree.name", ".tree.kids", ".map", ".text", ".also"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}, id="dangling"),
        pytest.param({"anyOf": [{"$ref": "#"}, {"type": "object"}]}, id="in-a-circle"),
    ],
)
def test_an_original_that_nobody_can_use_is_said_to_be_one(schema: Any) -> None:
    with pytest.raises(UnsampleableError):
        judge(schema, CONVERTED, "gemini-parameters")


def test_a_conversion_that_no_validator_can_use_is_no_good() -> None:
    verdict = judge(SOURCE, changed(path={"type": "STRING", "pattern": "("}), "gemini-parameters")

    assert not verdict.accepted
    assert not verdict.kept
    assert verdict.tight is None


# The corpus.


def test_the_corpus_is_large_varied_and_well_named() -> None:
    read = corpus()

    assert len(read) >= 150
    assert len({row.name for row in read}) == len(read)
    assert {row.style for row in read} >= {"by hand", "go", "openapi", "pydantic", "zod"}
    assert 0.3 < sum(row.hard for row in read) / len(read) < 0.8


def test_every_schema_of_the_corpus_can_be_used() -> None:
    for row in corpus():
        original = Original.of(row.schema)
        assert original.valid, row.name


def test_what_the_corpus_has_of_pydantic_is_what_the_models_are_called() -> None:
    written = [row.name for row in corpus() if "pydantic" in row.style]

    assert written == [row["name"] for row in rows()]


def test_another_file_of_schemas_can_take_its_place(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"schema": {"type": "object", "properties": {}}}\n{"schema": {}, "name": "b"}\n', encoding="utf-8")

    assert [(row.name, row.style, row.hard) for row in corpus(path)] == [("0", "other", False), ("b", "other", True)]


@pytest.mark.parametrize(
    ("part", "hard"),
    [
        ({"type": "string", "description": "x", "default": None}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, False),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, True),
        ({"type": "array"}, True),
        ({"type": "integer", "enum": [1]}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, True),
        ({"type": ["string", "null"]}, True),
        ({"type": "STRING"}, True),
        ({"$ref": "#"}, True),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, True),
        ({}, True),
    ],
)
def test_hard_is_what_takes_more_than_copying(part: Any, hard: bool) -> None:
    assert is_hard({"type": "object", "properties": {"x": part}}) is hard


def test_the_small_cases_cover_every_pattern_and_group() -> None:
    groups = {case.id.partition("-")[0] for case in torture()}

    assert groups == {f"P{number:02}" for number in range(1, 23)} | {f"X{number:02}" for number in range(1, 10)}
    assert len({case.id for case in torture()}) == len(torture()) >= 225


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in torture() if not case.unusable])
def test_the_values_of_a_small_case_are_what_it_says_they_are(case: Torture) -> None:
    acceptance = Acceptance(meaning(case.schema))

    assert [value for value in case.valid if not acceptance.takes(value)] == []
    assert [value for value in (*case.refused, *case.loose) if acceptance.takes(value)] == []
    assert case.valid


# The comparison.


def few() -> Iterator[Any]:
    wanted = {"KeywordNames", "get_weather", "DrawShape"}
    yield from (row for row in corpus() if row.name in wanted)


def test_converters_are_compared_on_the_same_schemas_and_those_that_are_not_there_are_named() -> None:
    found = measure_converting(tuple(few()), sys.executable)
    scores = {score.label: score for score in found.scores()}

    assert len(found.rows) == 3
    assert found.hard == 1
    assert scores[OURS].good == 1
    assert scores[OURS].findings is not None
    assert scores["nothing"].accepted == pytest.approx(1 / 3)
    assert scores["nothing"].kept == 1
    assert scores["the way of fs-mcp"].kept < 1
    assert all(score.microseconds > 0 for score in scores.values() if score.failed < 1)
    assert found.surviving(advertised=True) >= found.surviving(advertised=False)
    assert not {*found.missing} & scores.keys()


def test_a_schema_that_nobody_can_use_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"schema": {"$ref": "#/nowhere"}}\n{"schema": {"type": "object"}}\n', encoding="utf-8")
    found = measure_converting(corpus(path), sys.executable)

    assert (len(found.rows), found.unusable) == (1, 1)


def test_a_reading_is_a_schema_that_a_validator_takes() -> None:
    read = reading(CONVERTED, "gemini-parameters")

    validator(read).check_schema(read)
    assert validator(read).is_valid({"path": "ab", "mode": "r"})
    assert not validator(read).is_valid({"path": "a"})
