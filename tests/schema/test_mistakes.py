"""Schemas whose fault lies outside of them: `check` names the cause, and `advertise` sends what the author meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.schemas.corpus import SMALL_CASES, load_corpus

from toolmason.schema import Severity, advertise, check, report

TEXT: dict[str, Any] = {"type": "string"}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        pytest.param({"_def": {"typeName": "ZodObject"}, "~standard": {"vendor": "zod"}}, "foreign-object", id="zod-3"),
        pytest.param({"def": {"type": "object", "shape": {}}, "type": "object"}, "foreign-object", id="zod-4"),
        pytest.param({"_zod": {}, "def": {}}, "foreign-object", id="zod-mini"),
        pytest.param({"a": {"_def": {"typeName": "ZodString"}}}, "foreign-object", id="zod-shape"),
        pytest.param({"$_terms": {"keys": []}, "type": "object"}, "foreign-object", id="joi"),
        pytest.param({"__isYupSchema__": True, "fields": {}}, "foreign-object", id="yup"),
        pytest.param({"kind": "schema", "type": "object", "~standard": {}}, "foreign-object", id="valibot"),
        pytest.param({"$schema": DRAFT_7}, "only-$schema", id="only-schema"),
        pytest.param({"$schema": DRAFT_7, "type": "string"}, "only-$schema", id="schema-and-string"),
        pytest.param({"$schema": DRAFT_7, "additionalProperties": False}, "only-$schema", id="schema-and-closed"),
        pytest.param({"a": TEXT, "b": {"type": "array", "items": TEXT}}, "properties-at-root", id="properties"),
    ],
)
def test_the_cause_of_a_schema_without_arguments_is_named(schema: Any, pattern: str) -> None:
    checked = [finding for finding in check(schema, "mcp") if finding.pattern == pattern]
    sent = [finding for finding in advertise(schema).findings if finding.severity is Severity.REFUSED]

    assert [finding.severity for finding in checked] == [Severity.REFUSED]
    assert [finding.pattern for finding in sent] in ([pattern], ["root-not-object"])
    assert advertise(schema).schema == tool()


@pytest.mark.parametrize(
    "schema",
    [
        tool(),
        tool(_def=TEXT, **{"~standard": {"type": "object"}}),
        {**tool(), "$schema": DRAFT_7},
        {**tool(), "def": {"type": "string"}},
        {"$ref": "#/$defs/A", "$defs": {"A": tool(a=TEXT)}, "$schema": DRAFT_7},
        {"properties": {"a": TEXT}},
        {"not": TEXT},
        {"default": {"type": "string"}},
        {"anyOf": [tool(a=TEXT), tool(b=TEXT)]},
    ],
    ids=str,
)
def test_no_cause_is_invented(schema: Any) -> None:
    patterns = {finding.pattern for finding in (*check(schema, "mcp"), *advertise(schema).findings)}

    assert not patterns & {"foreign-object", "only-$schema", "empty-root", "properties-at-root"}


@pytest.mark.parametrize(
    ("severity", "schema", "pattern"),
    [
        (Severity.REFUSED, {"type": "object"}, "root-no-properties"),
        (Severity.REFUSED, {"type": "object", "additionalProperties": False}, "root-no-properties"),
        (Severity.BREAKS, {"type": "object", "properties": {}, "additionalProperties": {}}, "untyped-map"),
        (Severity.BREAKS, tool(a={"type": "object", "additionalProperties": {}}), "untyped-map"),
        (Severity.REFUSED, {}, "empty-root"),
        (Severity.REFUSED, {"title": "Arguments", "description": "None."}, "empty-root"),
    ],
)
def test_a_schema_at_which_a_request_dies_has_more_than_a_note(severity: Severity, schema: Any, pattern: str) -> None:
    assert [finding.severity for finding in check(schema, "mcp") if finding.pattern == pattern] == [severity]
    assert not [finding for finding in check(advertise(schema).schema, "mcp") if finding.lossy]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ({"items": TEXT}, {"type": "string", "enum": ["a", "b"]}),
        ({}, {"type": "string", "enum": ["a", "b"]}),
        ({"items": {}}, {"type": "string", "enum": ["a", "b"]}),
        ({"items": TEXT, "default": ["a"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"items": {"type": "string", "enum": ["b", "c"]}}, {"type": "string", "enum": ["b"]}),
        ({"type": ["array", "null"], "enum": ["a", "b", None], "items": TEXT}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
    ],
    ids=str,
)
def test_choices_beside_an_array_are_those_of_its_items(written: dict[str, Any], sent: dict[str, Any]) -> None:
    projection = advertise(tool(x={"type": "array", "enum": ["a", "b"]} | written))
    value = projection.schema["properties"]["x"]

    assert (value["type"], value["items"]) == ("array", sent)
    assert [finding.pattern for finding in projection.findings if finding.lossy] == ["enum-on-array"]
    assert value.get("default") == written.get("default")


@pytest.mark.parametrize(
    "written",
    [
        {"type": "array", "items": TEXT, "enum": [["a"], ["b", "c"]]},
        {"type": ["array", "string"], "items": TEXT, "enum": ["a", "b"]},
        {"type": "string", "enum": ["a", "b"]},
    ],
    ids=str,
)
def test_choices_that_are_possible_stay_where_they_are(written: dict[str, Any]) -> None:
    findings = (*advertise(tool(x=written)).findings, *check(tool(x=written), "mcp"))

    assert "enum-on-array" not in {finding.pattern for finding in findings}


SCHEMAS = [row.schema for row in load_corpus()]
SCHEMAS += [json.loads(line)["schema"] for line in SMALL_CASES.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:60])
def test_check_says_what_advertise_loses(schema: Any) -> None:
    said = [finding.pointer for finding in check(schema, "mcp") if finding.lossy]
    silent = [
        (finding.pointer, finding.message)
        for finding in advertise(schema).findings
        if finding.lossy and not any(_is_near(finding.pointer, pointer) for pointer in said)
    ]

    assert silent == []


MAX_ROOT_DEPTH = 3
"""Maximum parts of the pointer of what `check` says of a loss at the root, such as `/properties/self/$ref`."""


def _is_near(lost: str, said: str) -> bool:
    """Whether a finding of `check` is at a schema that loses something, at its keyword or alternative, or around it."""
    if not lost:
        return said.count("/") <= MAX_ROOT_DEPTH
    return f"{said}/".startswith(f"{lost}/") or lost.startswith(f"{said}/")


def test_a_report_has_a_line_for_each_cause() -> None:
    closed = {**tool(), "additionalProperties": False}
    text = report({"a": closed, "b": closed, "c": tool(x={"type": "array"}), "d": tool()})

    lines = text.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["refused  missing-items", "breaks  additionalProperties"]
    assert lines[1].endswith("(a $.additionalProperties and 1 more)")
    assert lines[-1] == "1 of 4 tools lose nothing."
    assert len(lines) == 3
    with pytest.raises(ValueError, match="nobody"):
        report({}, "nobody")
