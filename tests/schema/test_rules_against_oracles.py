"""The rules compared with oracles: Google's message and types, and the metaschema of JSON Schema 2020-12."""

from __future__ import annotations

import copy
import json
import math
from typing import Any
from urllib.parse import urljoin

import pytest
from google.ai.generativelanguage_v1beta.types import content
from google.genai import types
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types
from pydantic import ValidationError

from toolmason.schema import Severity, Target, check
from toolmason.schema.providers import providers

MESSAGE = content.Schema.pb(content.Schema())
NAMES = ("a", "type", "$ref", "items", "b-c")
TEXT: dict[str, Any] = {"type": "STRING"}


def refusals(schema: Any, target: Target) -> list[str]:
    return [f"{each.pattern} at {each.path}" for each in check(schema, target) if each.severity is Severity.REFUSED]


def message_refuses(schema: dict[str, Any]) -> str:
    """Return the error of the parser of Gemini's message for a schema, or ""."""
    try:
        json_format.ParseDict(schema, type(MESSAGE)(), ignore_unknown_fields=False)
    except json_format.ParseError as error:
        return str(error)
    except OverflowError as error:  # a whole number that no double can hold; the parser lets it through
        return str(error)
    return ""


def types_refuse(schema: dict[str, Any]) -> str:
    """Return the error of google-genai's types for a schema, or ""."""
    try:
        types.Schema.model_validate(schema)
        types.FunctionDeclaration.model_validate({"name": "f", "parameters": schema})
    except ValidationError as error:
        return str(error)
    return ""


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "OBJECT", "properties": properties}


def nested(levels: int) -> dict[str, Any]:
    schema = TEXT
    for _ in range(levels):
        schema = {"type": "ARRAY", "items": schema}
    return schema


def data(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def test_message_has_the_fields_that_the_rules_list() -> None:
    fields = {field.json_name for field in MESSAGE.DESCRIPTOR.fields}

    assert fields == (providers().dialects[Target.GEMINI_PARAMETERS].keywords or frozenset())


def test_message_names_its_fields_in_snake_case_as_the_rules_expect() -> None:
    for field in MESSAGE.DESCRIPTOR.fields:
        name = field.name.rstrip("_")
        if name != field.json_name:
            value = ["a"] if name in {"any_of", "property_ordering"} else 5
            patterns = {each.pattern for each in check({**tool(a=TEXT), name: value}, Target.GEMINI_PARAMETERS)}
            assert patterns & {"snake-case", "property_ordering"}, name


def test_message_knows_the_types_that_the_rules_know() -> None:
    names = set(MESSAGE.DESCRIPTOR.fields_by_name["type_"].enum_type.values_by_name) - {"TYPE_UNSPECIFIED"}

    for name in names:
        findings = check(tool(a={"type": name, "items": TEXT}), Target.GEMINI_PARAMETERS)
        assert "unknown-type" not in {each.pattern for each in findings}
    assert len(names) == 7


REFUSED_BY_THE_MESSAGE: list[dict[str, Any]] = [
    *({keyword: value} for keyword, value in {
        "$ref": "#", "$defs": {}, "definitions": {}, "$id": "a", "$schema": "a", "additionalProperties": False,
        "oneOf": [], "allOf": [], "not": {}, "if": {}, "then": {}, "else": {}, "const": "a", "exclusiveMinimum": 1,
        "exclusiveMaximum": 1, "multipleOf": 1, "dependentRequired": {}, "dependentSchemas": {}, "prefixItems": [TEXT],
        "contains": {}, "unevaluatedProperties": False, "unevaluatedItems": False, "contentMediaType": "a",
        "contentEncoding": "a", "patternProperties": {}, "propertyNames": {}, "uniqueItems": True, "$comment": "a",
        "examples": [], "deprecated": True, "discriminator": {}, "x-order": 1, "ref": "a", "defs": {}, "": 1,
    }.items()),
    {"type": ["STRING", "NULL"]},
    {"type": "text"},
    {"type": ""},
    {"enum": [1]},
    {"enum": [None]},
    {"enum": "a"},
    {"required": True},
    {"required": [1]},
    {"properties": []},
    {"properties": {"a": None}},
    {"properties": {"a": True}},
    {"properties": {"a": "string"}},
    {"items": True},
    {"items": [TEXT]},
    {"items": "string"},
    {"anyOf": {}},
    {"anyOf": [True]},
    {"anyOf": [None]},
    {"title": 5},
    {"description": "\ud800"},
    {"nullable": "true"},
    {"minimum": math.nan},
    {"minimum": math.inf},
    {"minimum": 10**400},
    {"minimum": "a"},
    {"minimum": []},
    {"maxItems": True},
    {"maxItems": 1.5},
    {"maxItems": 2**63},
    {"maxLength": 1e30},
    {"maxItems": " 5"},
    {"default": {1: 2}},
    {"default": 10**400},
    {"default": "\ud800"},
    {"default": data(50)},
    {"items": {"default": data(49)}},
    nested(100),
]  # fmt: skip


@pytest.mark.parametrize("schema", REFUSED_BY_THE_MESSAGE, ids=lambda schema: ascii(schema)[:60])
def test_rules_refuse_schemas_that_the_message_refuses(schema: dict[str, Any]) -> None:
    inner = schema if schema == nested(100) else tool(a={**TEXT, **schema})

    assert message_refuses(inner)
    assert refusals(inner, Target.GEMINI_PARAMETERS)
    assert message_refuses(tool(a=TEXT)) == ""
    assert refusals(tool(a=TEXT), Target.GEMINI_PARAMETERS) == []


TAKEN_BY_BOTH: list[dict[str, Any]] = [
    tool(),
    tool(a={**TEXT, "title": "A", "default": "a", "example": {"$ref": 1}, "nullable": True, "format": "uri"}),
    tool(a={**TEXT, "enum": ["a", "b"], "minLength": 1, "maxLength": 1.0, "pattern": "a"}),
    tool(a={"type": "INTEGER", "minimum": -1, "maximum": 10**300}),
    tool(a={"type": "NUMBER", "minimum": "-5", "maximum": "5.5"}),
    tool(a={"type": "ARRAY", "items": TEXT, "minItems": "5", "maxItems": 2**63 - 1}),
    tool(a={"anyOf": [TEXT, {"type": "NULL"}], "description": "A"}),
    {**tool(a=TEXT, b=TEXT), "required": ["b"], "propertyOrdering": ["b", "a"], "minProperties": 1},
    tool(a={**TEXT, "description": None, "max_length": 5}),
    tool(**{"$ref": TEXT, "not": TEXT, "type": {"type": "OBJECT", "properties": {"properties": TEXT}}}),
    tool(a={**TEXT, "default": data(48)}),
    {"type": "OBJECT", "properties": {"a": nested(98)}},
]


@pytest.mark.parametrize("schema", TAKEN_BY_BOTH, ids=lambda schema: ascii(schema)[:60])
def test_the_message_accepts_schemas_that_the_rules_accept(schema: dict[str, Any]) -> None:
    assert refusals(schema, Target.GEMINI_PARAMETERS) == []
    assert message_refuses(schema) == ""


def test_depth_of_the_message_is_counted_to_the_level() -> None:
    for levels, is_taken in ((98, True), (99, False)):
        schema = tool(a=nested(levels))
        assert bool(message_refuses(schema)) is not is_taken
        assert bool(refusals(schema, Target.GEMINI_PARAMETERS)) is not is_taken


def test_lower_case_types_are_a_note_since_only_the_python_parser_minds() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}

    assert message_refuses(schema)
    assert [(each.pattern, each.severity) for each in check(schema, Target.GEMINI_PARAMETERS)] == [
        ("lower-case-type", Severity.NOTE)
    ]


JSON_DATA = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)
TYPE_NAMES = st.sampled_from(["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"])
COUNT: st.SearchStrategy[Any] = st.one_of(
    st.integers(-1, 3), st.sampled_from([2**63 - 1, 2**63, 1.0, 1.5, "5", "x", True, None, []])
)
NUMBER: st.SearchStrategy[Any] = st.one_of(
    st.integers(-3, 3), st.floats(), st.sampled_from([10**400, "5", "x", True, None, {}])
)
WORD = st.one_of(st.sampled_from(["a", "", "\ud800"]), st.none(), st.integers(), st.just(["a"]))
WORDS = st.one_of(st.lists(st.sampled_from(NAMES), max_size=3), st.lists(WORD, max_size=2), st.sampled_from([True, {}]))


def sound(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def leaf(values: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    return {
        "type": st.one_of(TYPE_NAMES, TYPE_NAMES, st.sampled_from(["text", "", ["STRING"], None, {}])),
        "title": WORD,
        "description": st.one_of(st.just("A"), WORD),
        "nullable": st.sampled_from([True, False, None, "true", 1]),
        "enum": st.one_of(st.lists(st.sampled_from(["a", "b"]), max_size=2), WORDS),
        "required": WORDS,
        "propertyOrdering": WORDS,
        "default": values,
        "example": values,
        **dict.fromkeys(["minimum", "maximum"], NUMBER),
        **dict.fromkeys(["minLength", "max_length", "minItems", "maxItems", "maxProperties"], COUNT),
        **dict.fromkeys(["$ref", "const", "oneOf", "x-order", "additionalProperties"], JSON_DATA),
    }


def branch(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    odd: st.SearchStrategy[Any] = st.one_of(inner, inner, inner, st.sampled_from([None, True, "string", [], 5]))
    return st.one_of(
        sound(leaf(JSON_DATA)),
        st.fixed_dictionaries(
            {"type": st.just("OBJECT"), "properties": st.dictionaries(st.sampled_from(NAMES), odd, max_size=3)},
            optional={"required": st.lists(st.sampled_from(NAMES), max_size=2), "description": st.just("A")},
        ),
        st.fixed_dictionaries({"type": st.just("ARRAY"), "items": odd}),
        st.fixed_dictionaries({"anyOf": st.lists(odd, max_size=3)}),
    )


SOUND_LEAF = st.sampled_from(
    [
        TEXT,
        {"type": "STRING", "enum": ["a"]},
        {"type": "INTEGER", "minimum": 1, "maximum": 5},
        {"type": "BOOLEAN", "default": True, "title": "A"},
        {"type": "NUMBER", "nullable": True},
        {"type": "NULL"},
    ]
)
GEMINI_SCHEMAS = st.builds(
    lambda properties: {"type": "OBJECT", "properties": properties},
    st.dictionaries(
        st.sampled_from(NAMES),
        st.recursive(st.one_of(SOUND_LEAF, SOUND_LEAF, sound(leaf(JSON_DATA))), branch, max_leaves=5),
        max_size=3,
    ),
)


@settings(max_examples=150, deadline=None)
@given(schema=GEMINI_SCHEMAS)
def test_any_schema_that_the_message_refuses_the_rules_refuse(schema: dict[str, Any]) -> None:
    why = message_refuses(schema)

    assert not why or refusals(schema, Target.GEMINI_PARAMETERS), why


@settings(max_examples=100, deadline=None)
@given(schema=GEMINI_SCHEMAS)
def test_any_schema_that_the_rules_pass_the_types_of_google_genai_take(schema: dict[str, Any]) -> None:
    if not refusals(schema, Target.GEMINI_PARAMETERS):
        assert types_refuse(copy.deepcopy(schema)) == ""


METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)
PLAIN_TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
ODD = st.sampled_from([None, True, False, 0, -1, 1.5, 2.0, "", "a", "#", [], ["a"], ["a", "a"], [1], {}, {"a": 1}])
ODD_KEYWORDS = st.sampled_from(sorted(KNOWN_TO_JSON_SCHEMA := {
    "$id", "$schema", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$comment", "$defs",
    "prefixItems", "items", "contains", "additionalProperties", "properties", "patternProperties", "dependentSchemas",
    "propertyNames", "if", "then", "else", "allOf", "anyOf", "oneOf", "not", "unevaluatedItems",
    "unevaluatedProperties", "type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains",
    "minContains", "maxProperties", "minProperties", "required", "dependentRequired", "title", "description",
    "default", "deprecated", "readOnly", "writeOnly", "examples", "format", "contentMediaType", "contentEncoding",
    "contentSchema", "definitions", "dependencies", "$recursiveAnchor", "$recursiveRef",
}))  # fmt: skip
JSON_SCHEMAS = st.recursive(
    st.one_of(st.fixed_dictionaries({"type": PLAIN_TYPES}), st.booleans()),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)}
        ),
        st.dictionaries(ODD_KEYWORDS, st.one_of(inner, ODD), max_size=2),
        st.fixed_dictionaries({"anyOf": st.lists(st.one_of(inner, ODD), max_size=2)}),
        st.fixed_dictionaries({"$defs": st.dictionaries(st.sampled_from(NAMES), st.one_of(inner, ODD), max_size=2)}),
    ),
    max_leaves=6,
)


AGAINST_THE_METASCHEMA = {
    "draft-04-exclusive",
    "draft-07-items",
    "malformed",
    "not-a-schema",
    "null-keyword",
    "repeated-name",
    "unknown-type",
    "upper-case-type",
}


def test_every_keyword_of_the_metaschema_is_one_the_rules_know() -> None:
    whole = Draft202012Validator.META_SCHEMA
    parts = [REGISTRY.contents(urljoin(whole["$id"], part["$ref"])) for part in whole["allOf"]]
    known = {keyword for part in (whole, *parts) for keyword in part["properties"]}

    assert known == KNOWN_TO_JSON_SCHEMA


@settings(max_examples=150, deadline=None)
@given(schema=st.builds(lambda inner: {"type": "object", "properties": {"a": inner}}, JSON_SCHEMAS))
def test_anthropic_and_mcp_refuse_exactly_the_schemas_that_the_metaschema_refuses(schema: dict[str, Any]) -> None:
    is_valid = METASCHEMA.is_valid(schema)

    for target in (Target.ANTHROPIC, Target.MCP):
        patterns = {each.pattern for each in check(schema, target) if each.severity is Severity.REFUSED}
        assert is_valid is patterns.isdisjoint(AGAINST_THE_METASCHEMA), patterns
