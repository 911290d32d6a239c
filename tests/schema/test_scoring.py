"""The corpus, the rules of the providers and the comparison of converters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from bench.schemas.comparison import OURS, compare_converters
from bench.schemas.corpus import Row, is_hard, load_corpus
from bench.schemas.scoring import Original, find_problems, score
from bench.schemas.semantics import Acceptance, UnusableSchemaError, author_semantics, property_paths
from providers import problems_of, score_for, semantics

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
VALID = ({"path": "ab"}, {"path": "ab", "mode": "w"}, {"path": "ab", "limit": None}, {"path": "ab", "limit": 1})
INVALID: tuple[dict[str, Any], ...] = ({}, {"path": "a"}, {"path": "ab", "mode": "x"}, {"path": "ab", "limit": 0})


def original(schema: Any = SOURCE, valid: tuple[Any, ...] = VALID, invalid: tuple[Any, ...] = INVALID) -> Original:
    return Original.of(Row("tool", "test", schema, is_hard=True, valid=valid, invalid=invalid))


def tool(part: Any) -> dict[str, Any]:
    return {"type": "OBJECT", "properties": {"x": part}}


def changed(**properties: Any) -> dict[str, Any]:
    return CONVERTED | {"properties": {**CONVERTED["properties"], **properties}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (tool({"type": "STRING", "const": "a"}), 'no field named "const"'),
        (tool({"type": ["STRING", "NULL"]}), "type field"),
        (tool({"type": "STRING", "enum": ["a", 1]}), "enum field"),
        (tool({"type": "STRING", "maxLength": 2**70}), "out of range"),
        (tool({"type": "ARRAY"}), "items: missing field"),
        (tool({"type": "ARRAY", "items": {}}), "items: missing field"),
        (tool({"type": "OBJECT", "items": {"type": "STRING"}}), "$type == Type.ARRAY"),
        (tool({"type": "STRING", "required": ["a"]}), "only allowed for OBJECT"),
        (tool({"type": "OBJECT", "required": ["a"]}), "`a` is not defined"),
        (tool({"nullable": True}), "type: must be specified"),
        (tool({"type": "TYPE_UNSPECIFIED"}), "type: must be specified"),
        (tool({"type": "INTEGER", "enum": ["1"]}), "only allowed for STRING"),
        (tool({"type": "STRING", "enum": ["a", ""]}), "cannot be empty"),
        (tool({"type": "OBJECT", "properties": {"y": {"type": "ARRAY"}}}), "items: missing field"),
        ({"type": "STRING"}, "not an OBJECT"),
        ([], "not an object"),
    ],
)
def test_gemini_refuses(schema: Any, problem: str) -> None:
    assert any(problem in found for found in find_problems(schema))
    assert list(problems_of(schema, "gemini-vertex"))


@pytest.mark.parametrize(
    ("target", "schema", "problem"),
    [
        ("gemini-vertex", tool({"type": "NULL"}), "NULL is not in the message"),
        ("gemini-vertex", tool({"description": "x", "anyOf": [{"type": "STRING"}]}), "only field"),
        ("gemini-vertex", {"type": "OBJECT", "properties": {"a-b": {"type": "STRING"}}}, "invalid name `a-b`"),
        ("mcp", {"properties": {}}, "type must be object"),
        ("mcp", {"type": "object", "properties": {"x": {"type": "STRING"}}}, "not valid JSON Schema"),
        ("mcp", {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}, "undefined schema #/$defs/X"),
        ("mcp", {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "not draft 2020-12"),
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
)
def test_other_providers_refuse(target: str, schema: Any, problem: str) -> None:
    assert any(problem in found for found in problems_of(schema, target))


def test_vertex_accepts_the_fields_of_its_message() -> None:
    schema = tool({"type": "OBJECT", "additionalProperties": {"type": "STRING"}})

    assert not list(problems_of(schema, "gemini-vertex"))
    assert list(find_problems(schema))


@pytest.mark.parametrize("target", ["mcp", "openai", "anthropic"])
def test_plain_json_schema_is_good_for_its_readers(target: str) -> None:
    verdict = score_for(original(), SOURCE, target)

    assert verdict.is_good
    assert not verdict.let_in


@pytest.mark.parametrize(
    ("converted", "lost", "refused", "let_in"),
    [
        pytest.param(CONVERTED, (), (), (), id="faithful"),
        pytest.param(changed(inner={"type": "OBJECT"}), (".inner.deep",), (), (), id="lost-property"),
        pytest.param(changed(mode={"type": "STRING", "enum": ["r"]}), (), (VALID[1],), (), id="lost-value"),
        pytest.param(changed(mode={"type": "STRING"}), (), (), (INVALID[2],), id="lost-limit"),
        pytest.param(CONVERTED | {"required": []}, (), (), (INVALID[0],), id="lost-requirement"),
        pytest.param(changed(path={"type": "STRING", "pattern": "("}), (), VALID, (), id="invalid-pattern"),
    ],
)
def test_a_verdict_lists_all_losses(converted: Any, lost: Any, refused: Any, let_in: Any) -> None:
    verdict = score(original(), converted)

    assert (verdict.lost, verdict.refused, verdict.let_in) == (lost, refused, let_in)
    assert verdict.is_good is (not lost and not refused)


def test_null_of_a_required_argument_must_be_kept() -> None:
    required = SOURCE | {"required": ["path", "limit"]}
    nullable = changed(limit={"type": "INTEGER", "minimum": 1, "nullable": True}) | {"required": ["path", "limit"]}

    assert not score(original(required, (VALID[2],)), CONVERTED | {"required": ["path", "limit"]}).is_kept
    assert score(original(required, (VALID[2],)), nullable).is_good


def test_a_zero_of_the_message_is_unset() -> None:
    zero = tool({"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": 0})
    minimum = tool({"type": "NUMBER", "minimum": 0})

    assert Acceptance(semantics(zero, "gemini-parameters")).accepts({"x": ["a"]})
    assert not Acceptance(semantics(minimum, "gemini-parameters")).accepts({"x": -1})
    assert Acceptance(semantics(minimum, "gemini-vertex")).accepts({"x": -1})


def test_gemini_json_ignores_undocumented_keywords() -> None:
    part = {"oneOf": [TEXT], "anyOf": [{"minLength": 1}]}

    assert semantics({"type": "string", "pattern": "^a$"}, "gemini-json") == TEXT
    assert semantics(part, "gemini-json") == {"allOf": [{"anyOf": [{}]}, {"anyOf": [TEXT]}]}


def test_strict_schemas_express_optional_arguments_as_null() -> None:
    source = {"type": "object", "properties": {"path": TEXT, "limit": {"type": "integer"}}, "required": ["path"]}
    limit = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    strict = {
        "type": "object",
        "properties": {"path": TEXT, "limit": limit},
        "required": ["path", "limit"],
        "additionalProperties": False,
    }

    assert score_for(original(source, ({"path": "a"},), ({"path": None},)), strict, "openai-strict").is_good


def test_renamed_properties_keep_their_identity() -> None:
    source = {"type": "object", "properties": {"$top": {"type": "integer"}}, "required": ["$top"]}
    converted = {"type": "OBJECT", "properties": {"top": {"type": "INTEGER"}}, "required": ["top"]}

    assert score_for(original(source, ({"$top": 1},), ()), converted, "gemini-vertex", {"top": "$top"}).is_good
    assert not score_for(original(source, ({"$top": 1},), ()), converted, "gemini-vertex").is_kept


def test_older_drafts_are_modernized() -> None:
    old = {
        "id": "https://example.com/x",
        "type": "OBJECT",
        "properties": {
            "id": {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "nullable": True},
            "pair": {"items": [TEXT], "additionalItems": False},
            "bad": {"type": "string", "enum": None, "minLength": "3", "items": 7, "required": True},
        },
        "dependencies": {"pair": ["id"]},
        "default": {"type": "STRING", "nullable": True},
    }

    assert author_semantics(old) == {
        "type": "object",
        "properties": {
            "id": {"anyOf": [{"type": "integer", "exclusiveMinimum": 1}, {"type": "null"}]},
            "pair": {"prefixItems": [TEXT], "items": False},
            "bad": TEXT,
        },
        "default": {"type": "STRING", "nullable": True},
        "dependentRequired": {"pair": ["id"]},
    }


def test_property_paths_follow_references_once() -> None:
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

    assert property_paths(schema) == {".tree", ".tree.name", ".tree.kids", ".map", ".text", ".also"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}},
        {"anyOf": [{"$ref": "#"}, {"type": "object"}]},
    ],
)
def test_an_unusable_original_is_refused(schema: Any) -> None:
    with pytest.raises(UnusableSchemaError):
        original(schema)


# The corpus.


def test_the_corpus_is_large_varied_and_consistent() -> None:
    rows = load_corpus()

    assert len(rows) >= 150
    assert len({row.name for row in rows}) == len(rows)
    assert {row.style for row in rows} >= {"by hand", "go", "openapi", "pydantic", "zod"}
    assert 0.3 < sum(row.is_hard for row in rows) / len(rows) < 0.8
    for row in rows:
        prepared = Original.of(row)
        assert row.valid, row.name
        assert all(map(prepared.acceptance.accepts, row.valid)), row.name
        assert not any(map(prepared.acceptance.accepts, row.invalid)), row.name


@pytest.mark.parametrize(
    ("part", "hard"),
    [
        ({"type": "string", "description": "x", "default": None}, False),
        ({"anyOf": [TEXT, {"type": "null"}]}, False),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, False),
        ({"anyOf": [TEXT, {"type": "integer"}]}, True),
        ({"type": "array"}, True),
        ({"type": "integer", "enum": [1]}, True),
        ({"type": "object", "additionalProperties": TEXT}, True),
        ({"type": ["string", "null"]}, True),
        ({"type": "STRING"}, True),
        ({"$ref": "#"}, True),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, True),
        ({}, True),
    ],
)
def test_a_hard_schema_needs_more_than_copying(part: Any, hard: bool) -> None:
    assert is_hard({"type": "object", "properties": {"x": part}}) is hard


# The comparison.


def test_installed_converters_are_compared_on_the_same_schemas() -> None:
    rows = tuple(row for row in load_corpus() if row.name in {"KeywordNames", "get_weather", "DrawShape"})
    comparison = compare_converters(rows, sys.executable)
    scores = {score.label: score for score in comparison.scores()}

    assert len(comparison.rows) == 3
    assert comparison.hard == 1
    assert scores[OURS].good == 1
    assert scores["nothing"].accepted == pytest.approx(1 / 3)
    assert scores["nothing"].kept == 1
    assert scores["the way of fs-mcp"].kept < 1
    assert all(score.microseconds > 0 for score in scores.values() if score.failed < 1)
    assert comparison.surviving(advertised=True) >= comparison.surviving(advertised=False)
    assert not {*comparison.missing} & scores.keys()


def test_unusable_schemas_of_another_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"schema": {"$ref": "#/nowhere"}}\n{"schema": {"type": "object"}, "name": "b"}\n', "utf-8")
    rows = load_corpus(path)
    comparison = compare_converters(rows, sys.executable)

    assert [(row.name, row.style, row.is_hard) for row in rows] == [("0", "other", True), ("b", "other", False)]
    assert (len(comparison.rows), comparison.unusable) == (1, 1)
