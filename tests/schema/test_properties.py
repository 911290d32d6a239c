"""Invariants for generated schemas, small handwritten ones, the corpus, and hostile ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from bench.schemas.corpus import Row, Torture, corpus, torture
from bench.schemas.judging import Original, Verdict, judge_again, problems_of
from bench.schemas.reading import nodes, reading
from bench.schemas.sampling import Acceptance, UnsampleableError, without_nulls
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from toolmason.schema import Projection, Severity, Target, advertise, project

TARGETS = [str(target) for target in Target]
SAYS_LIMITS = frozenset({"mcp", "gemini-parameters", "openai", "anthropic"})
"""Targets that know strings' and numbers' limits and patterns; for the others a limit may be in words alone."""
NOT_ADVERTISED = frozenset({"$ref", "$schema", "$defs", "definitions", "oneOf", "allOf", "const", "title", "nullable"})
NAMES = ("a", "b", "type", "title", "$ref", "items", "properties", "not", "default")
DEFINED = ("One", "Two", "a/b c")
REFERENCES = ("#/$defs/One", "#/$defs/Two", "#/$defs/a~1b%20c", "#")


# Schemas.


def texts() -> st.SearchStrategy[dict[str, Any]]:
    limits = st.fixed_dictionaries(
        {},
        optional={
            "minLength": st.integers(0, 4),
            "maxLength": st.integers(0, 12),
            "pattern": st.sampled_from(["^[a-z]+$", "^x-", "[0-9]{2,3}$", "^(a|bc)*$"]),
            "format": st.sampled_from(["date-time", "uuid", "email", "strange"]),
        },
    )
    return limits.map(lambda limit: {"type": "string"} | limit)


def numbers() -> st.SearchStrategy[dict[str, Any]]:
    bound = st.one_of(st.integers(-5, 20), st.sampled_from([0.5, -1.25, 3.0]))
    limits = st.fixed_dictionaries(
        {},
        optional={
            "minimum": bound,
            "maximum": bound,
            "exclusiveMinimum": bound,
            "exclusiveMaximum": bound,
            "multipleOf": st.sampled_from([1, 2, 5, 0.5]),
        },
    )
    return st.builds(lambda kind, limit: {"type": kind} | limit, st.sampled_from(["integer", "number"]), limits)


def fixed() -> st.SearchStrategy[dict[str, Any]]:
    values = st.sampled_from(["a", "b", "", 0, 1, 2, 7, 2.5, True, False, None, "1", {"$ref": "#/x"}, [1]])
    listed = st.lists(values, min_size=1, max_size=4).map(lambda each: {"enum": each})
    return st.one_of(values.map(lambda each: {"const": each}), listed)


def leaves() -> st.SearchStrategy[Any]:
    return st.one_of(
        texts(),
        numbers(),
        fixed(),
        st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, True, {"type": "object"}, {"type": "array"}]),
        st.sampled_from([{"type": "STRING", "nullable": True}, {"type": ["string", "null"]}, {"type": "string"}]),
        st.lists(st.sampled_from(["string", "integer", "boolean", "null"]), min_size=1, max_size=3, unique=True).map(
            lambda kinds: {"type": kinds}
        ),
        st.sampled_from(REFERENCES).map(lambda address: {"$ref": address}),
    )


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    more = st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "minProperties": st.integers(0, 2),
            "dependentRequired": st.just({"a": ["b"]}),
            "patternProperties": inner.map(lambda each: {"^x-": each}),
        },
    )
    return st.builds(lambda held, rest: {"type": "object", "properties": held} | rest, properties, more)


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    more = st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=3),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 4),
            "uniqueItems": st.booleans(),
        },
    )
    return more.map(lambda rest: {"type": "array"} | rest)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda word, each: {word: each}, st.sampled_from(["anyOf", "oneOf", "allOf"]), several),
        st.builds(lambda each: {"anyOf": [each, {"type": "null"}], "default": None}, inner),
        st.builds(lambda each, text: {"not": each, "description": text}, inner, st.text(max_size=8)),
        st.builds(lambda one, two: {"if": one, "then": two}, inner, inner),
        st.builds(lambda address, each: {"$ref": address} | each, st.sampled_from(REFERENCES[:3]), objects(inner)),
        st.builds(lambda each, either: each | {"oneOf": either}, objects(inner), several),
    )


def described(part: Any, text: str) -> Any:
    return part | {"description": text} if isinstance(part, dict) else part


def parts() -> st.SearchStrategy[Any]:
    bare = st.recursive(leaves(), lambda inner: st.one_of(objects(inner), arrays(inner), combined(inner)), max_leaves=8)
    return st.builds(described, bare, st.sampled_from(["", "Which.", "What it is\nfor", '`x` "y" Größe'])) | bare


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    definitions = st.tuples(*(parts() for _ in DEFINED)).map(lambda each: dict(zip(DEFINED, each, strict=True)))
    plain = st.builds(lambda each, held: each | {"$defs": held}, objects(parts()), definitions)
    return st.one_of(plain, st.builds(lambda each, either: each | either, plain, combined(parts())))


# What is asked of each.


def words(schema: Any) -> str:
    return " ".join(str(node.get("description", "")) for _, node in nodes(schema)).lower()


def severities(made: Projection) -> set[Severity]:
    return {each.severity for each in made.findings}


def said(made: Projection, *severe: Severity) -> bool:
    return bool(severities(made) & {*severe})


def complaints(original: Original, verdict: Verdict, made: Projection) -> Iterator[str]:
    """Return losses of a verdict without a finding. Properties without a valid value may be lost."""
    if not said(made, Severity.REFUSED, Severity.NARROWED):
        yield from (f"lost {each}" for each in verdict.lost if each in places(original.valid))
        yield from (f"refuses {json.dumps(each)}" for each in verdict.refused)
    if not said(made, Severity.REFUSED):
        yield from (f"not accepted: {each}" for each in verdict.problems)
    if not any(each.lossy for each in made.findings):
        yield from (f"lets in {json.dumps(each.instance)}" for each in verdict.let_in)


def places(values: Any, path: str = "") -> set[str]:
    """Return the paths of properties in values, in the format of `property_paths`."""
    if isinstance(values, dict):
        inside = [(f"{path}.{name}", each) for name, each in values.items()]
        return {at for at, _ in inside}.union(*(places(each, at) for at, each in inside))
    if isinstance(values, list):
        return set().union(*(places(each, f"{path}[]") for each in values))
    return set().union(*(places(each, path) for each in values)) if isinstance(values, tuple) else set()


def looked_at(schema: Any, target: str) -> list[str]:
    made = project(schema, target)
    try:
        original = Original.of(schema)
    except UnsampleableError:
        return []
    return list(complaints(original, judge_again(original, made.schema, target, renamed=made.renamed), made))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=50)
@given(schema=schemas())
def test_nothing_is_lost_refused_or_let_in_without_a_finding(schema: dict[str, Any], target: str) -> None:
    assert not looked_at(schema, target)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=50)
@given(schema=schemas())
def test_a_projection_is_projected_to_itself(schema: dict[str, Any], target: str) -> None:
    once = project(schema, target).schema

    assert json.dumps(project(once, target).schema) == json.dumps(once)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=50)
@given(schema=schemas())
def test_the_same_schema_gives_the_same_projection_and_is_not_changed(schema: dict[str, Any], target: str) -> None:
    before = copy.deepcopy(schema)
    once = project(schema, target)
    again = project(copy.deepcopy(schema), target)

    assert json.dumps(schema) == json.dumps(before)
    assert json.dumps(again.schema) == json.dumps(once.schema)
    assert again.findings == once.findings


@pytest.mark.parametrize("target", ["gemini-parameters", "gemini-vertex"])
@settings(max_examples=50)
@given(schema=schemas())
def test_gemini_takes_every_projection(schema: dict[str, Any], target: str) -> None:
    assert not list(problems_of(project(schema, target).schema, target))


@settings(max_examples=30)
@given(names=st.lists(st.sampled_from([*NAMES, "c", "d"]), min_size=2, unique=True), inner=parts())
def test_arguments_stand_in_the_order_of_the_original(names: list[str], inner: Any) -> None:
    takes_all: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": inner}}]}
    properties = dict.fromkeys(names, takes_all)
    definitions = {name: {"type": "string"} for name in DEFINED}

    for target in TARGETS:
        schema = {"type": "object", "properties": properties, "required": names[-1:], "$defs": definitions}
        made = project(schema, target)
        assert [made.renamed.get(name, name) for name in made.schema["properties"]] == names


@settings(max_examples=50)
@given(schema=schemas())
def test_what_is_advertised_is_plain_json_schema_of_both_drafts(schema: dict[str, Any]) -> None:
    advertised = advertise(schema).schema

    Draft202012Validator.check_schema(advertised)
    Draft7Validator.check_schema(advertised)
    for pointer, node in nodes(advertised):
        assert not NOT_ADVERTISED & node.keys(), pointer
        assert isinstance(node.get("type"), str) or node.keys() == {"anyOf"}, pointer


# Small cases written by hand.


def cases(*, unusable: bool) -> list[Any]:
    return [pytest.param(case, id=case.id) for case in torture() if case.unusable is unusable]


@pytest.mark.parametrize("case", cases(unusable=False))
@pytest.mark.parametrize("target", TARGETS)
def test_a_small_case_comes_out_as_a_person_expects(case: Torture, target: str) -> None:
    made = project(case.schema, target)
    original = Original.of(case.schema)
    verdict = judge_again(original, made.schema, target, renamed=made.renamed)
    acceptance = Acceptance(reading(made.schema, target, made.renamed))

    def takes(value: Any) -> bool:
        return acceptance.takes(value) or acceptance.takes(without_nulls(value, original.acceptance))

    assert not list(complaints(original, verdict, made))
    if not said(made, Severity.NARROWED, Severity.REFUSED):
        assert [value for value in case.valid if not takes(value)] == []
    if target in SAYS_LIMITS:
        assert [value for value in case.refused if acceptance.takes(value)] == []
    if any(map(acceptance.takes, case.loose)) or (target == "mcp" and not case.loose):
        assert [each for each in case.says if each.lower() not in words(made.schema)] == []


@pytest.mark.parametrize("case", cases(unusable=True))
@pytest.mark.parametrize("target", TARGETS)
def test_what_leads_nowhere_is_refused_and_still_gives_something_to_send(case: Torture, target: str) -> None:
    made = project(case.schema, target)

    assert said(made, Severity.REFUSED)
    assert not list(problems_of(made.schema, target))


# The corpus.


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.style}-{row.name}") for row in corpus()])
def test_a_realistic_schema_survives_for_every_target(row: Row) -> None:
    assert {target: found for target in TARGETS if (found := looked_at(row.schema, target))} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_realistic_schema_is_projected_once_and_for_all(target: str) -> None:
    moved = []
    for row in corpus():
        once = project(row.schema, target).schema
        if json.dumps(project(once, target).schema) != json.dumps(once):
            moved.append(row.name)

    assert moved == []


# Hostile ones.


def bomb(levels: int) -> dict[str, Any]:
    """Return a short schema that expands to two to the power of `levels` nodes."""
    held = {f"L{level}": {"anyOf": [{"$ref": f"#/$defs/L{level + 1}"}] * 2} for level in range(levels)}
    return {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/L0"}},
        "$defs": held | {f"L{levels}": {"type": "string"}},
    }


def tree_bomb(levels: int) -> dict[str, Any]:
    held = {
        f"L{level}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in ("left", "right")},
        }
        for level in range(levels)
    }
    return {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/L0"}},
        "$defs": held | {f"L{levels}": {"type": "string"}},
    }


def union_bomb(levels: int) -> dict[str, Any]:
    """Return an intersection of `levels` unions."""
    either = [
        {"anyOf": [{"properties": {f"p{level}{side}": {"type": "string"}}} for side in "ab"]} for level in range(levels)
    ]
    return {"type": "object", "properties": {"x": {"type": "object", "allOf": either}}}


def nested(levels: int, word: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        match word:
            case "properties":
                schema = {"type": "object", "properties": {"d": schema}}
            case "items":
                schema = {"type": "array", "items": schema}
            case _:
                schema = {word: [schema]}
    return {"type": "object", "properties": {"x": schema}}


def self_product() -> dict[str, Any]:
    held = {f"N{number}": {"$ref": f"#/$defs/N{number}"} for number in range(12)}
    node = {"type": "object", "properties": held}
    return {"type": "object", "properties": held, "$defs": dict.fromkeys(held, node)}


HOSTILE = {
    "24 levels of pairs": bomb(24),
    "24 levels of twins": tree_bomb(24),
    "24 unions at once": union_bomb(24),
    "400 levels of objects": nested(400, "properties"),
    "400 levels of lists": nested(400, "items"),
    "400 levels of anyOf": nested(400, "anyOf"),
    "400 levels of allOf": nested(400, "allOf"),
    "12 nodes that hold each other": self_product(),
    "a reference to itself": {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}},
    "references in a circle": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}},
    },
    "300 alternatives": {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "object", "properties": {f"p{n}": {}}} for n in range(300)]}},
    },
    "a text of a megabyte": {"type": "object", "properties": {"x": {"type": "string", "description": "y" * 1_000_000}}},
}
MAX_NODES = 60_000
METASCHEMA_NODES = 5_000
"""So many nodes are looked at with the metaschema; more of the same kind take it minutes and tell no more."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_answered_within_bounds(name: str, target: str) -> None:
    made = project(HOSTILE[name], target)
    size = len(nodes(made.schema))

    assert size <= MAX_NODES
    assert len(made.findings) <= MAX_NODES
    json.dumps(made.schema)
    if size <= METASCHEMA_NODES:
        assert said(made, Severity.REFUSED) or not list(problems_of(made.schema, target))


@settings(max_examples=30)
@given(
    schema=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from(NAMES)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from([*NAMES, "anyOf", "allOf", "enum", "required"]), inner, max_size=4),
        ),
        max_leaves=12,
    )
)
def test_whatever_json_is_given_something_sendable_comes_back(schema: Any) -> None:
    for target in TARGETS:
        made = project(schema, target)
        assert not list(problems_of(made.schema, target)) or said(made, Severity.REFUSED)
