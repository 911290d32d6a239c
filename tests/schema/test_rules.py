"""Findings of `check`: each rule with a counterexample, pointers, malformed input, limits."""

from __future__ import annotations

import copy
import json
import math
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.schema import Finding, Severity, Target, check
from toolmason.schema.check import check_targets, rules_for
from toolmason.schema.providers import Rule, providers
from toolmason.schema.scan import KNOWN_KEYWORDS

TEXT: dict[str, Any] = {"type": "string"}
WIDE_NAMES = [f"choice_{number}_{'x' * 60}" for number in range(251)]


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(levels: int) -> dict[str, Any]:
    schema = TEXT
    for _ in range(levels):
        schema = tool(a=schema)
    return schema


def closed(**properties: Any) -> dict[str, Any]:
    return {**tool(**properties), "required": list(properties), "additionalProperties": False}


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
NULLABLE = {"anyOf": [TEXT, {"type": "null"}]}
TREE = {**tool(children={"type": "array", "items": {"$ref": "#/$defs/Tree"}})}
DEEP_DATA: Any = json.loads("[" * 60 + "]" * 60)


class Case(NamedTuple):
    """A schema that a rule is about, the place at fault, and a near twin that it is not about."""

    breaks: Any
    pointer: str
    keeps: Any


def at_a(breaks: Any, keeps: Any, pointer: str = "") -> Case:
    """Return a case whose schemas are the property `a` of a tool."""
    return Case(tool(a=breaks), f"/properties/a{pointer}", tool(a=keeps))


CASES: dict[str, Case] = {
    # well formed
    "not-a-schema": at_a("string", {"type": "string"}),
    "malformed": at_a({"type": "string", "description": 5}, {"type": "string", "description": "5"}, "/description"),
    "unknown-type": at_a({"type": "text"}, {"type": "string"}, "/type"),
    "not-json": at_a({"type": "string", "enum": [math.nan]}, {"type": "string", "enum": ["nan"]}, "/enum"),
    "too-deep": Case(nested(101), "/properties/a" * 100, nested(99)),
    "too-large": Case(
        tool(**{f"p{number}": TEXT for number in range(30_000)}),
        "/properties/p19998",
        tool(**{f"p{number}": TEXT for number in range(600)}),
    ),
    "null-keyword": at_a({"type": "string", "description": None}, {"type": "string", "default": None}, "/description"),
    "repeated-name": Case(
        {**tool(a=TEXT), "required": ["a", "a"]}, "/required/1", {**tool(a=TEXT, b=TEXT), "required": ["a", "b"]}
    ),
    "text-number": at_a({"type": "string", "maxLength": "5"}, {"type": "string", "maxLength": 5}, "/maxLength"),
    "upper-case-type": at_a({"type": "STRING"}, {"type": "string"}, "/type"),
    "lower-case-type": Case(
        {"type": "OBJECT", "properties": {"a": {"type": "string"}}},
        "/properties/a/type",
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    ),
    "snake-case": at_a({"type": "string", "max_length": 5}, {"type": "string", "maxLength": 5}, "/max_length"),
    "property_ordering": Case(
        {**tool(a=TEXT), "property_ordering": ["a"]},
        "/property_ordering",
        {**tool(a=TEXT), "propertyOrdering": ["a"]},
    ),
    # root
    "root-not-object": Case({"type": "array", "items": TEXT}, "/type", tool(type={"type": "array", "items": TEXT})),
    "foreign-object": at_a({"_def": {"typeName": "ZodString"}}, tool(_def={"type": "string"})),
    "only-$schema": Case({"$schema": DRAFT_7}, "", tool()),
    "empty-root": Case({"description": "Nothing."}, "", {**tool(), "description": "Nothing."}),
    "properties-at-root": Case({"a": TEXT, "b": TEXT}, "", tool(a=TEXT, b=TEXT)),
    "root-combinator": Case(
        {**tool(a=TEXT), "anyOf": [{"required": ["a"]}]}, "/anyOf", tool(a={"anyOf": [TEXT, {"type": "integer"}]})
    ),
    "root-assertion": Case({**tool(), "not": {"required": ["a"]}}, "/not", tool(**{"not": TEXT, "enum": TEXT})),
    "root-no-properties": Case({"type": "object"}, "", tool(a={"type": "object"})),
    "reserved-name": Case(
        tool(wait_for_previous={"type": "boolean"}),
        "/properties/wait_for_previous",
        tool(a=tool(wait_for_previous={"type": "boolean"})),
    ),
    # types
    "missing-type": at_a({"description": "Anything"}, {"anyOf": [TEXT, {"type": "integer"}]}),
    "untyped-enum": at_a({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    "boolean-schema": Case(tool(a=tool(b=True)), "/properties/a/properties/b", tool(a=tool(b=TEXT))),
    "boolean-argument": at_a(True, tool(b=True)),
    "type-array": at_a({"type": ["string", "integer"]}, {"type": "string"}, "/type"),
    "null-type": at_a({"anyOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "integer"}]}, "/anyOf/1/type"),
    "needed-null": at_a({"type": "array", "items": NULLABLE}, NULLABLE, "/items"),
    "nullable": at_a({"type": "string", "nullable": True}, tool(nullable=TEXT), "/nullable"),
    # arrays
    "missing-items": at_a({"type": "array"}, {"type": "array", "items": TEXT}),
    "empty-items": at_a({"type": "array", "items": {}}, {"type": "array", "items": TEXT}, "/items"),
    "items-not-array": at_a({"type": "string", "items": TEXT}, tool(items=TEXT), "/items"),
    "draft-07-items": at_a({"type": "array", "items": [TEXT]}, {"type": "array", "items": TEXT}, "/items"),
    "prefixItems": at_a({"type": "array", "prefixItems": [TEXT]}, tool(prefixItems=TEXT), "/prefixItems"),
    # objects
    "properties-not-object": at_a({"type": "string", "properties": {}}, tool(), "/properties"),
    "required-not-object": at_a({"type": "string", "required": []}, {**tool(), "required": []}, "/required"),
    "undeclared-required": Case(
        {**tool(a=TEXT), "required": ["a", "b"]}, "/required/1", {**tool(a=TEXT), "required": ["a"]}
    ),
    "optional-property": Case({**closed(a=TEXT), "required": []}, "", closed(a=TEXT)),
    "open-object": Case(tool(), "", closed()),
    "additionalProperties": Case(closed(), "/additionalProperties", tool(additionalProperties=TEXT)),
    "untyped-map": at_a(
        {"type": "object", "properties": {}, "additionalProperties": {}}, tool(), "/additionalProperties"
    ),
    "typed-map": at_a(
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "additionalProperties": False},
        "/additionalProperties",
    ),
    "closed-without-properties": at_a(
        {"type": "object", "additionalProperties": False}, {**tool(), "additionalProperties": False}
    ),
    "property-name": Case(tool(**{"filter[id]": TEXT}), "/properties/filter[id]", tool(**{"filter.id": TEXT})),
    "nested-property-name": at_a(tool(**{"$top": TEXT}), tool(top=TEXT), "/properties/$top"),
    "property-name-style": Case(tool(**{"user-id": TEXT}), "/properties/user-id", tool(user_id=TEXT)),
    # choices
    "integer-enum": at_a({"type": "integer", "enum": [1, 2]}, {"type": "string", "enum": ["1", "2"]}, "/enum"),
    "number-enum": at_a({"type": "number", "enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.0]}, "/enum"),
    "mixed-enum": at_a({"type": "string", "enum": [1, "a"]}, {"type": "string", "enum": ["1", "a"]}, "/enum"),
    "odd-enum": at_a({"type": "string", "enum": ["a", None]}, {"type": "string", "enum": ["a", "null"]}, "/enum"),
    "enum-on-array": at_a(
        {"type": "array", "enum": ["a"], "items": TEXT}, {"type": "array", "enum": [["a"]], "items": TEXT}, "/enum"
    ),
    "enum-type": at_a({"type": "integer", "enum": ["1"]}, {"type": "string", "enum": ["1"]}, "/enum"),
    "empty-enum-member": at_a({"type": "string", "enum": ["a", ""]}, {"type": "string", "enum": ["a"]}, "/enum/1"),
    "empty-enum": at_a({"type": "string", "enum": []}, {"type": "string", "enum": ["a"]}, "/enum"),
    "duplicate-enum": at_a({**TEXT, "enum": ["a", "a"]}, {**TEXT, "enum": ["a", "b"]}, "/enum"),
    "const": at_a({"type": "string", "const": "a"}, {"type": "string", "default": {"const": "a"}}, "/const"),
    # combinators
    "required-alternatives": at_a(
        {**tool(x=TEXT), "anyOf": [{"required": ["x"]}]}, {**tool(x=TEXT), "anyOf": [tool(x=TEXT)]}, "/anyOf"
    ),
    "beside-anyOf": at_a({"anyOf": [TEXT], "description": "A"}, {"anyOf": [TEXT]}, "/anyOf"),
    "oneOf": at_a({"oneOf": [TEXT]}, tool(oneOf=TEXT), "/oneOf"),
    "allOf": at_a({"allOf": [TEXT]}, tool(allOf=TEXT), "/allOf"),
    **{
        keyword: at_a({**TEXT, keyword: {"minLength": 1}}, tool(**{keyword: TEXT}), f"/{keyword}")
        for keyword in ("not", "if", "then", "else", "contains", "propertyNames", "additionalItems")
    },
    "idle-propertyNames": at_a(
        {**tool(), "propertyNames": TEXT}, {**tool(), "propertyNames": {"maxLength": 5}}, "/propertyNames"
    ),
    **{
        keyword: at_a({**tool(), keyword: {}}, tool(**{keyword: TEXT}), f"/{keyword}")
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas", "patternProperties")
    },
    **{
        keyword: at_a({**TEXT, keyword: False}, tool(**{keyword: TEXT}), f"/{keyword}")
        for keyword in ("unevaluatedItems", "unevaluatedProperties")
    },
    "unsaid-uniqueItems": at_a(
        {"type": "array", "items": TEXT, "uniqueItems": True},
        {"type": "array", "items": TEXT, "uniqueItems": True, "description": "Items must differ."},
        "/uniqueItems",
    ),
    # limits
    **{
        keyword: at_a({"type": "integer", keyword: 1}, tool(**{keyword: TEXT}), f"/{keyword}")
        for keyword in ("minContains", "maxContains", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")
    },
    **{
        keyword: at_a({"type": "string", keyword: "text"}, tool(**{keyword: TEXT}), f"/{keyword}")
        for keyword in ("contentEncoding", "contentMediaType")
    },
    "draft-04-exclusive": at_a(
        {"type": "integer", "exclusiveMinimum": True},
        {"type": "integer", "exclusiveMinimum": 1},
        "/exclusiveMinimum",
    ),
    "int64-bound": at_a({"type": "integer", "maximum": 2**63}, {"type": "integer", "maximum": 2**63 - 1}, "/maximum"),
    "int64": at_a({"type": "string", "maxLength": 2**63}, {"type": "string", "maxLength": 2**63 - 1}, "/maxLength"),
    "zero-limit": at_a({"type": "string", "maxLength": 0}, {"type": "string", "maxLength": 1}, "/maxLength"),
    "idle-limit": at_a({"type": "string", "minLength": 0}, {"type": "string", "minLength": 1}, "/minLength"),
    "zero-bound": at_a({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}, "/minimum"),
    "unsaid-limit": at_a(
        {"type": "integer", "minimum": 3, "description": "A count."},
        {"type": "integer", "minimum": 3, "description": "At least 3."},
        "/minimum",
    ),
    "format": at_a({"type": "string", "format": "uri"}, {"type": "string", "format": "date-time"}, "/format"),
    # references
    "$ref": Case({**tool(a={"$ref": "#/$defs/A"}), "$defs": {"A": TEXT}}, "/properties/a/$ref", tool(**{"$ref": TEXT})),
    "network-$ref": Case(
        tool(a={"$ref": "https://example.com/a.json"}),
        "/properties/a/$ref",
        tool(a={"$ref": "#/properties/b"}, b=TEXT),
    ),
    "dangling-$ref": Case(
        tool(a={"$ref": "#/$defs/A"}), "/properties/a/$ref", {**tool(a={"$ref": "#/$defs/A"}), "$defs": {"A": TEXT}}
    ),
    "recursive-$ref": Case(
        {**tool(a={"$ref": "#/$defs/Tree"}), "$defs": {"Tree": TREE}},
        "/$defs/Tree/properties/children/items/$ref",
        {**tool(a={"$ref": "#/$defs/Tree"}), "$defs": {"Tree": tool()}},
    ),
    "required-recursive-$ref": Case(
        {**tool(a={"$ref": "#"}), "required": ["a"]}, "/properties/a/$ref", tool(a={"$ref": "#"})
    ),
    "beside-$ref": Case(
        {**tool(a={"$ref": "#/$defs/A", "minLength": 1}), "$defs": {"A": TEXT}},
        "/properties/a/$ref",
        {**tool(a={"$ref": "#/$defs/A", "description": "A"}), "$defs": {"A": TEXT}},
    ),
    "dangling-ref": Case(
        tool(a={"ref": "#/defs/A"}), "/properties/a/ref", {**tool(a={"ref": "#/defs/A"}), "defs": {"A": TEXT}}
    ),
    "nested-defs": at_a({"type": "string", "defs": {"A": TEXT}}, tool(defs=TEXT), "/defs"),
    "pattern-dialect": at_a(
        {"type": "string", "pattern": "^(?P<year>[0-9]{4})$"},
        {"type": "string", "pattern": "^(?<year>[0-9]{4})$"},
        "/pattern",
    ),
    "$dynamicRef": at_a({"$dynamicRef": "#a"}, tool(**{"$dynamicRef": TEXT}), "/$dynamicRef"),
    "$recursiveRef": at_a({"$recursiveRef": "#"}, tool(**{"$recursiveRef": TEXT}), "/$recursiveRef"),
    "$defs": Case({**tool(), "$defs": {}}, "/$defs", tool(**{"$defs": TEXT})),
    "definitions": Case({**tool(), "definitions": {}}, "/definitions", tool(definitions=TEXT)),
    "$schema": Case(
        {**tool(), "$schema": "https://json-schema.org/draft/2020-12/schema"}, "/$schema", tool(**{"$schema": TEXT})
    ),
    "$id": Case({**tool(), "$id": "https://example.com/tool"}, "/$id", tool(**{"$id": TEXT})),
    # fields
    "title": at_a({"type": "string", "title": "A"}, tool(title=TEXT), "/title"),
    "default": at_a({"type": "string", "default": "a"}, tool(default=TEXT), "/default"),
    "propertyOrdering": Case(
        {**tool(a=TEXT), "propertyOrdering": ["a"]}, "/propertyOrdering", tool(propertyOrdering=TEXT)
    ),
    # sizes
    "deep-data": at_a({"type": "string", "default": DEEP_DATA}, {"type": "string", "default": [[]]}, "/default"),
    "depth-10": Case(nested(11), "/properties/a" * 11, nested(10)),
    "depth-5": Case(nested(6), "/properties/a" * 6, nested(5)),
    "property-count": Case(
        tool(**{f"p{number}": TEXT for number in range(5_001)}),
        "/properties/p5000",
        tool(**{f"p{number}": TEXT for number in range(5_000)}),
    ),
    "text-length": at_a(
        {"type": "string", "const": "x" * 120_000}, {"type": "string", "const": "x" * 119_999}, "/const"
    ),
    "enum-count": at_a(
        {"type": "string", "enum": [f"{number}" for number in range(1_001)]},
        {"type": "string", "enum": [f"{number}" for number in range(1_000)]},
        "/enum",
    ),
    "enum-length": at_a({"type": "string", "enum": WIDE_NAMES}, {"type": "string", "enum": WIDE_NAMES[:250]}, "/enum"),
}
UNLISTED = {
    "unlisted-keyword": at_a({"type": "string", "contentEncoding": "base64"}, TEXT, "/contentEncoding"),
    "unlisted-annotation": at_a({"type": "string", "x-order": 1}, tool(**{"x-order": TEXT}), "/x-order"),
}
ROWS = [(rule, target) for rule in providers().rules for target in rule.targets]


def name_of(row: Any) -> str:
    return row.pattern if isinstance(row, Rule) else str(row)


def found(schema: Any, target: Target, pattern: str) -> list[Finding]:
    return [finding for finding in check(schema, target) if finding.pattern == pattern]


def test_no_two_rows_speak_of_the_same_pattern_of_one_target() -> None:
    keys = [(rule.pattern, target) for rule, target in ROWS]

    assert sorted(set(keys)) == sorted(keys)


def test_every_row_has_a_reason_a_source_and_a_date() -> None:
    for rule in providers().rules:
        assert rule.reason, rule.pattern
        assert not rule.reason.endswith("."), rule.pattern
        assert rule.source, rule.pattern
        assert rule.checked.year >= 2026, rule.pattern


def test_every_target_has_rules_and_only_its_own() -> None:
    for target in Target:
        assert rules_for(target)
        assert all(target in rule.targets for rule in rules_for(target))


@pytest.mark.uncovered
@pytest.mark.parametrize(("rule", "target"), ROWS, ids=name_of)
def test_rule_reports_its_violation_and_accepts_a_similar_valid_schema(rule: Rule, target: Target) -> None:
    case = {**CASES, **UNLISTED}[rule.pattern]
    pattern = case.pointer.rpartition("/")[2] if rule.pattern in UNLISTED else rule.pattern
    before = copy.deepcopy(case.breaks)

    findings = found(case.breaks, target, pattern)

    assert (findings[0].pointer, findings[0].severity) == (case.pointer, rule.severity)
    assert rule.reason in findings[0].message
    assert findings[0].lossy == (rule.severity is not Severity.NOTE)
    assert not found(case.keeps, target, pattern)
    assert json.dumps(case.breaks) == json.dumps(before)


FORBIDDEN_IN_2026_02: dict[str, dict[str, Any]] = {
    "$ref": {"$ref": "#"},
    "$defs": {"$defs": {}},
    "definitions": {"definitions": {}},
    "$id": {"$id": "https://example.com/tool"},
    "$schema": {"$schema": "http://json-schema.org/draft-07/schema#"},
    "title": {"title": "A"},
    "default": {"default": 1},
    "additionalProperties": {"additionalProperties": False},
    "oneOf": {"oneOf": [TEXT]},
    "allOf": {"allOf": [TEXT]},
    "not": {"not": {}},
    "if": {"if": {}},
    "then": {"then": {}},
    "else": {"else": {}},
    "const": {"const": 1},
    "propertyOrdering": {"propertyOrdering": ["a"]},
    "property_ordering": {"property_ordering": ["a"]},
}


@pytest.mark.parametrize("pattern", FORBIDDEN_IN_2026_02)
def test_every_pattern_of_the_first_gemini_table_is_still_spoken_of(pattern: str) -> None:
    schema = {**tool(a=TEXT), **FORBIDDEN_IN_2026_02[pattern]}

    assert [finding.pointer for finding in found(schema, Target.GEMINI_PARAMETERS, pattern)] == [f"/{pattern}"]


KEYWORD_NAMES = [*CASES, "type", "properties", "required", "items", "enum", "anyOf", "description", "ref", "defs"]


@pytest.mark.parametrize("target", Target)
def test_property_named_like_a_keyword_is_a_property_at_every_level(target: Target) -> None:
    named = {name: {"type": "string", "description": "A"} for name in KEYWORD_NAMES if name.isalnum()}
    schema = closed(**named)
    deeper = closed(outer=closed(**named))
    plain = closed(outer=closed(name={"type": "string", "description": "A"}))
    usual = {finding.pattern for finding in check(plain, target)}

    assert {finding.pattern for finding in check(schema, target)} <= usual
    assert {finding.pattern for finding in check(deeper, target)} <= usual


def test_property_named_like_a_reference_is_not_a_reference() -> None:
    schema = tool(**{"$ref": {"type": "string"}, "$defs": {"type": "object", "properties": {"$ref": TEXT}}})

    assert {finding.pattern for finding in check(schema, "mcp")} == {"property-name", "nested-property-name"}


SCHEMA_LOOK_ALIKE = {"$ref": "#/nowhere", "oneOf": "x", "type": ["a"], "properties": 3, "title": None}


@pytest.mark.parametrize("target", [Target.GEMINI_PARAMETERS, Target.MCP, Target.ANTHROPIC, Target.GEMINI_VERTEX])
@pytest.mark.parametrize("keyword", ["default", "example"])
def test_data_is_never_walked(target: Target, keyword: str) -> None:
    kept = {finding.pattern for finding in check(tool(a={"type": "STRING", keyword: "x"}), target)}

    findings = check(tool(a={"type": "STRING", keyword: SCHEMA_LOOK_ALIKE}), target)

    assert {finding.pattern for finding in findings} == kept


@pytest.mark.parametrize("keyword", ["enum", "examples"])
def test_lists_of_data_are_never_walked(keyword: str) -> None:
    findings = check(tool(a={"type": "object", keyword: [SCHEMA_LOOK_ALIKE]}), Target.ANTHROPIC)

    assert findings == ()


MALFORMED: list[tuple[Any, str, str]] = [
    (None, "", "not-a-schema"),
    ([], "", "not-a-schema"),
    ("object", "", "not-a-schema"),
    (5, "", "not-a-schema"),
    (True, "", "root-not-object"),
    ({}, "", "empty-root"),
    ({"type": "object", "properties": []}, "/properties", "malformed"),
    (tool(type="object"), "/properties/type", "not-a-schema"),
    (tool(a=None), "/properties/a", "not-a-schema"),
    (tool(a=[]), "/properties/a", "not-a-schema"),
    (tool(a=1.5), "/properties/a", "not-a-schema"),
    (tool(a={1}), "/properties/a", "not-a-schema"),
    (tool(a={"type": "string", "required": [{}]}), "/properties/a/required", "malformed"),
    (tool(a={"type": "string", "$anchor": "1"}), "/properties/a/$anchor", "malformed"),
    (tool(a={"type": "string", "$id": "a#b"}), "/properties/a/$id", "malformed"),
    (tool(a={"type": "string", "required": True}), "/properties/a/required", "malformed"),
    (tool(a={"type": "string", "enum": "a"}), "/properties/a/enum", "malformed"),
    (tool(a={"type": None}), "/properties/a/type", "null-keyword"),
    (tool(a={"type": {}}), "/properties/a/type", "unknown-type"),
    (tool(a={"type": "string", "minLength": -1}), "/properties/a/minLength", "malformed"),
    (tool(a={"type": "string", "minLength": True}), "/properties/a/minLength", "malformed"),
    (tool(a={"type": "number", "minimum": 10**400}), "/properties/a/minimum", "malformed"),
    (tool(a={"type": "number", "minimum": 10**5000, "description": "A"}), "/properties/a/minimum", "malformed"),
    (tool(a={"type": "number", "description": DEEP_DATA}), "/properties/a/description", "malformed"),
    (
        tool(a={"type": "array", "items": TEXT, "uniqueItems": True, "description": 5}),
        "/properties/a/description",
        "malformed",
    ),
    (tool(a={"anyOf": []}), "/properties/a/anyOf", "malformed"),
    (tool(a={"type": "string", "minLength": 1.5}), "/properties/a/minLength", "malformed"),
    ({**tool(), "$vocabulary": {"https://example.com": 1}}, "/$vocabulary", "malformed"),
    ({**tool(), "dependencies": {"a": ["b", "b"]}}, "/dependencies", "malformed"),
    (tool(a={"anyOf": {"type": "string"}}), "/properties/a/anyOf", "malformed"),
    (tool(a={"type": "array", "items": "string"}), "/properties/a/items", "not-a-schema"),
    (tool(a={"type": "string", "description": "\ud800"}), "/properties/a/description", "malformed"),
    (tool(**{"\ud800": TEXT}), "/properties/`\\ud800`", "not-json"),
    ({"type": "object", "properties": {5: TEXT}}, "/properties/`5`", "not-json"),
    ({"type": "object", "properties": {}, 5: TEXT}, "/`5`", "not-json"),
    (tool(a={"type": "string", "default": {1, 2}}), "/properties/a/default", "not-json"),
    (tool(a={"type": "string", "default": {5: 1}}), "/properties/a/default", "not-json"),
]


@pytest.mark.parametrize(
    ("schema", "pointer", "pattern"), MALFORMED, ids=[f"{row}-{case[2]}" for row, case in enumerate(MALFORMED)]
)
def test_malformed_input_ends_in_a_finding_at_its_place(schema: Any, pointer: str, pattern: str) -> None:
    refused = [each for each in check(schema, "mcp") if each.severity is Severity.REFUSED]

    assert (pointer, pattern) in [(finding.pointer, finding.pattern) for finding in refused]


VERTEX_ONLY: list[dict[str, Any]] = [
    tool(a={"type": "OBJECT", "additionalProperties": {"type": "STRING"}}),
    tool(a={"type": "OBJECT", "additionalProperties": False}),
    {**tool(a={"ref": "#/defs/A"}), "defs": {"A": {"type": "STRING"}}},
]


@pytest.mark.parametrize("schema", VERTEX_ONLY, ids=repr)
def test_vertex_takes_fields_that_the_developer_api_lacks(schema: dict[str, Any]) -> None:
    assert [each for each in check(schema, "gemini-vertex") if each.severity is Severity.REFUSED] == []
    assert [each for each in check(schema, "gemini-parameters") if each.severity is Severity.REFUSED]


def test_zero_is_lost_as_each_api_loses_it() -> None:
    schema = tool(a={"type": "INTEGER", "minimum": 0, "maximum": 0}, b={"type": "STRING", "maxLength": 0})
    lost = {
        target: [each.pointer for each in check(schema, target) if each.severity is Severity.LOSSY]
        for target in (Target.GEMINI_PARAMETERS, Target.GEMINI_VERTEX)
    }

    assert lost[Target.GEMINI_PARAMETERS] == ["/properties/b/maxLength"]
    assert lost[Target.GEMINI_VERTEX] == [
        "/properties/a/minimum",
        "/properties/a/maximum",
        "/properties/b/maxLength",
    ]


def test_zero_bound_in_the_description_is_not_reported() -> None:
    said = tool(a={"type": "INTEGER", "minimum": 0, "description": "0 or more."})
    not_said = tool(a={"type": "INTEGER", "minimum": 0, "description": "10 or 0.5 or v0."})

    assert found(said, Target.GEMINI_VERTEX, "zero-bound") == []
    assert len(found(not_said, Target.GEMINI_VERTEX, "zero-bound")) == 1


def test_portable_encodings_are_taken_without_a_word_by_the_clients_of_an_mcp_server() -> None:
    schema = {
        **tool(
            query={"type": "string", "description": "1 to 200 characters.", "minLength": 1, "maxLength": 200},
            kind={"type": "string", "enum": ["book", "film"]},
            count={"type": "integer", "minimum": 1, "maximum": 50, "description": "1 to 50.", "default": 10},
            tags={"type": "array", "items": TEXT, "description": "Which ones"},
            where={"anyOf": [{"type": "string", "description": "A name"}, tool(id={"type": "integer"})]},
            meta={"type": "object", "description": "Text by name"},
        ),
        "required": ["query"],
    }

    assert check(schema, "mcp") == ()


def test_value_of_an_unknown_keyword_is_not_checked() -> None:
    schema = tool(a={"type": "string", "nullable": "yes", "propertyOrdering": 5})

    assert {finding.pattern for finding in check(schema, "anthropic")} == {"nullable"}
    assert "malformed" in {finding.pattern for finding in check(schema, "gemini-parameters")}


def test_rule_that_only_adds_to_a_schema_needs_no_type() -> None:
    condition = {"properties": {"a": {"const": "x"}}, "required": ["a", "b"]}
    schema = {**tool(a=TEXT, b=TEXT), "if": condition, "then": {"required": ["b"]}}

    patterns = {finding.pattern for finding in check(schema, "mcp")}

    assert patterns == {"if", "then", "const"}


def test_dependencies_on_names_are_not_checked_as_schemas() -> None:
    schema = {**tool(a=TEXT, b=TEXT), "dependencies": {"a": ["b"]}}

    assert {finding.pattern for finding in check(schema, "mcp")} == {"dependencies"}
    assert check(schema, "anthropic") == ()


def test_findings_are_in_document_order() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"b": {"oneOf": [{"const": 1}]}, "a": {"type": "array"}},
        "required": ["c"],
        "$defs": {},
    }

    pointers = [each.pointer for each in check(schema, "gemini-parameters") if each.severity is Severity.REFUSED]

    assert pointers == [
        "/$schema",
        "/properties/b/oneOf",
        "/properties/b/oneOf/0",
        "/properties/b/oneOf/0/const",
        "/properties/a",
        "/required/0",
        "/$defs",
    ]


def test_first_model_that_gemini_answered_with_text_is_named_at_its_reference() -> None:
    schema = {
        **tool(files={"type": "array", "items": {"$ref": "#/$defs/FileReadRequest"}}),
        "$defs": {"FileReadRequest": tool(path=TEXT)},
    }

    finding = found(schema, Target.GEMINI_PARAMETERS, "$ref")[0]

    assert finding.pointer == "/properties/files/items/$ref"
    assert finding.path == "$.properties.files.items['$ref']"
    assert finding.message.startswith("`$ref`: the protobuf message `Schema` has no such field")


def test_reference_into_a_cycle_is_not_the_cycle() -> None:
    schema = {**tool(a={"$ref": "#/$defs/Tree"}), "required": ["a"], "$defs": {"Tree": TREE}}

    pointers = [finding.pointer for finding in check(schema, "gemini-json") if "recursive" in finding.pattern]

    assert pointers == ["/$defs/Tree/properties/children/items/$ref"]


def test_cycle_through_two_models_is_named_at_both() -> None:
    models = {"A": tool(b={"$ref": "#/$defs/B"}), "B": tool(a={"$ref": "#/$defs/A"}), "C": TEXT}
    schema = {**tool(a={"$ref": "#/$defs/A"}, c={"$ref": "#/$defs/C"}), "$defs": models}

    pointers = [finding.pointer for finding in found(schema, Target.MCP, "recursive-$ref")]

    assert pointers == ["/$defs/A/properties/b/$ref", "/$defs/B/properties/a/$ref"]


def test_message_quotes_long_and_unprintable_text_briefly() -> None:
    finding = found(tool(**{"a\n" + "x" * 500: TEXT}), Target.ANTHROPIC, "property-name")[0]

    assert "\n" not in finding.message
    assert len(finding.message) < 200


@pytest.mark.parametrize("target", Target)
def test_keyword_that_a_rule_refuses_or_loses_is_never_sent(target: Target) -> None:
    dialect = providers().dialects[target]
    costly = {rule.pattern for rule in rules_for(target) if rule.severity is not Severity.NOTE} & KNOWN_KEYWORDS

    # `format` is refused beyond the listed formats; a union is sent as `anyOf`.
    assert {keyword for keyword in costly if dialect.accepts(keyword)} <= {"format", "oneOf"}
    assert dialect.formats or "format" not in costly


@pytest.mark.parametrize("target", Target)
def test_keyword_that_is_not_sent_has_a_rule_of_its_own_or_the_general_one(target: Target) -> None:
    dialect = providers().dialects[target]
    patterns = {rule.pattern for rule in rules_for(target)}

    for keyword in ("not", "if", "const", "multipleOf", "patternProperties", "propertyNames", "$ref"):
        assert dialect.accepts(keyword) or patterns & {keyword, "unlisted-keyword"}, keyword


def test_one_scan_gives_every_target_its_own_findings() -> None:
    schema = {**tool(a={"const": 1, "$ref": "#/$defs/a"}, b={"type": "array"}), "$defs": {"a": TEXT}, "anyOf": []}

    assert check_targets(schema, Target) == {target: check(schema, target) for target in Target}


def test_unknown_target_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="claude"):
        check({}, "claude")


def self_containing() -> dict[str, Any]:
    schema = tool()
    schema["properties"] = {"a": schema, "b": schema}
    return schema


def self_containing_data() -> dict[str, Any]:
    value: list[Any] = [1]
    value.append(value)
    return tool(a={"type": "string", "default": value})


def shared(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "const": "x"}
    for _ in range(levels):
        schema = tool(a=schema, b=schema)
    return schema


def referenced(levels: int) -> dict[str, Any]:
    models = {
        f"M{number}": tool(a={"$ref": f"#/$defs/M{number + 1}"}, b={"$ref": f"#/$defs/M{number + 1}"})
        for number in range(levels)
    }
    return {**tool(a={"$ref": "#/$defs/M0"}), "$defs": {**models, f"M{levels}": TEXT}}


def shared_list() -> dict[str, Any]:
    branch = tool(a={"type": "string", "enum": [f"{number}" for number in range(9_000)]})
    return tool(a={"anyOf": [branch] * 9_000})


BOUNDED = {
    "400 levels": nested(400),
    "holds itself": self_containing(),
    "data holds itself": self_containing_data(),
    "shared 40 levels": shared(40),
    "reference bomb": referenced(2_000),
    "shared list of choices": shared_list(),
    "100,000 names required": {**tool(a=TEXT), "required": [f"n{number}" for number in range(100_000)]},
    "300,000 choices": tool(a={"type": "string", "enum": list(range(300_000))}),
    "wide": tool(**{f"p{number}": {"type": ["string", "null"]} for number in range(30_000)}),
}


@pytest.mark.uncovered
@pytest.mark.parametrize("target", [Target.MCP, Target.GEMINI_PARAMETERS])
@pytest.mark.parametrize("name", BOUNDED)
def test_bottomless_and_huge_schemas_end_soon(name: str, target: Target) -> None:
    begin = time.process_time()
    findings = check(BOUNDED[name], target)

    assert time.process_time() - begin < 20
    assert len([each for each in findings if each.pattern in {"too-deep", "too-large"}]) <= 2


@pytest.mark.parametrize("name", ["400 levels", "holds itself", "shared 40 levels", "wide"])
def test_one_finding_shows_where_the_walk_stopped(name: str) -> None:
    stops = [each for each in check(BOUNDED[name], "openai") if each.pattern in {"too-deep", "too-large"}]

    assert stops
    assert len({each.pattern for each in stops}) == len(stops)
    assert all(each.severity is Severity.REFUSED for each in stops)


WORDS = st.sampled_from(
    [
        *(name for name in CASES if "-" not in name),
        "type",
        "properties",
        "items",
        "required",
        "anyOf",
        "enum",
        "minimum",
    ]
)
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=3),
    st.sampled_from(["string", "object", "array", "STRING", "#", "#/$defs/a", "https://example.com", "a"]),
)
ODD_SCHEMAS = st.recursive(
    ODD_VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(WORDS, inner, max_size=5),
        st.dictionaries(st.one_of(WORDS, ODD_VALUES), inner, max_size=3),
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(schema=ODD_SCHEMAS, target=st.sampled_from(Target))
def test_nothing_raises_changes_its_input_or_differs_the_second_time(schema: Any, target: Target) -> None:
    before = repr(schema)

    findings = check(schema, target)

    assert repr(schema) == before
    assert check(schema, target) == findings
    assert all(finding.message and finding.as_data()["path"].startswith("$") for finding in findings)
