"""Properties of projections: of generated schemas, small cases written by hand, the corpus, and hostile schemas."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from bench.schemas.corpus import SMALL_CASES, Row, load_corpus
from bench.schemas.scoring import Original, Verdict
from bench.schemas.semantics import Acceptance, UnusableSchemaError, author_semantics, nodes
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from instances import VALUES, instances
from jsonschema import Draft7Validator, Draft202012Validator
from providers import problems_of, score_for, semantics

from toolmason.schema import Projection, Severity, Target, advertise, check, project

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
    return " ".join(str(node.get("description", "")) for node in nodes(schema)).lower()


def severities(made: Projection) -> set[Severity]:
    return {each.severity for each in made.findings}


def said(made: Projection, *severe: Severity) -> bool:
    return bool(severities(made) & {*severe})


def complaints(original: Original, verdict: Verdict, made: Projection) -> Iterator[str]:
    """Return losses of a verdict without a finding. Properties without a valid value may be lost."""
    if not said(made, Severity.REFUSED, Severity.NARROWED):
        yield from (f"lost {path}" for path in verdict.lost if path in places(original.valid))
        yield from (f"refuses {json.dumps(each)}" for each in verdict.refused)
    if not said(made, Severity.REFUSED):
        yield from (f"not accepted: {each}" for each in verdict.problems)
    if not any(each.lossy for each in made.findings):
        yield from (f"accepts {json.dumps(instance)}" for instance in verdict.let_in)


def places(values: Any, path: str = "") -> set[str]:
    """Return the paths of properties in values, in the format of `property_paths`."""
    if isinstance(values, dict):
        inside = [(f"{path}.{name}", each) for name, each in values.items()]
        return {at for at, _ in inside}.union(*(places(each, at) for at, each in inside))
    if isinstance(values, list):
        return set().union(*(places(each, f"{path}[]") for each in values))
    return set().union(*(places(each, path) for each in values)) if isinstance(values, tuple) else set()


def check_row(row: Row, target: str) -> list[str]:
    made = project(row.schema, target)
    original = Original.of(row)
    return list(complaints(original, score_for(original, made.schema, target, made.renamed), made))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=25)
@given(schema=schemas(), data=st.data())
def test_every_loss_has_a_finding(schema: dict[str, Any], target: str, data: st.DataObject) -> None:
    """Draw instances of the schema, of its projection, and one change away, and compare the verdicts on them."""
    made = project(schema, target)
    meant = author_semantics(schema)
    try:
        original = Original.of(Row("generated", "generated", schema, is_hard=True))
        candidates = [
            value
            for source in (meant, semantics(made.schema, target, made.renamed))
            for value in data.draw(st.lists(instances(source), min_size=3, max_size=3))
        ]
        candidates += [changed for value in candidates if isinstance(value, dict) for changed in near(value, data)]
        objects = [value for value in candidates if isinstance(value, dict)]
        valid = tuple(value for value in objects if original.acceptance.accepts(value))
    except UnusableSchemaError:
        assume(False)
    invalid = tuple(value for value in objects if value not in valid and not is_null_for_absence(original, value))
    tried = Original(original.paths, original.acceptance, valid, invalid)

    assert not list(complaints(tried, score_for(tried, made.schema, target, made.renamed), made))


def near(value: dict[str, Any], data: st.DataObject) -> Iterator[dict[str, Any]]:
    """Yield `value` with one property changed or missing."""
    if value:
        name = data.draw(st.sampled_from(sorted(value)))
        yield {**value, name: data.draw(VALUES)}
        yield {key: inner for key, inner in value.items() if key != name}


def is_null_for_absence(original: Original, value: Any) -> bool:
    """Return whether the value is valid without its nulls: servers read such a null as a missing argument."""
    return any(map(original.acceptance.accepts, fewer_nulls(value)))


def fewer_nulls(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        nulls = [key for key, inner in value.items() if inner is None]
        yield {key: inner for key, inner in value.items() if inner is not None}
        yield from ({key: inner for key, inner in value.items() if key != name} for name in nulls)
        for key, inner in value.items():
            yield from ({**value, key: shorter} for shorter in fewer_nulls(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], shorter, *value[index + 1 :]] for shorter in fewer_nulls(inner))


@settings(max_examples=25)
@given(schema=schemas())
def test_a_projection_is_projected_to_itself(schema: dict[str, Any]) -> None:
    # All targets in one test: to draw a schema takes longer than to project it.
    for target in TARGETS:
        once = project(schema, target).schema

        assert json.dumps(project(once, target).schema) == json.dumps(once), target


@settings(max_examples=25)
@given(schema=schemas())
def test_the_same_schema_gives_the_same_projection_and_is_not_changed(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    for target in TARGETS:
        once = project(schema, target)
        again = project(copy.deepcopy(schema), target)

        assert json.dumps(schema) == json.dumps(before), target
        assert json.dumps(again.schema) == json.dumps(once.schema), target
        assert again.findings == once.findings, target


@settings(max_examples=25)
@given(schema=schemas())
def test_gemini_takes_every_projection(schema: dict[str, Any]) -> None:
    for target in ("gemini-parameters", "gemini-vertex"):
        assert not list(problems_of(project(schema, target).schema, target)), target


@settings(max_examples=30)
@given(names=st.lists(st.sampled_from([*NAMES, "c", "d"]), min_size=2, unique=True), inner=parts())
def test_properties_keep_the_order_of_the_original(names: list[str], inner: Any) -> None:
    takes_all: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": inner}}]}
    properties = dict.fromkeys(names, takes_all)
    definitions = {name: {"type": "string"} for name in DEFINED}

    for target in TARGETS:
        schema = {"type": "object", "properties": properties, "required": names[-1:], "$defs": definitions}
        made = project(schema, target)
        assert [made.renamed.get(name, name) for name in made.schema["properties"]] == names


@settings(max_examples=25)
@given(schema=schemas())
def test_the_advertised_schema_is_valid_in_draft_7_and_2020_12(schema: dict[str, Any]) -> None:
    advertised = advertise(schema).schema

    Draft202012Validator.check_schema(advertised)
    Draft7Validator.check_schema(advertised)
    for node in nodes(advertised):
        assert not NOT_ADVERTISED & node.keys()
        assert isinstance(node.get("type"), str) or node.keys() == {"anyOf"}


@settings(max_examples=50)
@given(schema=schemas())
def test_no_rule_calls_a_part_of_an_advertised_schema_lost_or_refused(schema: dict[str, Any]) -> None:
    sent = advertise(schema, rename=True).schema

    assert_no_provider_refuses(sent)
    assert not [each for each in check(sent, Target.MCP) if each.lossy or each.pattern == "null-type"]


def assert_no_provider_refuses(sent: dict[str, Any]) -> None:
    """Check the rules of every provider, because some clients send the schema unchanged."""
    for target in set(Target) - {Target.OPENAI_STRICT}:
        refused = [each for each in check(sent, target) if each.severity in {Severity.REFUSED, Severity.BREAKS}]
        assert not refused, target


# Small cases written by hand.


@dataclass(frozen=True, slots=True)
class SmallCase:
    """A small schema with values written by hand.

    Every target accepts `valid`; a target that can express it refuses `refused`. If `loose` is accepted, or a bound is
    advertised, the description contains each of `says`. An `unusable` schema accepts nothing.
    """

    id: str
    schema: Any
    valid: tuple[Any, ...] = ()
    refused: tuple[Any, ...] = ()
    loose: tuple[Any, ...] = ()
    says: tuple[str, ...] = ()
    unusable: bool = False


def load_cases() -> tuple[SmallCase, ...]:
    return tuple(SmallCase(**json.loads(line)) for line in SMALL_CASES.read_text(encoding="utf-8").splitlines())


def cases(*, unusable: bool) -> list[Any]:
    return [pytest.param(case, id=case.id) for case in load_cases() if case.unusable is unusable]


def test_the_small_cases_cover_every_group() -> None:
    groups = {case.id.partition("-")[0] for case in load_cases()}

    assert groups == {f"P{number:02}" for number in range(1, 23)} | {f"X{number:02}" for number in range(1, 10)}
    assert len({case.id for case in load_cases()}) == len(load_cases()) >= 225


@pytest.mark.parametrize("case", cases(unusable=False))
def test_the_values_of_a_small_case_are_correct(case: SmallCase) -> None:
    acceptance = Acceptance(author_semantics(case.schema))

    assert case.valid
    assert [value for value in case.valid if not acceptance.accepts(value)] == []
    assert [value for value in (*case.refused, *case.loose) if acceptance.accepts(value)] == []


@pytest.mark.parametrize("case", cases(unusable=False))
def test_a_small_case_comes_out_as_a_person_expects(case: SmallCase) -> None:
    for target in TARGETS:
        check_small_case(case, target)


def check_small_case(case: SmallCase, target: str) -> None:
    made = project(case.schema, target)
    original = Original.of(Row(case.id, "small", case.schema, is_hard=True, valid=tuple(case.valid)))
    verdict = score_for(original, made.schema, target, made.renamed)
    acceptance = Acceptance(semantics(made.schema, target, made.renamed))

    assert not list(complaints(original, verdict, made))
    if target in SAYS_LIMITS:
        assert [value for value in case.refused if acceptance.accepts(value)] == []
    if any(map(acceptance.accepts, case.loose)) or (target == "mcp" and not case.loose):
        assert [text for text in case.says if text.lower() not in words(made.schema)] == []


@pytest.mark.parametrize("case", cases(unusable=True))
def test_an_unusable_schema_is_refused_with_a_sendable_projection(case: SmallCase) -> None:
    for target in TARGETS:
        made = project(case.schema, target)

        assert said(made, Severity.REFUSED), target
        assert not list(problems_of(made.schema, target)), target


# The corpus.


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.style}-{row.name}") for row in load_corpus()])
def test_a_realistic_schema_survives_for_every_target(row: Row) -> None:
    assert {target: found for target in TARGETS if (found := check_row(row, target))} == {}


def test_no_provider_refuses_an_advertised_schema_of_the_corpus() -> None:
    for row in load_corpus():
        assert_no_provider_refuses(advertise(row.schema, rename=True).schema)


@pytest.mark.parametrize("target", TARGETS)
def test_the_projection_of_a_projection_is_unchanged(target: str) -> None:
    changed = []
    for row in load_corpus():
        once = project(row.schema, target).schema
        if json.dumps(project(once, target).schema) != json.dumps(once):
            changed.append(row.name)

    assert changed == []


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
    size = sum(1 for _ in nodes(made.schema))

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
