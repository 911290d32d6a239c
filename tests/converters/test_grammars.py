"""The grammar engines of vLLM compile what we send, and refuse what is malformed: llguidance, xgrammar, outlines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.schemas.corpus import SMALL_CASES, load_corpus
from engines import outlines_accepts, outlines_error, xgrammar_accepts, xgrammar_error
from hard_schemas import HARD
from llguidance import LLMatcher  # type: ignore[import-not-found, unused-ignore]  # only in the session `converters`

from toolmason.schema import advertise, check, project

SCHEMAS: dict[str, Any] = {f"{row.style}: {row.name}": row.schema for row in load_corpus()} | HARD
SCHEMAS |= {
    f"small: {number}": json.loads(line)["schema"]
    for number, line in enumerate(SMALL_CASES.read_text(encoding="utf-8").splitlines())
}


def refusal(schema: Any) -> str:
    """Return the error of the grammar compiler; an empty string if it accepts the schema."""
    error: str = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(json.dumps(schema)), None)
    return error


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "strin"}, "Invalid type"),
        ({"$ref": "#/$defs/None"}, "does not exist"),
        ({"type": "string", "pattern": "("}, "unclosed group"),
        ({"type": "string", "pattern": "(?=a)"}, "look-around"),
        ({"type": "string", "format": "no-format"}, "Unknown format"),
    ],
    ids=str,
)
def test_malformed_schemas_are_refused(value: dict[str, Any], message: str) -> None:
    assert message in refusal({"type": "object", "properties": {"a": value}})


def test_each_schema_in_the_form_for_the_engine_is_compiled() -> None:
    refused = {
        name: error for name, schema in SCHEMAS.items() if (error := refusal(project(schema, "vllm-guidance").schema))
    }

    assert refused == {}


def test_more_advertised_schemas_are_compiled_than_original_ones() -> None:
    original = {name for name, schema in SCHEMAS.items() if refusal(schema)}
    advertised = {name for name, schema in SCHEMAS.items() if refusal(advertise(schema).schema)}

    assert len(advertised) < len(original)
    assert not advertised - original


TEXT: dict[str, Any] = {"type": "string"}


def argument(value: Any, **definitions: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": value}, "required": ["a"], "$defs": definitions}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "strin"}, "Unsupported type"),
        ({"$ref": "#/$defs/None"}, "Cannot find field"),
        ({"type": "string", "pattern": "("}, "parenthesis is not closed"),
        ({"enum": []}, "must not be empty"),
        ({"type": "integer", "minimum": 2**70}, "exceeds maximum limit"),
    ],
    ids=str,
)
def test_xgrammar_refuses_malformed_schemas(value: dict[str, Any], message: str) -> None:
    assert message in xgrammar_error(argument(value))


def test_xgrammar_converts_each_schema_in_our_forms() -> None:
    originals = {name for name, schema in SCHEMAS.items() if xgrammar_error(schema)}

    assert {name: xgrammar_error(advertise(schema).schema) for name, schema in SCHEMAS.items()} == dict.fromkeys(
        SCHEMAS, ""
    )
    assert {name: xgrammar_error(project(schema, "vllm-xgrammar").schema) for name, schema in SCHEMAS.items()} == (
        dict.fromkeys(SCHEMAS, "")
    )
    assert len(originals) >= 20


@pytest.mark.parametrize(
    ("schema", "value", "is_accepted", "pattern"),
    [
        (argument({"type": "string", "pattern": "b"}), "abc", False, "unanchored-pattern"),
        (argument({"type": "string", "pattern": "^(?!b)[ab]$"}), "b", True, "look-around"),
        (argument({"$ref": "#A"}, B={"$anchor": "A", **TEXT}), 1, True, "named-$ref"),
        (argument({"$ref": "https://example.com/a.json"}), 1, True, "network-$ref"),
        (argument({"$ref": "#/$defs/A", "minLength": 3}, A=TEXT), "b", True, "rule-beside-$ref"),
        (argument({"allOf": [TEXT, {"minLength": 1}]}), 1, True, "allOf"),
    ],
    ids=str,
)
def test_what_xgrammar_changes_is_a_finding(
    schema: dict[str, Any], value: Any, is_accepted: bool, pattern: str
) -> None:
    assert xgrammar_accepts(schema, {"a": value}) is is_accepted
    assert pattern in {found.pattern for found in check(schema, "vllm-xgrammar")}


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ({"type": "string", "pattern": "^\\d+$"}, "7"),
        ({"type": "string", "pattern": "^a$|^b$"}, "b"),
        ({"$ref": "#/$defs/a~1b"}, "c"),
        ({"$ref": "#/$defs/a%25b"}, "c"),
    ],
    ids=str,
)
def test_xgrammar_keeps_classes_and_escaped_references(value: dict[str, Any], accepted: str) -> None:
    schema = argument(value, **{"a/b": TEXT, "a%b": TEXT})

    assert xgrammar_accepts(schema, {"a": accepted})
    assert not xgrammar_accepts(schema, {"a": 1})
    assert not {"pattern-class", "escaped-$ref"} & {found.pattern for found in check(schema, "vllm-xgrammar")}


def test_outlines_converts_each_schema_in_the_form_for_it() -> None:
    found = {name: outlines_error(project(schema, "vllm-outlines").schema) for name, schema in SCHEMAS.items()}

    assert {name: error for name, error in found.items() if error} == {}
    assert sum(bool(outlines_error(schema)) for schema in SCHEMAS.values()) > 20


@pytest.mark.parametrize(
    ("value", "pattern", "message"),
    [
        ({"$ref": "#/$defs/None"}, "dangling-$ref", "Invalid reference path"),
        ({"$ref": "#/$defs/a~1b"}, "escaped-$ref", "Invalid reference path"),
        ({"type": "string", "format": "ipv4"}, "format", "not supported"),
        (True, "boolean-schema", "Unsupported JSON Schema structure"),
    ],
    ids=str,
)
def test_what_outlines_refuses_is_a_finding(value: Any, pattern: str, message: str) -> None:
    schema = argument(value, **{"a/b": TEXT})

    assert message in outlines_error(schema)
    assert [found.pattern for found in check(schema, "vllm-outlines") if found.severity.value == "refused"] == [pattern]


@pytest.mark.parametrize(("pattern", "valid"), [("b", "abc"), ("^b", "bc"), ("^b$|^c$", "c")])
def test_a_pattern_that_outlines_narrows_is_a_finding(pattern: str, valid: str) -> None:
    schema = argument({"type": "string", "pattern": pattern})

    assert not outlines_accepts(schema, {"a": valid})
    assert "unanchored-pattern" in {found.pattern for found in check(schema, "vllm-outlines")}
