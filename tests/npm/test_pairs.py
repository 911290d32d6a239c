"""The npm package returns what the Python package returns: schemas, findings, texts and order."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from bench.schemas.corpus import CORPUS
from bench.schemas.semantics import nodes
from hypothesis import given, settings
from hypothesis import strategies as st
from npm_package import TARGETS, NodeLibrary, as_json_parse, expected

from toolmason.schema import report
from toolmason.schema.keywords import VALUE_CHECKS

IS_SHORT = os.environ.get("TOOLMASON_NPM") == "short"
FILES = sorted(path.name for path in CORPUS.glob("*.jsonl"))
KEYWORDS = (
    *sorted(VALUE_CHECKS),
    "$ref",
    "$anchor",
    "any_of",
    "const",
    "definitions",
    "$defs",
    "a",
    "7",
    "__proto__",
    "constructor",
)
TEXT = st.text(
    st.characters(max_codepoint=0x24F) | st.sampled_from("\u0661\u2028\u3000\u4e2d\ud800\U0001f600"), max_size=4
)
"""Without characters that the version of Unicode of one of both languages lacks."""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**54)
    | st.floats(-9, 9)
    | TEXT
    | st.sampled_from(["object", "array", "string", "integer", "null", "#", "#/properties/a", "^a{2}$", "(?i)b", "1"])
    | st.sampled_from(
        ["#/$defs/__proto__", "https://example.com/a.json#/b", "(?<n>a)\\k<n>", "\\p{L}", "a{,3}", "^(?!x)", "["]
    )
    | st.sampled_from([-0.0, 1e300, 1e21, 1e-7, 2**63, 2**31]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS) | TEXT, inner, max_size=4),
    max_leaves=12,
)


def schemas_of(name: str) -> list[Any]:
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    return [as_json_parse(json.loads(line)["schema"]) for line in lines]


def mixed_schemas(count: int) -> Iterator[Any]:
    """Yield schemas whose parts come from the whole corpus, combined at random, the same ones in each run."""
    choose = random.Random(7)
    parts = [node for name in FILES for schema in schemas_of(name) for node in nodes(schema) if isinstance(node, dict)]
    for _ in range(count):
        one, two, three = choose.sample(parts, 3)
        keyword = choose.choice(("anyOf", "oneOf", "allOf"))
        shapes: list[dict[str, Any]] = [{keyword: [two, three]}, {"not": two}, {"if": two, "then": three}]
        shapes += [{"items": two}, {"prefixItems": [two]}, {"additionalProperties": two}]
        shapes += [{"patternProperties": {"^x-": two}}, {"dependentSchemas": {"a": two}}]
        schema = {"type": "object", "properties": {"a": one, "b": choose.choice(shapes)}, **choose.choice(shapes)}
        yield json.loads(json.dumps(schema))  # copies of parts that occur twice, as in any document


def large_schemas(count: int) -> Iterator[Any]:
    """Yield schemas of more bytes than a result may have, with models that repeat and recur, and long texts."""
    choose = random.Random(11)
    parts = [part for name in FILES for part in schemas_of(name) if isinstance(part, dict) and part.get("properties")]
    for number in range(count):
        models: dict[str, Any] = {f"M{index}": {"type": "object", "properties": {}} for index in range(9)}
        for model in models.values():
            others = [{"$ref": f"#/$defs/{name}"} for name in choose.sample(sorted(models), 2)]
            model["properties"] = {f"p{index}": choose.choice(parts) for index in range(choose.randint(2, 6))}
            model["properties"] |= {"other": others[0], "list": {"type": "array", "items": others[1]}}
            model["description"] = choose.choice(("", "A model of \u4e2d \U0001f600. ")) * choose.randint(1, 40)
        arguments = {f"a{index}": choose.choice(parts) for index in range(choose.choice((5, 30, 150)))}
        arguments |= {f"m{name}": {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"type": "null"}]} for name in models}
        limits = {"minimum": 1, "maximum": 1.5e-7 if number % 2 else 500, "description": "Some words. " * number}
        arguments |= {f"n{index}": {"type": "number", **limits} for index in range(choose.choice((5, 300)))}
        yield as_json_parse({"type": "object", "properties": arguments, "$defs": models, "required": ["a1", "m0"]})


def assert_equal(library: NodeLibrary, schema: Any, target: str) -> None:
    wanted, answer = expected(schema, target), library.call("pair", schema, target)
    assert json.dumps(as_json_parse(answer)) == json.dumps(wanted), (target, json.dumps(schema))


@pytest.mark.parametrize("name", FILES)
def test_every_schema_of_the_corpus_gives_the_same_bytes_for_every_target(name: str, library: NodeLibrary) -> None:
    """With TOOLMASON_NPM=short, each schema is for one target, in turn."""
    for number, schema in enumerate(schemas_of(name)):
        index = number % len(TARGETS)
        for target in TARGETS[index : index + 1] if IS_SHORT else TARGETS:
            assert_equal(library, schema, target)


def test_combinations_of_parts_of_the_corpus_give_the_same_bytes(library: NodeLibrary) -> None:
    for number, schema in enumerate(mixed_schemas(100 if IS_SHORT else 400)):
        assert_equal(library, schema, TARGETS[number % len(TARGETS)])


def test_schemas_over_the_limit_of_size_give_the_same_bytes(library: NodeLibrary) -> None:
    for number, schema in enumerate(large_schemas(len(TARGETS) if IS_SHORT else 2 * len(TARGETS))):
        assert_equal(library, schema, TARGETS[number % len(TARGETS)])


@settings(deadline=None, max_examples=100 if IS_SHORT else 300)
@given(schema=VALUES, target=st.sampled_from(TARGETS))
def test_any_json_gives_the_same_bytes(library: NodeLibrary, schema: Any, target: str) -> None:
    assert_equal(library, as_json_parse(schema), target)


def test_reports_are_the_same_text(library: NodeLibrary) -> None:
    tools = {f"tool_{index}": schema for index, schema in enumerate(schemas_of("zod.jsonl"))}
    for target in TARGETS:
        assert library.call("report", tools, target) == report(tools, target)
    assert library.call("report", tools) == report(tools)


def test_the_targets_are_the_same(library: NodeLibrary) -> None:
    assert library.call("targets") == list(TARGETS)
