"""Projections equal those of each schema alone, whatever was converted before, in this run or an earlier one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from bench.schemas.corpus import SMALL_CASES, load_corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.schema import Target, project
from toolmason.schema.normal_form import Node
from toolmason.schema.normalize import MAX_DEPTH, normalizer
from toolmason.schema.projections import Projections

SMALL = [json.loads(line)["schema"] for line in SMALL_CASES.read_text(encoding="utf-8").splitlines()]
SCHEMAS = [*SMALL, *(row.schema for row in load_corpus())]
OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"minProperties": 1}
    for level in range(levels):
        schema = {"allOf": [schema, {"description": f"Level {level}"}]}
    return schema


CUT = {
    "nested deeper than the limit": {**OBJECT, "properties": {"a": nested(MAX_DEPTH + 5), "b": nested(MAX_DEPTH)}},
    "a definition that is itself": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$ref": "#/$defs/A"}},
    },
    "alternatives that are itself": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"items": {"$ref": "#/$defs/A"}}},
        "$defs": {"A": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/A"}, {"not": {"$ref": "#/$defs/A"}}]}},
    },
    "arrays that require themselves": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/A"}}},
    },
}
"""Schemas with a node that depends on the path that led to it first."""


@settings(deadline=None, max_examples=60)
@given(
    schema=st.sampled_from(SCHEMAS), targets=st.permutations(list(Target)), rename=st.sampled_from([None, True, False])
)
def test_a_shared_reading_changes_no_projection(schema: Any, targets: Sequence[Target], rename: bool | None) -> None:
    assert_equal_to_alone(schema, targets, rename)


@pytest.mark.parametrize("schema", CUT.values(), ids=CUT)
@pytest.mark.parametrize("targets", [list(Target), list(reversed(Target))], ids=["in order", "in reverse"])
def test_neither_does_one_that_a_limit_or_a_self_reference_cuts(schema: Any, targets: Sequence[Target]) -> None:
    assert_equal_to_alone(schema, targets, None)


def assert_equal_to_alone(schema: Any, targets: Sequence[Target], rename: bool | None) -> None:
    copied = json.loads(json.dumps(schema))
    stored: dict[str, str] = {}
    fresh, storing, later = Projections(), Projections(stored), Projections(stored)
    for target in targets:
        alone = project(copied, target, rename=rename)
        for projections in (fresh, storing, later):
            again = projections.project(copied, target, rename=rename)
            assert again == alone
            # Equal dictionaries can have another order, which is printed.
            assert json.dumps(again.schema) == json.dumps(alone.schema)
            assert list(again.renamed.items()) == list(alone.renamed.items())
    assert copied == schema
    assert not any("\n" in text for text in stored.values())


def test_a_stored_projection_is_not_computed_again() -> None:
    stored: dict[str, str] = {}
    Projections(stored).project(OBJECT, Target.OPENAI)
    later = Projections(stored)
    assert later.project(OBJECT, Target.OPENAI) == project(OBJECT, Target.OPENAI)
    assert not later._normalizers


def test_texts_for_another_process_spare_its_conversions() -> None:
    texts = Projections({}).texts([OBJECT])
    later = Projections(texts)
    for target in (target for target in Target if target is not Target.MCP):
        assert later.project(OBJECT, target) == project(OBJECT, target)
    assert len(texts) == len(Target) - 1
    assert not later._normalizers
    assert Projections().texts([OBJECT]) == {}


def test_schemas_that_differ_only_in_order_or_type_of_number_have_their_own_projections() -> None:
    schemas = [
        {"type": "object", "properties": {"a": {"minimum": 1}, "b": {}}},
        {"type": "object", "properties": {"b": {}, "a": {"minimum": 1}}},
        {"type": "object", "properties": {"a": {"minimum": 1.0}, "b": {}}},
        {"type": "object", "properties": {"a": {"minimum": True}, "b": {}}},
    ]
    stored: dict[str, str] = {}
    projections = Projections(stored)
    for schema in schemas:
        again = projections.project(schema, Target.OPENAI)
        assert json.dumps(again.schema) == json.dumps(project(schema, Target.OPENAI).schema)
    assert len(stored) == len(schemas)


def test_one_reading_is_shared_by_all_targets_of_equal_schemas() -> None:
    projections = Projections()
    for target in Target:
        projections.project(json.loads(json.dumps(OBJECT)), target)
    assert len(projections._normalizers) == 1


def test_a_schema_that_json_cannot_represent_is_converted_and_not_stored() -> None:
    stored: dict[str, str] = {}
    schema = {"type": "object", "properties": {"a": {"default": {1, 2}}}}
    assert Projections(stored).project(schema, Target.MCP) == project(schema, Target.MCP)
    assert not stored


def test_the_given_projection_can_be_changed_without_effect_on_the_next() -> None:
    projections = Projections({})
    for _ in range(2):
        projection = projections.project(OBJECT, Target.MCP)
        assert projection == project(OBJECT, Target.MCP)
        projection.schema["properties"]["a"]["type"] = "changed"


TEXTS = st.sampled_from(["", " Number of items (1-50). ", "From 1 to 50", "a"])
SCALARS = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "Integer", "null"])},
    optional={
        "description": TEXTS,
        "title": TEXTS,
        "default": st.sampled_from([None, True, "a", "", 1, 1.0, 2**70, [1]]),
        "enum": st.lists(st.sampled_from(["a", "b", "", 1, True, None]), max_size=3),
        "minimum": st.sampled_from([0, 1, 50, 1.5, True, -(2**63), 2**80, "1"]),
        "maximum": st.sampled_from([0, 1, 50, 2.5, False, 2**31 - 1, None]),
    },
)
"""Scalars with bounds, enums and defaults, among them invalid ones."""


@settings(deadline=None, max_examples=200)
@given(
    properties=st.dictionaries(st.sampled_from(["a", "b", "c-d"]), SCALARS, min_size=1),
    required=st.sampled_from([["a"], []]),
    target=st.sampled_from(list(Target)),
)
def test_plain_scalars_are_converted_as_in_the_general_way(
    properties: dict[str, Any], required: list[str], target: Target
) -> None:
    schema = {"type": "object", "properties": properties, "required": required}
    short = project(schema, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normalizer, "_plain_node", lambda *_: None)
        patch.setattr(Node, "is_scalar", False)
        general = project(schema, target)
    assert json.dumps(short.schema) == json.dumps(general.schema)
    assert short.findings == general.findings
    assert short.renamed == general.renamed
