"""Signatures contain everything that a caller needs: they are read back, and calls are made from answers alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import tomli_w
from bench.schemas.corpus import load_corpus
from hypothesis import given
from hypothesis import strategies as st
from signature_reader import SignatureReader, arguments_for
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.discovery.signature import Signature, signature
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.errors import ToolError

from toolmason.catalogue.table import catalogue
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve
from toolmason.resolve.raw_schema import read_raw_schema
from toolmason.resolve.raw_schema_error import RawSchemaError
from workbench_server.catalogue import CATALOGUE

MakeDesk = Callable[..., Any]
TEXTS = {"description", "title", "$comment", "$schema", "examples", "deprecated"}
HINTS = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """A server with a tool for each schema of the corpus that a manifest accepts."""
    root = tmp_path_factory.mktemp("corpus")
    tools = {}
    for number, row in enumerate(load_corpus()):
        if is_accepted(row.schema):
            (root / f"{number}.json").write_text(json.dumps(row.schema), encoding="utf-8")
            tools[f"tool_{number}"] = {
                "summary": f"Tool {number}",
                "upstream": "server",
                "hints": HINTS,
                "input_schema": f"{number}.json",
            }
    data = {
        "edition": 1,
        "server": {"name": "corpus", "package": "corpus_server"},
        "categories": {"all": {"summary": "All of them"}},
        "upstreams": {"server": {"command": ["server"], "category": "all"}},
        "tools": tools,
    }
    diagnostics = Diagnostics()
    document = Document(path=PurePosixPath("manifest.toml"), text=tomli_w.dumps(data), data=data)
    tables = validate(document, diagnostics=diagnostics)
    assert tables, list(diagnostics)
    server = resolve(tables, document, root=root, diagnostics=diagnostics)
    assert server, list(diagnostics)
    return catalogue(server)


def is_accepted(schema: Any) -> bool:
    try:
        read_raw_schema(schema, Path())
    except RawSchemaError:
        return False
    return True


def answers(desk: MakeDesk, table: Catalogue) -> list[dict[str, Any]]:
    """Return a search result for every tool that is found by browsing."""
    server, results = desk(table, "search-call"), []
    for category in server.style.index.categories:
        offset: int | None = 0
        while offset is not None:
            arguments = {"category": category, "limit": 1, "offset": offset}
            page = json.loads(server.call("search", arguments)["content"][0]["text"])
            results += page["results"]
            offset = page.get("next_offset")
    assert len(results) == len(server.style.index.tools)
    return results


def test_of_the_schemas_of_other_servers_99_of_100_can_be_called_from_the_answer_alone(
    corpus: Catalogue, desk: MakeDesk
) -> None:
    results = answers(desk, corpus)
    problems = {}
    for result in results:
        name = result["tool_name"]
        try:
            ArgumentValidator(corpus["tools"][name], None).validate(arguments_for(result))
        except ToolError as error:
            problems[name] = error.message

    assert len(results) >= 160
    assert len(problems) <= len(results) / 100, problems


def test_every_tool_of_workbench_can_be_called_from_the_answer_alone(desk: MakeDesk) -> None:
    for result in answers(desk, CATALOGUE):
        entry = CATALOGUE["tools"][result["tool_name"]]
        bindings = import_module(f"workbench_server.{CATALOGUE['categories'][entry['category']]['module']}.bindings")
        binding = bindings.BINDINGS[result["tool_name"]]

        assert ArgumentValidator(entry, binding.params).validate(arguments_for(result)).notes == ()


def rules(schema: Any) -> Any:
    """Return a schema without texts, in the form in which a signature is read."""
    if not isinstance(schema, dict):
        return schema
    bare: dict[str, Any] = {}
    for keyword, rule in schema.items():
        match keyword:
            case "properties":
                bare[keyword] = {name: rules(part) for name, part in rule.items()}
            case "items":
                bare[keyword] = rules(rule)
            case "required":
                bare[keyword] = sorted(rule)
            case _ if keyword not in TEXTS and not keyword.startswith("x-"):
                bare[keyword] = rule
    if bare.get("additionalProperties") is False:
        del bare["additionalProperties"]
    if "enum" in bare:
        bare.pop("type", None)
    return {keyword: rule for keyword, rule in bare.items() if rule not in ({}, []) or keyword == "default"}


@pytest.mark.parametrize("source", ["corpus", "workbench"])
def test_a_lossless_signature_is_read_back_to_all_rules_of_the_schema(corpus: Catalogue, source: str) -> None:
    tools = (corpus if source == "corpus" else CATALOGUE)["tools"].values()
    lossless = [(entry, shown.text) for entry in tools if (shown := signature(entry)).is_lossless]

    assert len(lossless) >= len(tools) * 0.45
    for entry, text in lossless:
        assert SignatureReader(text).schema() == rules(entry["tool"]["inputSchema"]), text


WORDS = st.text(alphabet="ab_1 .-|\"'\\/(){}?=,é", min_size=1, max_size=6)
SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 5),
            "maxLength": st.integers(5, 9),
            "pattern": WORDS,
            "format": st.sampled_from(["date-time", "uuid"]),
            "default": WORDS | st.sampled_from(["true", "null", "str", "1"]),
            "description": WORDS,
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(-5, 0), "maximum": st.sampled_from([1, 2.5, 1e30]), "default": st.integers()},
    ),
    st.fixed_dictionaries(
        {"enum": st.lists(WORDS | st.booleans() | st.integers() | st.just("any"), min_size=1, max_size=9, unique=True)}
    ),
    st.sampled_from([{"type": "boolean", "default": True}, {"type": "object"}, {}]),
    st.sampled_from([{"anyOf": [{"type": "string"}]}, {"type": ["string", "null"]}, {"type": "string", "const": "a"}]),
)


def objects(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(WORDS, parts, max_size=4)
    return members.flatmap(
        lambda properties: st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.just(properties)},
            optional={
                "required": st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([]),
                "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
            },
        )
    )


SCHEMAS = st.recursive(
    SCALARS,
    lambda parts: (
        objects(parts)
        | st.fixed_dictionaries({"type": st.just("array")}, optional={"items": parts, "minItems": st.integers(0, 3)})
    ),
    max_leaves=8,
)


def entry_of(schema: Mapping[str, Any], **more: Any) -> ToolEntry:
    tool = {"name": "tool", "description": "A tool", "inputSchema": dict(schema)}
    return {"tool": tool, "summary": "Do it", **more}  # type: ignore[typeddict-item]  # only what a signature needs


@given(schema=objects(SCHEMAS))
def test_no_signature_that_calls_itself_lossless_drops_a_rule(schema: dict[str, Any]) -> None:
    shown = signature(entry_of(schema))

    if shown.is_lossless:
        assert SignatureReader(shown.text).schema() == rules(schema)


def parameter(schema: Any, *, required: bool = False) -> Signature:
    names = {"required": ["x"]} if required else {}
    return signature(entry_of({"type": "object", "properties": {"x": schema}, **names}))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "(x?:str)"),
        ({"type": "string", "minLength": 1, "default": "a.b"}, "(x?:str(1..)=a.b)"),
        ({"type": "string", "default": "."}, '(x?:str=".")'),
        ({"type": "string", "default": "true"}, '(x?:str="true")'),
        ({"type": "string", "maxLength": 9, "pattern": "^a/b$"}, "(x?:str(..9, /^a/b$/))"),
        ({"type": "integer", "minimum": 0, "maximum": 20, "default": 2}, "(x?:int(0..20)=2)"),
        ({"type": "string", "enum": ["read", "a b", "int"]}, '(x?:read|"a b"|"int")'),
        ({"type": "string", "enum": ["date"]}, '(x?:"date")'),
        ({"type": "string", "enum": ["string", "array", "text"]}, '(x?:"string"|"array"|text)'),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2}, "(x?:(a|b)[](..2))"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}},
            "(x?:{b:number}[])",
        ),
    ],
)
def test_a_signature_states_type_limits_and_default(schema: dict[str, Any], text: str) -> None:
    assert parameter(schema) == Signature(text, is_lossless=True)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": list("abcdefghi")},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": "a" * 61},
        {"type": "array", "items": {"type": "string", "default": "a"}},
        {"type": "object", "properties": {"a": {"not": {}}}},
        {"$ref": "#/$defs/A"},
        True,
    ],
)
def test_a_signature_that_cannot_state_everything_lists_names(schema: Any) -> None:
    assert parameter(schema) == Signature("(x?)", is_lossless=False)
    assert parameter(schema, required=True) == Signature("(x)", is_lossless=False)


def test_rules_in_descriptions_need_the_complete_schema(desk: MakeDesk, corpus: Catalogue) -> None:
    described = {name: entry for name, entry in corpus["tools"].items() if "complete_schema" in entry}
    results = {result["tool_name"]: result for result in answers(desk, corpus)}

    assert described
    assert all(results[name]["input_schema"] == entry["complete_schema"] for name, entry in described.items())
    assert not any(signature(entry).is_lossless for entry in described.values())


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ("", ""),
        ("Path of the file. 1 to 20 characters. Must match `^a.b$`.", ' "Path of the file"'),
        ("Do the x tool", ""),
        ('Say "why"\n  and   when', ' "Say \\"why\\" and when"'),
        ("word " * 20, f' "{" ".join(["word"] * 11)}…"'),
    ],
)
def test_a_required_parameter_has_the_beginning_of_its_description(description: str, text: str) -> None:
    schema = {"type": "string", "minLength": 1, "description": description}

    assert parameter(schema, required=True).text == f"(x:str(1..){text})"
    assert parameter(schema).text == "(x?:str(1..))"
