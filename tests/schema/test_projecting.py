"""Projections to clients and providers, construct by construct."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.schema import Finding, Severity, Target, advertise, check, project
from toolmason.schema.emit import MAX_BYTES

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def shown(part: Any, target: str = "mcp", *, required: bool = True) -> Any:
    """Return the projection of a property with the schema `part`."""
    definitions = {"a/b c": TEXT, "named": {"$anchor": "here", "type": "integer"}, "T": {"const": "t"}}
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"] * required, "$defs": definitions}
    return project(schema, target).schema["properties"]["x"]


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        (
            {"oneOf": [{"const": "a", "description": "First."}, {"const": "b", "title": "Second"}]},
            {"type": "string", "description": '"a": First; "b": Second.', "enum": ["a", "b"]},
        ),
        ({"enum": [1, 2, 3]}, {"type": "integer", "description": "1 to 3.", "minimum": 1, "maximum": 3}),
        ({"enum": [5, 1, 2]}, {"type": "integer", "description": "One of 1, 2, 5.", "minimum": 1, "maximum": 5}),
        ({"const": 7}, {"type": "integer", "description": "Exactly 7.", "minimum": 7, "maximum": 7}),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean", "description": "Must be true."}),
        (
            {"enum": ["a", ""]},
            {
                "anyOf": [
                    {"type": "string", "enum": ["a"]},
                    {"type": "string", "description": "Must be empty.", "pattern": "^$"},
                ]
            },
        ),
        (
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5},
            {"type": "integer", "description": "1 to 9.", "minimum": 1, "maximum": 9},
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "description": "Must be greater than 0.", "minimum": 0},
        ),
        ({"type": "number", "multipleOf": 1}, WHOLE),
        (
            {"type": "integer", "multipleOf": 5, "description": "Step"},
            {"type": "integer", "description": "Step. Must be a multiple of 5."},
        ),
        ({"type": ["string", "integer"]}, {"anyOf": [TEXT, WHOLE]}),
        (
            {"oneOf": [TEXT, WHOLE], "description": "It"},
            {"anyOf": [{"type": "string", "description": "It"}, WHOLE]},
        ),
        ({"type": ["string", "null"]}, {"type": "string", "description": "May be null."}),
        ({"type": "STRING", "nullable": True}, {"type": "string", "description": "May be null."}),
        ({"type": "null"}, {"type": "string", "description": "Must be null."}),
        (
            {"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 9, "minimum": 3}]},
            {"type": "integer", "description": "3 to 9.", "minimum": 3, "maximum": 9},
        ),
        (
            {"type": "object", "additionalProperties": WHOLE},
            {"type": "object", "description": "Names mapped to integer."},
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
            {"type": "object", "properties": {"a": TEXT}},
        ),
        (
            {"type": "array", "prefixItems": [TEXT, WHOLE], "items": False},
            {
                "type": "array",
                "description": "Items in order: 1. string; 2. integer. At most 2 items.",
                "items": {"anyOf": [TEXT, WHOLE]},
                "maxItems": 2,
            },
        ),
        (
            {"type": "array", "items": [TEXT, TEXT], "additionalItems": False, "minItems": 2},
            {
                "type": "array",
                "description": "Items in order: 1. string; 2. string. Exactly 2 items.",
                "items": TEXT,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        ({"type": "object", "required": ["a"]}, {"type": "object", "properties": {"a": shown({})}, "required": ["a"]}),
        (
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "anyOf": [{"required": [name]} for name in "ab"]},
            {"type": "object", "description": "Give `a` or `b` (at least one).", "properties": {"a": TEXT, "b": TEXT}},
        ),
        ({"type": "string", "not": {"const": "x"}}, {"type": "string", "description": 'Must not be "x".'}),
        ({"type": ["string", "null"], "not": {"type": "null"}}, TEXT),
        ({"$ref": "#/$defs/a~1b%20c"}, TEXT),
        ({"$ref": "#here", "description": "It"}, {"type": "integer", "description": "It"}),
        ({"type": "string", "examples": ["a", "b", "c"]}, {"type": "string", "description": 'For example "a" or "b".'}),
        (
            {"type": "string", "title": "X", "$comment": "c", "deprecated": True},
            {"type": "string", "description": "Deprecated."},
        ),
    ],
    ids=lambda each: json.dumps(each)[:60],
)  # fmt: skip
def test_construct_is_rewritten_in_a_portable_encoding(part: Any, sent: Any) -> None:
    assert shown(part) == sent


def test_any_value_is_a_union_of_every_type_and_its_arrays_have_items() -> None:
    assert [each["type"] for each in shown({})["anyOf"]] == ["string", "number", "boolean", "array", "object"]
    assert "anyOf" in shown(True)["anyOf"][3]["items"]
    assert "anyOf" in shown({"type": "array"})["items"]


@pytest.mark.parametrize("part", [{"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}], "default": None}])
def test_null_of_an_optional_argument_is_left_out_since_servers_take_it_as_absent(part: Any) -> None:
    assert shown(part, required=False) == TEXT


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["string", "null"]},
        {"type": ["string", "integer", "null"]},
        {"enum": ["a", 1, None]},
        {"enum": ["", "a", None]},
        {"type": "array", "items": {"type": ["string", "null"]}},
        {"type": "array", "items": {"enum": ["a", None]}},
    ],
    ids=json.dumps,
)
def test_null_of_a_required_value_or_an_item_is_in_words_and_reported(part: Any) -> None:
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}
    projection = advertise(schema)

    assert '{"type": "null"}' not in json.dumps(projection.schema)
    assert "May be null." in json.dumps(projection.schema)
    assert ("null", Severity.NARROWED) in {(each.pattern, each.severity) for each in projection.findings}
    assert not [each for each in check(projection.schema, Target.MCP) if each.pattern == "null-type"]


def test_null_beside_a_default_is_reported_as_lossy() -> None:
    projection = advertise({"type": "object", "properties": {"x": {"type": ["integer", "null"], "default": 10}}})
    assert [(each.severity, each.path) for each in projection.findings if each.lossy] == [
        (Severity.NARROWED, "$.properties.x")
    ]


def test_root_alternatives_become_one_object_and_words() -> None:
    tagged = [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": WHOLE}, "required": ["kind", "x"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "x": TEXT}, "required": ["kind"]},
    ]
    assert advertise({"oneOf": tagged}).schema == {
        "type": "object",
        "description": 'Give `kind` = "a" with `x`; or `kind` = "b".',
        "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"anyOf": [WHOLE, TEXT]}},
        "required": ["kind"],
    }


def test_properties_that_only_a_condition_names_are_declared() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": TEXT},
        "if": {"properties": {"kind": {"const": "file"}}},
        "then": {"properties": {"path": TEXT}, "required": ["path"]},
        "dependentSchemas": {"kind": {"properties": {"note": TEXT}}},
    }
    sent = advertise(schema).schema
    assert list(sent["properties"]) == ["kind", "path", "note"]
    assert 'If `kind` is "file", give `path` (string)' in sent["description"]
    assert "With `kind`, `note` must be a string" in sent["description"]


KEYWORDS = [
    "$ref",
    "$defs",
    "properties",
    "type",
    "if",
    "not",
    "title",
    "default",
    "required",
    "items",
    "enum",
    "anyOf",
]


@pytest.mark.parametrize("target", Target)
def test_properties_named_like_keywords_stay_at_every_level(target: Target) -> None:
    inner: dict[str, Any] = {"type": "object", "properties": {name: {"type": "string"} for name in KEYWORDS}}
    schema = {"type": "object", "properties": dict.fromkeys(KEYWORDS, inner)}
    sent = project(schema, target, rename=False).schema["properties"]
    assert list(sent) == KEYWORDS
    for each in sent.values():
        given = each["anyOf"][0] if "anyOf" in each else each
        assert list(given["properties"]) == KEYWORDS


@pytest.mark.parametrize("target", Target)
def test_data_is_never_read_as_a_schema(target: Target) -> None:
    data = {"$ref": "https://example.org/x", "type": ["a"], "title": "T"}
    projection = project({"type": "object", "properties": {"x": {"type": "object", "default": data}}}, target)
    assert not any("$ref" in each.pattern or each.pattern == "type-array" for each in projection.findings)


HARD: dict[str, Any] = {
    "$defs": {
        "Node": {
            "type": "object",
            "title": "Node",
            "properties": {
                "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "v": {"enum": [1, 3, "a", None]},
            },
        }
    },
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}, "b": {"type": ["array", "object"]}, "a": {"oneOf": [TEXT, {}]}},
    "required": ["root"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("target", Target)
def test_schema_that_is_given_is_not_changed_and_the_answer_is_always_the_same(target: Target) -> None:
    before = copy.deepcopy(HARD)
    first = project(HARD, target)
    assert before == HARD
    assert project(copy.deepcopy(HARD), target) == first
    assert list(first.schema["properties"]) == ["root", "b", "a"]


@pytest.mark.parametrize("target", Target)
def test_projection_is_idempotent(target: Target) -> None:
    once = project(HARD, target).schema
    assert project(once, target).schema == once


def test_the_advertised_schema_has_no_keyword_that_clients_mishandle() -> None:
    text = json.dumps(advertise(HARD).schema)
    assert not [word for word in ("$ref", "$defs", "oneOf", "allOf", "const", "title", "null,") if f'"{word}"' in text]


def test_changing_the_projection_does_not_change_the_original() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "object", "default": {"a": [1]}}}}
    advertise(schema).schema["properties"]["x"]["default"]["a"].append(2)
    assert schema["properties"]["x"]["default"] == {"a": [1]}  # type: ignore[index]  # it is a dict


@pytest.mark.parametrize(
    ("target", "part", "given"),
    [
        ("gemini-parameters", {"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ("gemini-vertex", {"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        (
            "gemini-parameters",
            {"enum": [1, 2, 5]},
            {
                "anyOf": [
                    {"type": "INTEGER", "minimum": 1, "maximum": 2},
                    {"type": "INTEGER", "minimum": 5, "maximum": 5},
                ]
            },
        ),
        ("gemini-parameters", {"type": "integer", "minimum": 0}, {"type": "INTEGER", "minimum": 0}),
        (
            "gemini-vertex",
            {"type": "integer", "minimum": 0},
            {"type": "INTEGER", "description": "At least 0.", "minimum": 0},
        ),
        (
            "gemini-parameters",
            {"type": "string", "maxLength": 2**70, "pattern": "^(?!x)", "format": "path"},
            {"type": "STRING", "description": f"At most {2**70} characters. Must match `^(?!x)`. Format: path."},
        ),
        ("gemini-vertex", {"type": "null"}, {"type": "STRING", "nullable": True, "description": "Must be null."}),
        ("gemini-json", {"const": 5}, {"type": "integer", "enum": [5]}),
        (
            "gemini-json",
            {"type": "object", "additionalProperties": WHOLE},
            {"type": "object", "additionalProperties": WHOLE},
        ),
        (
            "anthropic",
            {"enum": [1, "a"]},
            {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}]},
        ),
        ("anthropic", {}, {}),
        ("anthropic", {"type": "number", "exclusiveMinimum": 0}, {"type": "number", "exclusiveMinimum": 0}),
        ("anthropic", {"type": "string", "not": {"$ref": "#/$defs/T"}}, {"type": "string", "not": {"const": "t"}}),
        ("openai", {"type": "object"}, {"type": "object", "properties": {}}),
        (
            "openai",
            {"oneOf": [TEXT, WHOLE], "description": "It", "default": 1},
            {"description": "It", "anyOf": [TEXT, WHOLE], "default": 1},
        ),
        (
            "openai-strict",
            {"type": "object", "properties": {"a": TEXT}},
            {
                "type": "object",
                "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else json.dumps(each)[:50],
)
def test_provider_is_given_its_own_dialect(target: str, part: Any, given: Any) -> None:
    assert shown(part, target) == given


def test_a_map_is_reported_as_narrowed_in_strict_mode() -> None:
    projection = project({"type": "object", "properties": {"x": {"type": "object"}}}, "openai-strict")
    assert projection.narrows
    assert not project({"type": "object", "properties": {"x": TEXT}}, "openai-strict").narrows
    assert not project({"type": "object", "properties": {}}, "openai-strict").narrows


def test_names_that_a_provider_refuses_are_replaced_and_lead_back() -> None:
    schema = {"type": "object", "properties": {"$top": WHOLE, "top": TEXT, "9": TEXT, "äö": TEXT}, "required": ["$top"]}
    projection = project(schema, "anthropic")
    assert projection.renamed == {"top_2": "$top", "p_": "äö"}
    assert list(projection.schema["properties"]) == ["top_2", "top", "9", "p_"]
    assert projection.schema["required"] == ["top_2"]
    assert advertise(schema).renamed == {}
    assert advertise(schema, rename=True).renamed == {"top_2": "$top", "p_9": "9", "p_": "äö"}


@pytest.mark.parametrize(
    ("schema", "pattern", "path"),
    [
        ({"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}, "dangling-$ref", "$.properties.x['$ref']"),
        ({"type": "object", "properties": {"x": {"$ref": "a.json#/b"}}}, "network-$ref", "$.properties.x['$ref']"),
        ({"type": "object", "properties": {"a.b": "string"}}, "malformed", "$.properties['a.b']"),
        ({"type": "string"}, "root-not-object", "$"),
        ({"$ref": "#"}, "$ref", "$['$ref']"),
        ([], "malformed", "$"),
        (None, "malformed", "$"),
        (False, "root-not-object", "$"),
    ],
    ids=lambda each: json.dumps(each)[:40],
)
def test_an_unusable_schema_is_a_finding_with_a_path(schema: Any, pattern: str, path: str) -> None:
    projection = advertise(schema)
    refused = [(each.pattern, each.path) for each in projection.findings if each.severity is Severity.REFUSED]
    assert (pattern, path) in refused
    assert projection.schema["type"] == "object"


HUGE = 10**4_299


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object", "not": {"required": []}},
        {"type": "number", "enum": [10**400], "multipleOf": 0.5},
        {"type": "integer", "exclusiveMinimum": HUGE * 9},
        {"allOf": [{"multipleOf": 10**900 + 1}, {"multipleOf": 10**900 + 3}]},
        {"allOf": [{"multipleOf": HUGE + 1}, {"multipleOf": HUGE + 3}]},
        {"enum": [HUGE, HUGE * 10, "a"]},
        {"type": "integer", "default": HUGE * 10, "examples": [HUGE * 10]},
        {"const": {"a": [HUGE * 10]}},
        {"not": {"const": HUGE * 10}},
        {"allOf": [{"enum": [float("inf"), 1.5]}, {"type": "integer"}]},
        {"type": "number", "enum": [float("nan"), 1], "multipleOf": 0.5},
        {"enum": [{1: "a", "b": 2}, {(): 1}]},
        {"properties": {1: TEXT}},
        {1: 2, "not": {(): 1}},
    ],
    ids=lambda part: ", ".join(map(str, part)),
)
@pytest.mark.parametrize("target", Target)
def test_malformed_schemas_raise_no_exception(part: Any, target: Target) -> None:
    json.dumps(shown(part, target))


@pytest.mark.parametrize(
    ("part", "pattern"),
    [
        ({"type": "integer", "minimum": 10**1000}, "malformed"),
        ({"type": "integer", "enum": [10**1000]}, "malformed"),
        ({"type": "object", "properties": {1: TEXT}}, "malformed"),
        ({"type": "object", "not": {"required": []}}, "false-schema"),
    ],
    ids=["bound", "value", "name", "nothing fits"],
)
def test_lost_parts_of_a_malformed_schema_are_findings(part: Any, pattern: str) -> None:
    found = advertise({"type": "object", "properties": {"x": part}}).findings
    assert pattern in {each.pattern for each in found if each.lossy}


@pytest.mark.parametrize(
    ("values", "factor", "kept"),
    [
        ([0.1, 0.2, 0.3], 0.1, [0.1, 0.2, 0.3]),
        ([0.5, 19.99], 0.01, [0.5, 19.99]),
        ([0.5, 19.995], 0.01, [0.5]),
        ([1e300, 10**400, 3.5], 2, [1e300, 10**400]),
    ],
)
def test_choices_are_multiples_as_they_are_written(values: list[float], factor: float, kept: list[float]) -> None:
    made = project({"type": "object", "properties": {"x": {"enum": values, "multipleOf": factor}}}, "openai")
    assert made.schema["properties"]["x"]["enum"] == kept
    assert not [each for each in made.findings if each.pattern == "enum-of-other-type"]


def test_findings_point_into_the_schema_as_it_was_given() -> None:
    for finding in advertise(HARD).findings:
        value: Any = HARD
        for part in finding.pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value[key]


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("", "$"),
        ("/properties/a/anyOf/0", "$.properties.a.anyOf[0]"),
        ("/properties/items/items/10", "$.properties.items.items[10]"),
        ("/required/1", "$.required[1]"),
        ("/properties/a/enum/2", "$.properties.a.enum[2]"),
        ("/properties/404", "$.properties['404']"),
        ("/$defs/0/prefixItems/1/properties/2", "$['$defs']['0'].prefixItems[1].properties['2']"),
        ("/properties/anyOf/0", "$.properties.anyOf['0']"),
        ("/properties/required/0", "$.properties.required['0']"),
        ("/anyOf/007", "$.anyOf['007']"),
        ("/anyOf/\u0663", "$.anyOf['\u0663']"),
        ("/properties/it's~1a\\b", "$.properties['it\\'s/a\\\\b']"),
        ("/properties/a\nb\u2028\x7f", "$.properties['a\\nb\\u2028\\u007f']"),
        ("/properties/\U000e0001", "$.properties['\\udb40\\udc01']"),
    ],
)
def test_a_path_separates_names_from_indexes_and_escapes_control_characters(pointer: str, path: str) -> None:
    finding = Finding(pointer=pointer, pattern="x", severity=Severity.NOTE, lossy=False, message="")
    assert finding.path == path


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("minlength", "minLength"),
        ("min_length", "minLength"),
        ("maxLenght", "maxLength"),
        ("additional_properties", "additionalProperties"),
    ],
)
def test_a_keyword_that_is_misspelt_names_the_nearest(written: str, meant: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", written: 3}}}
    (found,) = advertise(schema).findings
    assert f"did you mean `{meant}`?" in found.message


@pytest.mark.parametrize("written", ["x-order", "placeholder", "id", "enumNames", "$comment", "optional"])
def test_a_known_foreign_keyword_is_not_reported_as_misspelt(written: str) -> None:
    (found,) = advertise({"type": "object", "properties": {"x": {"type": "string", written: 3}}}).findings
    assert "did you mean" not in found.message


@pytest.mark.parametrize("target", ["mcp", "openai", "anthropic"])
def test_a_required_name_gets_the_schema_of_its_matching_patterns(target: str) -> None:
    part = {
        "type": "object",
        "patternProperties": {"^a": WHOLE, "[0-9]$": {"minimum": 3}, "(b|c)+": TEXT},
        "additionalProperties": False,
        "required": ["a", "a1", "z9"],
    }
    found = shown(part, target)["properties"]
    assert found["a"] == WHOLE
    assert found["a1"]["type"] == "integer"
    assert found["a1"]["minimum"] == 3
    assert found["z9"] != found["a"]


def test_a_required_name_without_a_matching_pattern_gets_additional_properties() -> None:
    part = {"type": "object", "patternProperties": {"^a": WHOLE}, "required": ["b"]}
    assert shown({**part, "additionalProperties": TEXT}, "openai")["properties"] == {"b": TEXT}
    unsure = {**part, "patternProperties": {"(a|b)*": WHOLE}, "additionalProperties": TEXT}
    assert shown(unsure, "openai")["properties"] == {"b": {}}


def bomb(levels: int) -> dict[str, Any]:
    """Return a schema that doubles with every reference."""
    twice = {
        f"d{level}": {"type": "object", "properties": {key: {"$ref": f"#/$defs/d{level + 1}"} for key in "ab"}}
        for level in range(levels)
    }
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {**twice, f"d{levels}": TEXT}}


def nested(levels: int, keyword: str) -> dict[str, Any]:
    schema: Any = TEXT
    for _ in range(levels):
        schema = {"type": "array", "items": schema} if keyword == "items" else {keyword: [schema]}
    return {"type": "object", "properties": {"x": schema}}


def holds_itself() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["x"] = schema
    return schema


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize(
    "schema",
    [bomb(24), nested(400, "items"), nested(400, "allOf"), nested(400, "anyOf"), holds_itself()],
    ids=["bomb", "items", "allOf", "anyOf", "cycle"],
)
def test_work_is_bounded_and_cuts_are_findings(schema: dict[str, Any], target: Target) -> None:
    projection = project(schema, target)
    assert json.dumps(projection.schema).count('"type"') < 50_000
    is_cut = any(each.pattern in {"size", "depth", "recursion"} for each in projection.findings)
    assert is_cut or len(json.dumps(projection.schema)) < MAX_BYTES


def test_recursive_alternatives_are_distinguished_in_bounded_time() -> None:
    node = {
        "oneOf": [
            {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]},
            {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "end": TEXT}, "required": ["next", "end"]},
        ]
    }
    sent = advertise({"type": "object", "properties": {"x": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}).schema
    assert "Exactly one of the alternatives must fit" in json.dumps(sent)


@pytest.mark.parametrize(
    ("part", "most"),
    [
        ({"prefixItems": [TEXT, WHOLE], "items": False, "maxItems": 5}, 2),
        ({"prefixItems": [TEXT, WHOLE], "items": False, "maxItems": 1}, 1),
        ({"items": False}, 0),
        ({"prefixItems": [TEXT, False]}, 1),
    ],
)
def test_a_closed_list_holds_no_more_than_its_places(part: Any, most: int) -> None:
    assert shown({"type": "array", **part})["maxItems"] == most


NOTHING = {"allOf": [TEXT, {"type": "integer"}]}


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("part", [{"prefixItems": [False]}, {"items": [False]}, {"prefixItems": [NOTHING, TEXT]}])
def test_a_tuple_without_a_place_is_a_list_that_must_be_empty(part: Any, target: Target) -> None:
    sent = shown({"type": "array", **part}, target)
    assert "prefixItems" not in sent
    assert "items" in sent
    assert sent.get("maxItems") == 0


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize(
    ("part", "most"),
    [
        ({"items": NOTHING}, 0),
        ({"items": {"type": "integer", "minimum": 5, "maximum": 1}}, 0),
        ({"prefixItems": [TEXT, NOTHING], "items": WHOLE}, 1),
        ({"prefixItems": [TEXT, WHOLE], "items": NOTHING}, 2),
    ],
)
def test_an_array_with_an_unsatisfiable_item_gets_max_items_and_a_finding(part: Any, most: int, target: Target) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "array", **part}}}
    sent = project(schema, target)
    assert f'"maxItems": {most}' in json.dumps(sent.schema)
    assert [each.pattern for each in sent.findings].count("false-schema") == 1


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize(
    "part",
    [
        {"prefixItems": [NOTHING], "minItems": 1},
        {"prefixItems": [TEXT, False], "minItems": 2},
        {"items": NOTHING, "minItems": 3},
        {"items": {"type": "array", "items": NOTHING, "minItems": 1}, "minItems": 1},
    ],
)
def test_an_array_that_needs_an_unsatisfiable_item_is_unsatisfiable(part: Any, target: Target) -> None:
    of_list = {"type": "array", **part}
    never = {"type": "object", "properties": {"x": of_list}}
    either = {"type": "object", "properties": {"x": {"anyOf": [of_list, TEXT]}}}

    assert [each.pattern for each in project(never, target).findings if each.lossy] == ["false-schema"]
    assert project(either, target).schema == project({"type": "object", "properties": {"x": TEXT}}, target).schema


@pytest.mark.parametrize("name", ["$ref", "a b"])
def test_a_rule_about_a_refused_name_is_a_lossy_finding(name: str) -> None:
    part = {"type": "object", "properties": {"x": {"type": "array", "contains": {"properties": {name: TEXT}}}}}
    sent = project(part, "anthropic")

    assert "contains" not in sent.schema["properties"]["x"]
    assert "contains" in [each.pattern for each in sent.findings if each.lossy]


@pytest.mark.parametrize("target", list(Target))
def test_a_list_that_must_hold_itself_is_still_written(target: Target) -> None:
    lists = {"type": "array", "items": {"$ref": "#/$defs/L"}, "minItems": 1}
    sent = project({"type": "object", "properties": {"x": {"$ref": "#/$defs/L"}}, "$defs": {"L": lists}}, target)

    assert list(sent.schema["properties"]) == ["x"]


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize(
    "whole",
    [
        {"properties": {"a": TEXT}, "required": ["c"], "additionalProperties": False},
        {"allOf": [{"properties": {"a": TEXT}, "additionalProperties": False}, {"required": ["c"]}]},
    ],
)
def test_a_name_that_is_required_and_cannot_be_given_is_lost_and_not_just_declared(whole: Any, target: Target) -> None:
    found = {each.pattern: each.severity for each in project({"type": "object", **whole}, target).findings}
    assert found["false-schema"] is Severity.LOSSY
    assert "undeclared-required" not in found


def test_headers_from_arguments_stay_for_mcp_alone() -> None:
    part = {"type": "string", "x-mcp-header": "X-Tenant"}
    assert shown(part) == part
    assert shown(part, "openai") == TEXT


def test_an_unchanged_part_is_a_copy() -> None:
    part = {"type": "string", "x-mcp-header": {"name": "X-Tenant"}}
    sent = shown(part)
    sent["x-mcp-header"]["name"] = "X-Other"
    assert part["x-mcp-header"] == {"name": "X-Tenant"}


def test_limits_beyond_64_bits_are_words_since_messages_cannot_hold_them() -> None:
    assert shown({"type": "string", "maxLength": 2**63}) == {
        "type": "string",
        "description": f"At most {2**63} characters.",
    }


def test_a_pattern_is_advertised_as_clients_compile_it() -> None:
    assert shown({"type": "string", "pattern": r"^(?P<year>\d{4})\Z"}) == {
        "type": "string",
        "description": r"Must match `^(?<year>\d{4})$`.",
        "pattern": r"^(?<year>\d{4})$",
    }


@pytest.mark.parametrize("pattern", ["(?i)abc", "(["])
def test_a_pattern_that_no_client_can_compile_is_in_words_alone(pattern: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    sent = advertise(schema)
    assert sent.schema["properties"]["x"] == {"type": "string", "description": f"Must match `{pattern}`."}
    assert [(each.pattern, each.severity) for each in sent.findings] == [("pattern", Severity.LOSSY)]


@pytest.mark.parametrize("target", ["mcp", "gemini-parameters"])
@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, f"At most {2**64 - 1}."),
        ({"type": "integer", "minimum": -(2**64)}, f"At least {-(2**64)}."),
        ({"const": 2**64 - 1}, f"Exactly {2**64 - 1}."),
        ({"type": "integer", "exclusiveMaximum": 2**64}, f"At most {2**64 - 1}."),
    ],
)
def test_a_number_beyond_64_bits_is_in_the_words_that_are_to_say_it(part: Any, words: str, target: str) -> None:
    sent = shown(part, target)
    assert words in sent["description"]
    assert {2**64 - 1, -(2**64)}.isdisjoint(each for each in sent.values() if isinstance(each, int))


def test_a_large_choice_is_described_and_64_bit_bounds_are_not() -> None:
    assert shown({"const": 2**53})["description"] == f"Exactly {2**53}."
    assert shown({"enum": [2**53, 2**53 + 1]})["description"] == f"{2**53} to {2**53 + 1}."
    of_64_bits = {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
    assert shown(of_64_bits) == of_64_bits


def test_the_order_of_rules_does_not_depend_on_the_source() -> None:
    one = {"type": "string", "not": {"const": "a"}, "contentEncoding": "base64"}
    other = {"contentEncoding": "base64", "not": {"const": "a"}, "type": "string"}
    assert list(shown(one, "anthropic")) == list(shown(other, "anthropic")) == ["type", "contentEncoding", "not"]


def test_a_definition_with_many_self_references_is_unrolled_fewer_times() -> None:
    wide = {f"c{number}": {"$ref": "#/$defs/N"} for number in range(40)}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/N"}}}
    once = advertise({**schema, "$defs": {"N": {"type": "object", "properties": wide}}}).schema
    assert json.dumps(once).count("c0") == 1
    twice = advertise({**schema, "$defs": {"N": {"type": "object", "properties": {"c0": wide["c0"]}}}}).schema
    assert json.dumps(twice).count("c0") == 3


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Its name."},
        "parent": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}], "default": None},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []},
    },
    "required": ["name"],
}


@pytest.mark.parametrize("target", ["mcp", "gemini-parameters", "gemini-vertex"])
@pytest.mark.parametrize(
    "tree",
    [
        {"$ref": "#/$defs/Tree"},
        {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
        {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    ],
    ids=["object", "nullable", "list"],
)
def test_recursion_is_cut_at_the_object_however_it_is_wrapped(tree: Any, target: str) -> None:
    projection = project({"type": "object", "properties": {"tree": tree}, "$defs": {"Tree": TREE}}, target)
    text = json.dumps(projection.schema)

    assert text.count('"name": {') == 3  # the object and its copies
    assert not re.search("anyOf.*anyOf", text)
    assert "$['$defs'].Tree" in [each.path for each in projection.findings if each.pattern == "recursion"]


@pytest.mark.parametrize(("length", "copies"), [(10, 2), (400, 0)])
def test_a_long_recursive_object_is_not_copied(length: int, copies: int) -> None:
    name = {"type": "string", "description": "n" * length}
    sent = advertise({"type": "object", "properties": {"next": {"$ref": "#"}, "name": name}}).schema
    assert json.dumps(sent).count("n" * length) == 1 + copies


@pytest.mark.parametrize(
    ("text", "is_repeated"), [("Page size (1-500).", False), ("Between 1.0 and 500", False), ("At most 500", True)]
)
def test_a_range_that_the_description_states_is_not_repeated(text: str, is_repeated: bool) -> None:
    sent = shown({"type": "integer", "description": text, "minimum": 1, "maximum": 500})
    assert sent["description"] == (f"{text}. 1 to 500." if is_repeated else text)
    assert (sent["minimum"], sent["maximum"]) == (1, 500)


def test_the_title_of_a_nullable_definition_is_not_a_description() -> None:
    definitions = {"Point": {"title": "Point", "type": "object", "properties": {"x": {"type": "number"}}}}
    properties = {"p": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}}
    sent = advertise({"type": "object", "properties": properties, "$defs": definitions}).schema
    assert sent["properties"]["p"] == {"type": "object", "properties": {"x": {"type": "number"}}}


def test_items_of_a_tuple_have_no_alternative_that_another_one_includes() -> None:
    sent = shown({"type": "array", "prefixItems": [{"type": "string"}, {"enum": ["asc", "desc"]}], "items": False})
    assert sent["items"] == {"type": "string"}
    assert sent["description"].startswith('Items in order: 1. string; 2. "asc" or "desc".')


@pytest.mark.parametrize("target", ["openai", "openai-strict", "anthropic"])
def test_definitions_stay_where_they_are_documented(target: str) -> None:
    tree = {"$ref": "#/$defs/Tree", "description": "Where to start."}
    projection = project({"type": "object", "properties": {"tree": tree}, "$defs": {"Tree": TREE}}, target)
    definitions = projection.schema["$defs"]

    assert set(definitions) == {"Tree"}
    assert json.dumps(definitions).count('"#/$defs/Tree"') == 2
    assert "Where to start." in json.dumps(projection.schema)
    assert not [each for each in projection.findings if each.lossy or each.pattern in {"$ref", "recursion"}]
    assert not check(projection.schema, target)


@pytest.mark.parametrize("required", [[], ["children"]])
def test_recursion_is_written_out_for_gemini(required: list[str]) -> None:
    tree = TREE | {"required": required}
    used = {"tree": {"$ref": "#/$defs/Tree"}, "first": {"$ref": "#/$defs/Part"}, "second": {"$ref": "#/$defs/Part"}}
    part = {"type": "object", "properties": {"name": TEXT}}

    flat = project({"type": "object", "properties": used, "$defs": {"Tree": tree, "Part": part}}, "gemini-json")
    assert "$ref" not in json.dumps(flat.schema)
    del used["tree"]
    kept = project({"type": "object", "properties": used, "$defs": {"Tree": tree, "Part": part}}, "gemini-json")
    assert kept.schema["$defs"] == {"Part": part}


@pytest.mark.parametrize("target", ["mcp", "gemini-parameters", "gemini-vertex"])
@settings(max_examples=30)
@given(names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3), required=st.booleans())
def test_no_reference_is_sent_where_clients_lose_it(names: list[str], target: str, *, required: bool) -> None:
    objects = {
        name: {
            "type": "object",
            "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names},
            "required": names if required else [],
        }
        for name in names
    }
    projection = project({"type": "object", "properties": objects, "$defs": objects}, target)

    assert "$ref" not in json.dumps(projection.schema)
    assert "$defs" not in projection.schema


def nested_objects(levels: int, width: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "description": "The end.", "properties": {"end": TEXT}}
    for _ in range(levels):
        inner = {f"property_{number}": schema for number in range(width)}
        schema = {"type": "object", "description": "A part.", "properties": {"name": TEXT, **inner}}
    return schema


@pytest.mark.parametrize("target", ["mcp", "gemini-parameters", "gemini-vertex"])
@settings(max_examples=20)
@given(levels=st.integers(1, 6), width=st.integers(1, 6))
def test_the_deepest_objects_of_a_large_schema_are_cut(levels: int, width: int, target: str) -> None:
    projection = project(nested_objects(levels, width), target)
    objects = sum(width**level for level in range(levels + 1))
    cut = [each for each in projection.findings if each.pattern == "size" and "objects" in each.message]

    assert len(json.dumps(projection.schema, separators=(",", ":"))) <= MAX_BYTES
    assert list(projection.schema["properties"]["property_0"])[:2] == ["type", "description"]
    assert bool(cut) == (objects > json.dumps(projection.schema).lower().count('"properties": {'))


def each_names_all(keyword: str) -> dict[str, Any]:
    """Return definitions that each refer to all of them."""
    whole = [{"$ref": f"#/$defs/n{number}"} for number in range(8)]
    names = {f"n{number}": {keyword: whole} for number in range(8)}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/n0"}}, "$defs": names}


@pytest.mark.uncovered
@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_definitions_that_all_name_each_other_are_read_in_bounded_work(keyword: str) -> None:
    sent = advertise(each_names_all(keyword)).schema
    assert len(json.dumps(sent)) < 10_000


REFERRED: dict[str, Any] = {
    "Mode": TEXT,
    "Remote": {"$ref": "#/$defs/Mode", "enum": ["ssh", "http"]},
    "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
    "Names": {"enum": ["root", "admin"], "$anchor": "names"},
    "All": True,
}


def ruled(rule: Any, target: str) -> Any:
    """Return the projection of a property with `rule`."""
    x = {"type": ["string", "object"], **rule}
    return project({"type": "object", "properties": {"x": x}, "$defs": REFERRED}, target).schema["properties"]["x"]


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ({"not": {"$ref": "#/$defs/Mode"}}, {"not": TEXT}),
        ({"not": {"$ref": "#names"}}, {"not": {"enum": ["root", "admin"]}}),
        ({"not": {"$ref": "#/$defs/All"}}, {"not": True}),
        ({"not": {"$ref": "#/$defs/Remote"}}, {"not": {"enum": ["ssh", "http"], "allOf": [TEXT]}}),
        (
            {"if": {"properties": {"a": {"$ref": "#/$defs/Remote"}}}, "then": {"required": ["b"]}},
            {"if": {"properties": {"a": {"enum": ["ssh", "http"], "allOf": [TEXT]}}}, "then": {"required": ["b"]}},
        ),
        ({"not": {"enum": [{"$ref": "#/$defs/Mode"}]}}, {"not": {"enum": [{"$ref": "#/$defs/Mode"}]}}),
        ({"not": {"const": {"$ref": "#/$defs/Mode"}}}, {"not": {"const": {"$ref": "#/$defs/Mode"}}}),
    ],
    ids=lambda each: json.dumps(each)[:50],
)
@pytest.mark.parametrize("target", ["openai", "anthropic"])
def test_rule_is_written_out_as_it_means_and_its_values_stay(rule: Any, written: Any, target: str) -> None:
    sent = ruled(rule, target)
    assert {keyword: sent[keyword] for keyword in written} == written


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"not": {"$ref": "#/$defs/Names"}}, 'Must not be "root" or "admin".'),
        ({"not": {"$ref": "#/$defs/Node"}}, 'Not allowed: `next` fits "..." or is absent.'),
        ({"not": {"$ref": "#/$defs/none"}}, "Must not fit a schema that cannot be quoted."),
        (
            {"if": {"$ref": "#/$defs/Mode"}, "then": {"$ref": "#/$defs/Names"}},
            'If it is a string, it must be "root" or "admin".',
        ),
    ],
    ids=lambda each: json.dumps(each)[:50],
)
def test_the_description_of_a_rule_resolves_its_references(rule: Any, said: str) -> None:
    sent = json.dumps(ruled(rule, "mcp"))
    assert json.dumps(said)[1:-1] in sent
    assert "$ref" not in sent


MANY: dict[str, Callable[[int], Any]] = {
    "rules that refer": lambda count: {
        "properties": {f"p{number}": {"type": "string", "not": {"$ref": "#/$defs/D"}} for number in range(count)},
        "$defs": {"D": {"enum": ["a", "b"]}},
    },
    "items of a list": lambda count: {
        "properties": {"x": {"type": "array", "prefixItems": [{"properties": {f"a{n}": TEXT}} for n in range(count)]}}
    },
    "constants": lambda count: {"properties": {"x": {"oneOf": [{"const": f"c{number}"} for number in range(count)]}}},
    "tagged objects": lambda count: {
        "properties": {
            "x": {"oneOf": [{"properties": {"tag": {"const": n}}, "required": ["tag"]} for n in range(count)]}
        }
    },
    "alternatives of the root": lambda count: {
        "oneOf": [{"properties": {"tag": {"const": n}}, "required": ["tag"]} for n in range(count)]
    },
    "references in a row": lambda count: {
        "properties": {"x": {"$ref": "#/$defs/D0"}},
        "$defs": {f"D{number}": {"$ref": f"#/$defs/D{number + 1}"} for number in range(count)},
    },
}


def calls(schema: Any, target: str) -> int:
    """Count the calls of functions that it takes to project a schema."""
    count = 0

    def look(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        project(schema, target)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.uncovered
@pytest.mark.parametrize("target", ["mcp", "openai"])
@pytest.mark.parametrize("name", MANY)
def test_twice_as_much_takes_about_twice_the_work(name: str, target: str) -> None:
    project({"type": "object", **MANY[name](1)}, target)  # what is imported is no work
    # Both results are larger than the limit, beyond which a schema is emitted several times.
    once, twice = (calls({"type": "object", **MANY[name](count)}, target) for count in (600, 1_200))
    assert twice < 2.5 * once


@pytest.mark.parametrize(
    ("rule", "sent"),
    [
        ({"contains": {}}, {"minItems": 1}),
        ({"contains": True, "minContains": 2, "maxContains": 4, "maxItems": 3}, {"minItems": 2, "maxItems": 3}),
        ({"contains": {}, "minContains": 0}, {}),
        ({"contains": TEXT, "minContains": 0}, {}),
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("target", ["openai", "anthropic"])
def test_contains_of_anything_counts_the_items_and_none_of_something_asks_nothing(
    rule: Any, sent: Any, target: str
) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": TEXT, **rule}}}
    made = project(schema, target)
    assert made.schema["properties"]["x"] == {"type": "array", "items": TEXT, **sent}
    assert [each.severity for each in made.findings if each.pattern == "contains"] == [Severity.NOTE]


def test_words_say_how_many_items_may_fit() -> None:
    part = {"type": "array", "items": TEXT, "contains": {"const": "a"}, "minContains": 0, "maxContains": 2}
    assert shown(part)["description"] == 'At most 2 items may be "a".'


@pytest.mark.parametrize(
    "rule",
    [
        {"dependencies": {"a": "b"}},
        {"dependentRequired": {"a": "b"}},
        {"dependentRequired": {"a": [1]}},
        {"dependentSchemas": {"a": None}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("target", Target)
def test_a_malformed_dependency_is_a_lossy_finding(rule: Any, target: Target) -> None:
    found = project({"type": "object", "properties": {"a": TEXT}, **rule}, target).findings
    assert [(each.pointer, each.severity) for each in found if each.pattern == "malformed"] == [
        (f"/{next(iter(rule))}/a", Severity.LOSSY)
    ]


@pytest.mark.parametrize(
    "alternatives",
    [
        [{"type": "object", "properties": {}}, {"type": "object", "properties": {}, "required": ["a"]}],
        [{"properties": {"b": TEXT}}, {"properties": {"b": TEXT}, "required": ["a"]}],
        [{"required": ["a"]}, {"required": ["b"]}],
    ],
    ids=["one asks for it", "beside another", "each asks for its own"],
)
def test_alternatives_that_require_an_undeclared_property_cannot_be_strict(alternatives: list[Any]) -> None:
    assert project({"type": "object", "anyOf": alternatives}, "openai-strict").narrows
    declared = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "anyOf": alternatives}
    assert not project(declared, "openai-strict").narrows


def test_rules_name_properties_as_they_are_shown() -> None:
    schema = {
        "type": "object",
        "properties": {"foo-bar": TEXT, "$top": WHOLE},
        "anyOf": [{"required": ["foo-bar"]}, {"required": ["$top"]}],
        "dependentRequired": {"foo-bar": ["$top"]},
    }
    sent = advertise(schema, rename=True).schema
    assert sent["description"] == "Give `foo_bar` or `top` (at least one). With `foo_bar` give also `top`."


def test_root_alternatives_that_leave_a_name_open_are_narrowed_and_say_so() -> None:
    parts = [{"properties": {name: part}, "required": [name]} for name, part in (("a", WHOLE), ("b", TEXT))]
    assert advertise({"type": "object", "anyOf": parts}).narrows
    closed = [{**part, "additionalProperties": False} for part in parts]
    assert not advertise({"type": "object", "anyOf": closed}).narrows


def test_root_alternatives_keep_their_descriptions_and_shared_keywords() -> None:
    parts = [{"required": [name], "description": f"By {name}."} for name in "ab"]
    schema = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "minProperties": 1, "anyOf": parts}
    sent = advertise(schema).schema
    assert sent["minProperties"] == 1
    assert "Give `a` (By a); or `b` (By b)." in sent["description"]


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"type": "string", "default": 5}, TEXT),
        ({"type": ["string", "integer"], "default": {"x": 1}}, {"anyOf": [TEXT, WHOLE]}),
        (
            {"type": "integer", "minimum": 1, "maximum": 2**53 - 1},
            {"type": "integer", "description": "At least 1.", "minimum": 1, "maximum": 2**53 - 1},
        ),
        (
            {"type": "integer", "minimum": 1, "maximum": 30, "description": "Defaults to 11 to 30."},
            {"type": "integer", "description": "Defaults to 11 to 30. 1 to 30.", "minimum": 1, "maximum": 30},
        ),
        (
            {"type": "string", "minLength": 1, "description": "One of:\n- one\n- two"},
            {"type": "string", "description": "One of:\n- one\n- two\n\nAt least 1 character.", "minLength": 1},
        ),
        (
            {"type": "string", "minLength": 1, "description": "\u4e2d\u6587\u3002"},
            {"type": "string", "description": "\u4e2d\u6587\u3002 At least 1 character.", "minLength": 1},
        ),
    ],
    ids=["default", "default of a union", "safe integers", "end of a sentence", "list", "full stop"],
)
def test_descriptions_and_defaults_stay_sensible(part: Any, sent: Any) -> None:
    assert shown(part, required=False) == sent


def test_unknown_target_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="gemini"):
        project({}, "gemini")
