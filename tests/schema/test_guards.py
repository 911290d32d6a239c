"""Nothing that Workbench sends, in any style and any answer, is something that a provider or a client refuses."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from google.ai.generativelanguage_v1beta.types import content
from google.genai import types
from google.protobuf import json_format
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError
from quiet_context import QuietContext
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

from toolmason.resolve.client_names import clashes, too_long, too_many
from toolmason.schema import Severity, Target, advertise, check, project
from workbench_server.catalogue import CATALOGUE
from workbench_server.server import load_index

PROVIDER_FILES = Path(__file__).parents[2] / "generated" / "schemas"
SERVER = CATALOGUE["server"]["name"]
SENT_AS_IT_STANDS = tuple(target for target in Target if target is not Target.OPENAI_STRICT)
"""Whom clients send a tool's schema without a change. None declares a foreign tool as strict."""
MESSAGE = content.Schema.pb(content.Schema())
DECLARATION = content.FunctionDeclaration.pb(content.FunctionDeclaration())


@dataclass(frozen=True, slots=True)
class Sent:
    """A schema that a model is sent: in which style and which answer, for which tool, and under which key."""

    style: str
    answer: str
    tool: str
    key: str
    schema: Any

    @property
    def place(self) -> str:
        return f"{self.style}, {self.answer}, {self.tool}"

    @property
    def is_shortened(self) -> bool:
        return self.answer == "get_tool_description"


def ways(catalogue: Catalogue) -> Iterator[tuple[str, Dispatcher]]:
    """Yield the server in every discovery style, with all of its tools."""
    for style in STYLES:
        for is_split in (True, False) if style == "search-call" else (catalogue["discovery"]["split_calls"],):
            discovery = {**catalogue["discovery"], "split_calls": is_split}
            changed: Any = {**catalogue, "discovery": discovery}
            name = style if is_split or style != "search-call" else f"{style} without split calls"
            yield name, Dispatcher(changed, selection=Selection(style, all_tools=True), load_index=load_index)


def questions(style: str, catalogue: Catalogue) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the calls of a model: the name of the answer, the meta-tool and its arguments."""
    tools, categories = list(catalogue["tools"]), ["", *catalogue["categories"]]
    match style.split(maxsplit=1)[0]:
        case "search-call":
            yield from (("search", "search", {"query": name}) for name in tools)
            pages = product(categories, range(0, len(tools), 4))
            yield from (("search", "search", {"category": each, "offset": start}) for each, start in pages)
        case "list-describe":
            yield from (("listing", "list_available_tools", {"category": each}) for each in categories)
            yield "listing", "list_available_tools", {"include_disabled": True}
            for name in tools:
                yield "get_tool_description", "get_tool_description", {"tool_name": name}
                yield "get_tool_description in full", "get_tool_description", {"tool_name": name, "full": True}
        case "code":
            yield from (("search", "search", {"query": name}) for name in tools)
        case "discover-schema":
            levels = ("name_only", "with_description", "with_use_cases", "full")
            yield from (("discover_tools", "discover_tools", {"detail_level": each}) for each in levels)
            yield from (("get_tool_schema", "get_tool_schema", {"tool_name": name}) for name in tools)


async def answers(catalogue: Catalogue) -> list[tuple[str, str, dict[str, Any]]]:
    """Yield every answer with tools: the style, the call and the result."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for style, server in ways(catalogue):
        page: dict[str, Any] = {}
        while not found or "nextCursor" in page or found[-1][0] != style:
            page = await server.dispatch("tools/list", {"cursor": page.get("nextCursor")}, QuietContext())
            found.append((style, "tools/list", page))
        for answer, tool, arguments in questions(style, catalogue):
            result = await server.dispatch("tools/call", {"name": tool, "arguments": arguments}, QuietContext())
            assert not result.get("isError"), result
            found.append((style, answer, result))
    return found


def sent(catalogue: Catalogue) -> list[Sent]:
    """Yield every schema that a model can receive."""
    found = []
    for style, answer, result in asyncio.run(answers(catalogue)):
        told = [json.loads(each["text"]) for each in result.get("content", ()) if each["text"].startswith("{")]
        for value in (result, *told):
            found += [Sent(style, answer, *each) for each in schemas_in(value)]
    return found


def schemas_in(value: Any, tool: str = "") -> Iterator[tuple[str, str, Any]]:
    """Find the schemas in an answer: the tool's name, the key, and the schema."""
    match value:
        case dict():
            tool = str(value.get("name") or value.get("tool_name") or tool)
            for key, inner in value.items():
                if key in {"inputSchema", "input_schema", "outputSchema"}:
                    yield tool, key, inner
                elif key == "parameters":
                    yield tool, key, as_schema(inner)
                else:
                    yield from schemas_in(inner, tool)
        case list():
            for inner in value:
                yield from schemas_in(inner, tool)


def as_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a description, in which each parameter has a boolean `required`."""
    schema: dict[str, Any] = {"type": "object", "properties": {name: _part(each) for name, each in parameters.items()}}
    required = [name for name, each in parameters.items() if each["required"]]
    return schema | ({"required": required} if required else {})


def _part(told: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: value for key, value in told.items() if key != "required" and (key, "anyOf" in told) != ("type", True)}
    if "properties" in part:
        part |= as_schema(part["properties"])
    if "items" in part:
        part["items"] = _part(part["items"])
    return part


def rules_against(schema: Any) -> Iterator[str]:
    """Yield findings of `check`: refused or narrowed for any target, or lossy for MCP."""
    for target in SENT_AS_IT_STANDS:
        worst = {Severity.REFUSED, Severity.NARROWED} | ({Severity.LOSSY} if target is Target.MCP else set())
        yield from (
            f"{target}: {each.pattern} at {each.path}" for each in check(schema, target) if each.severity in worst
        )


def dialects_against(schema: Any) -> Iterator[str]:
    """Yield findings of the projection to each provider, which must be lossless."""
    for target in Target:
        projection = project(schema, target)
        narrows = set() if target is Target.OPENAI_STRICT else {Severity.NARROWED}  # it has no open objects
        yield from (
            f"projected to {target}: {each.pattern} at {each.path}"
            for each in (*projection.findings, *check(projection.schema, target))
            if each.severity in {Severity.REFUSED, *narrows}
        )


def metaschemas_against(schema: Any) -> Iterator[str]:
    for validator in (Draft202012Validator, Draft7Validator):
        try:
            validator.check_schema(schema)
        except SchemaError as error:
            yield f"{validator.META_SCHEMA['$schema']}: {error.message}"


def types_of_google_against(schema: Any) -> Iterator[str]:
    """Yield errors of google-genai for the JSON Schema and for its projection to the older field."""
    try:
        types.FunctionDeclaration(name="tool", parameters_json_schema=schema)
        types.JSONSchema.model_validate(schema)
        types.Schema.model_validate(project(schema, Target.GEMINI_PARAMETERS).schema)
    except (ValidationError, AttributeError) as error:
        yield f"google-genai: {error}"


def message_of_google_against(schema: Any) -> Iterator[str]:
    """Yield errors of the parser of Gemini's message for the schema with upper-case types, and for its projection."""
    for each in (in_upper_case(schema), project(schema, Target.GEMINI_PARAMETERS).schema):
        try:
            json_format.ParseDict(each, type(MESSAGE)())
        except (json_format.ParseError, AttributeError) as error:
            yield f"protobuf: {error}"


def in_upper_case(schema: Any) -> Any:
    """Write the types as the message has them. The parser in front of the provider takes either."""
    if not isinstance(schema, dict):
        return schema
    upper = dict(schema)
    if isinstance(schema.get("type"), str):
        upper["type"] = schema["type"].upper()
    if "items" in schema:
        upper["items"] = in_upper_case(schema["items"])
    if isinstance(schema.get("anyOf"), list):
        upper["anyOf"] = [in_upper_case(each) for each in schema["anyOf"]]
    if isinstance(schema.get("properties"), dict):
        upper["properties"] = {name: in_upper_case(each) for name, each in schema["properties"].items()}
    return upper


def advertising_again_changes(schema: Any) -> Iterator[str]:
    """Yield the changes of a schema that should already be portable."""
    if (again := advertise(schema).schema) != schema:
        yield f"advertise makes of it {json.dumps(again)}"


def advertising_again_changes_more_than_words(schema: Any) -> Iterator[str]:
    """The same, but for words: meta-tools are terse, a shortened description is short."""
    if wordless(again := advertise(schema).schema) != wordless(schema):
        yield f"advertise makes of it {json.dumps(again)}"


def wordless(schema: Any) -> Any:
    match schema:
        case dict():
            return {key: wordless(each) for key, each in schema.items() if not isinstance(each, str) or key == "type"}
        case list():
            return [wordless(each) for each in schema]
    return schema


Guard = Callable[[Any], Iterator[str]]
GUARDS: tuple[Guard, ...] = (
    rules_against,
    dialects_against,
    metaschemas_against,
    types_of_google_against,
    message_of_google_against,
    advertising_again_changes,
)


def against(each: Sent) -> tuple[str, ...]:
    """Return all objections to a schema that is sent."""
    is_terse = each.is_shortened or each.tool not in CATALOGUE["tools"]
    return _against(json.dumps(each.schema), is_result=each.key == "outputSchema", is_terse=is_terse)


@cache  # the same schema stands in many answers
def _against(text: str, *, is_result: bool, is_terse: bool) -> tuple[str, ...]:
    last = advertising_again_changes_more_than_words if is_terse else advertising_again_changes
    guards = (metaschemas_against, references_in) if is_result else (*GUARDS[:-1], last)
    return tuple(said for guard in guards for said in guard(json.loads(text)))


def references_in(schema: Any) -> Iterator[str]:
    """Yield keywords that clients would have to resolve or could misread; property names are ignored."""
    match schema:
        case dict():
            yield from (key for key in schema if key in {"$ref", "$defs", "$schema", "definitions"})
            for key, inner in schema.items():
                inside = list(inner.values()) if key == "properties" and isinstance(inner, dict) else inner
                yield from () if key in {"enum", "const", "default", "examples"} else references_in(inside)
        case list():
            for inner in schema:
                yield from references_in(inner)


def offences(catalogue: Catalogue) -> dict[str, tuple[str, ...]]:
    """Return the objections to everything that a server sends, by location."""
    return {each.place: found for each in sent(catalogue) if (found := against(each))}


def with_schema(tool: str, schema: Any, *, key: str = "inputSchema") -> Catalogue:
    """Return the catalogue of Workbench with a different schema for one tool."""
    catalogue: Any = {**CATALOGUE, "tools": copy.deepcopy(dict(CATALOGUE["tools"]))}
    catalogue["tools"][tool]["tool"][key] = schema
    return catalogue  # type: ignore[no-any-return]  # it is one, but for what is wrong with it


EVERYWHERE = {
    (style, answer)
    for style, answers in {
        "search-call": ["search"],
        "search-call without split calls": ["search"],
        "list-describe": ["get_tool_description", "get_tool_description in full"],
        "discover-schema": ["get_tool_schema"],
        "classic": ["tools/list"],
    }.items()
    for answer in answers
}
"""The answers in which each tool's schema stands."""


@pytest.mark.uncovered
def test_no_answer_contains_a_schema_that_a_provider_refuses() -> None:
    assert offences(CATALOGUE) == {}


def test_every_tool_is_seen_in_every_style_and_every_answer_with_schemas() -> None:
    seen = {(each.style, each.answer, each.tool) for each in sent(CATALOGUE) if each.key != "outputSchema"}

    assert seen >= {(*place, tool) for place in EVERYWHERE for tool in CATALOGUE["tools"]}


def test_every_meta_tool_that_looks_up_is_asked() -> None:
    tools = {name for tool, entry in CATALOGUE["tools"].items() for name in (tool, *entry.get("aliases", ()))}
    for style, server in ways(CATALOGUE):
        metas = {*server.listed} - tools - {"fetch_chunk"}
        asked = {tool for _, tool, _ in questions(style, CATALOGUE)}
        assert metas - asked == {name for name in metas if "call" in name or name in {"run", "run_read"}}


SOUND: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string", "description": "A path"}}}


def beside(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**SOUND["properties"], **properties}}


BAD: dict[str, dict[str, Any]] = {
    "a reference": {**beside(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}},
    "a dialect": {"$schema": "http://json-schema.org/draft-07/schema#", **SOUND},
    "items of anything": beside(a={"type": "array", "items": {}}),
    "no items": beside(a={"type": "array"}),
    "a list of types": beside(a={"type": ["string", "null"]}),
    "an enum of integers": beside(a={"type": "integer", "enum": [1, 2]}),
    "an enum with an empty text": beside(a={"type": "string", "enum": ["", "a"]}),
    "an enum without a type": beside(a={"enum": ["a", "b"]}),
    "a constant": beside(a={"const": "a"}),
    "no type": beside(a={"description": "Anything"}),
    "nothing": beside(a={}),
    "yes to all": beside(a=True),
    "exactly one of": beside(a={"oneOf": [{"type": "string"}, {"type": "integer"}]}),
    "all of": beside(a={"allOf": [{"type": "string"}]}),
    "words beside a union": beside(a={"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "A"}),
    "a union at the root": {"anyOf": [SOUND, beside(a={"type": "string"})]},
    "a tuple": beside(a={"type": "array", "prefixItems": [{"type": "string"}]}),
    "a tuple of draft-07": beside(a={"type": "array", "items": [{"type": "string"}]}),
    "a typed map": beside(a={"type": "object", "additionalProperties": {"type": "string"}}),
    "a closed object": {**SOUND, "additionalProperties": False},
    "an exclusive bound": beside(a={"type": "integer", "exclusiveMinimum": 0}),
    "a required property that is not there": {**SOUND, "required": ["a"]},
    "a name that providers refuse": beside(**{"a b": {"type": "string"}}),
    "the dialect of Gemini": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    "a root that is no object": {"type": "array", "items": {"type": "string"}},
    "a limit that no description says": beside(a={"type": "string", "minLength": 1}),
}
"""What a careless tool could hold. Each is valid JSON Schema, or nearly."""


OF_THE_ROOT = {
    "a dialect",
    "a closed object",
    "a required property that is not there",
    "a root that is no object",
    "a union at the root",
}
"""What a description of each parameter does not tell."""


def test_sound_schema_is_passed_by_each_guard() -> None:
    assert [said for guard in GUARDS for said in guard(SOUND)] == []


@pytest.mark.parametrize(
    ("guard", "name"),
    [
        (rules_against, "a name that providers refuse"),
        (dialects_against, "a required property that is not there"),
        (metaschemas_against, "a tuple of draft-07"),
        (types_of_google_against, "an exclusive bound"),
        (message_of_google_against, "an enum of integers"),
        (advertising_again_changes, "a limit that no description says"),
        (advertising_again_changes_more_than_words, "a list of types"),
        (references_in, "a reference"),
    ],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
def test_each_guard_catches_something(guard: Guard, name: str) -> None:
    assert list(guard(BAD[name]))


@pytest.mark.uncovered
@pytest.mark.parametrize("name", BAD)
def test_bad_schema_is_caught_in_every_answer_that_holds_it(name: str) -> None:
    found = [each for each in sent(with_schema("read_files", BAD[name])) if each.tool == "read_files"]
    caught = {(each.style, each.answer) for each in found if against(each)}
    untold = {place for place in EVERYWHERE if "get_tool_description" in place[1]} if name in OF_THE_ROOT else set()
    wordless_too = {place for place in EVERYWHERE if place[1] == "get_tool_description"}

    assert caught | (wordless_too if name == "a limit that no description says" else untold) == EVERYWHERE


@pytest.mark.parametrize("keyword", ["$ref", "$schema"])
def test_result_schema_that_a_client_would_have_to_look_up_is_caught(keyword: str) -> None:
    schema = beside(a={"type": "string"}) | {"description": "What came out"}
    schema["properties"]["a"] = {keyword: "https://example.com/a"}

    places = {place.rpartition(", ")[0] for place in offences(with_schema("read_files", schema, key="outputSchema"))}

    assert places == {"classic, tools/list"}


def test_property_may_be_called_like_a_reference_in_a_result_schema() -> None:
    assert list(references_in(beside(**{"$ref": {"type": "string", "default": {"$ref": "a"}}}))) == []


class File:
    """A file of tool declarations for one provider."""

    def __init__(self, target: Target, declared: Callable[[Any], list[Any]], keys: str, schema: str) -> None:
        self.target = target
        self.keys = set(keys.split())
        self._declared = declared
        self._schema = schema

    def declarations(self, data: Any) -> dict[str, Any]:
        return {each["name"]: each for each in self._declared(data)}

    def schemas(self, data: Any) -> dict[str, Any]:
        """Return the schemas by tool. Gemini receives none for a tool without parameters."""
        return {name: each[self._schema] for name, each in self.declarations(data).items() if self._schema in each}


FILES = {
    "mcp.json": File(
        Target.MCP,
        lambda data: [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in data["tools"]],
        "name description inputSchema",
        "inputSchema",
    ),
    "anthropic.json": File(Target.ANTHROPIC, list, "name description input_schema", "input_schema"),
    "gemini.json": File(
        Target.GEMINI_PARAMETERS,
        lambda data: data[0]["functionDeclarations"],
        "name description parameters",
        "parameters",
    ),
    "gemini_vertex.json": File(
        Target.GEMINI_VERTEX, lambda data: data[0]["functionDeclarations"], "name description parameters", "parameters"
    ),
    "gemini_json.json": File(
        Target.GEMINI_JSON,
        lambda data: data[0]["functionDeclarations"],
        "name description parametersJsonSchema",
        "parametersJsonSchema",
    ),
    "openai.json": File(
        Target.OPENAI, lambda data: [each["function"] for each in data], "name description parameters", "parameters"
    ),
    "openai_strict.json": File(
        Target.OPENAI_STRICT,
        lambda data: [each["function"] for each in data],
        "name description strict parameters",
        "parameters",
    ),
}


def read(name: str) -> Any:
    return json.loads((PROVIDER_FILES / name).read_text(encoding="utf-8"))


def test_every_file_for_a_provider_is_known() -> None:
    assert {path.name for path in PROVIDER_FILES.glob("*.json")} == {*FILES, "manifest.schema.json"}
    assert {file.target for file in FILES.values()} == set(Target)


@pytest.mark.parametrize("name", FILES)
def test_file_declares_every_tool_as_its_provider_takes_it(name: str) -> None:
    file, data = FILES[name], read(name)
    declarations = file.declarations(data)

    assert declarations.keys() == CATALOGUE["tools"].keys()
    without = {tool for tool, each in declarations.items() if each.keys() != file.keys}
    assert without <= {
        tool for tool, each in CATALOGUE["tools"].items() if not each["tool"]["inputSchema"]["properties"]
    }
    for tool, schema in file.schemas(data).items():
        refused = [
            each for each in check(schema, file.target) if each.severity in {Severity.REFUSED, Severity.NARROWED}
        ]
        assert (tool, refused) == (tool, [])
        assert project(schema, file.target).schema == schema, tool


@pytest.mark.parametrize("name", ["gemini.json", "gemini_vertex.json", "gemini_json.json"])
def test_file_for_gemini_is_read_by_its_types_and_by_its_message(name: str) -> None:
    data = read(name)

    assert len(types.Tool.model_validate(data[0]).function_declarations or ()) == len(CATALOGUE["tools"])
    for declaration in data[0]["functionDeclarations"]:
        json_format.ParseDict(declaration, type(DECLARATION)())


def test_file_for_openai_wraps_functions() -> None:
    assert all(each.keys() == {"type", "function"} and each["type"] == "function" for each in read("openai.json"))
    assert all(each["function"]["strict"] is True for each in read("openai_strict.json"))


def item_of_files(schema: Any) -> dict[str, Any]:
    """Return the schema of one of the `files` of `read_files`, with lower-case types and without null."""
    files = _not_null(schema["properties"]["files"])
    assert files["type"].lower() == "array"
    return _not_null(files["items"])


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    branches = [each for each in schema.get("anyOf", [schema]) if each.get("type", "").lower() != "null"]
    assert len(branches) == 1
    only: dict[str, Any] = branches[0]
    return only


ITEM_OF_FILES = {"path", "head", "tail", "start_line", "end_line", "read_to_next_pattern", "encoding"}


def test_read_files_items_stay_objects() -> None:
    """LOG-001: a converter once made strings of them, and models then called the tool with strings."""
    shown = {
        each.place: each.schema for each in sent(CATALOGUE) if each.tool == "read_files" and each.key != "outputSchema"
    } | {name: file.schemas(read(name))["read_files"] for name, file in FILES.items()}

    for place, schema in shown.items():
        item = item_of_files(schema)
        assert (place, item["type"].lower()) == (place, "object")
        assert item["properties"].keys() == ITEM_OF_FILES, place
        assert item["properties"]["path"]["type"].lower() == "string"
        assert "path" in item["required"]
    assert len(shown) == len(EVERYWHERE) + len(FILES)


def test_read_files_items_that_became_strings_are_noticed() -> None:
    schema = {"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}}}}

    assert item_of_files(schema)["type"] != "object"


def refused_names(names: Mapping[str, str]) -> list[str]:
    """Return the listed names that a client rejects, truncates or confuses; `names` maps them to their tools."""
    return [
        *(f"{name}: form" for name in names if not re.fullmatch(r"[a-z][a-z0-9_]*", name)),
        *(f"{name}: too long for {client.title}" for name in names for client in too_long(name, SERVER)),
        *(f"{clash.first} and {clash.second} in {clash.client.title}" for clash in clashes(names, SERVER)),
    ]


def test_every_name_in_every_style_passes_each_client() -> None:
    for style, server in ways(CATALOGUE):
        assert (style, refused_names({name: name for name in server.listed})) == (style, [])
        assert [client.title for client in too_many(len(server.listed))] == []


@pytest.mark.parametrize("names", [["read.files"], ["read_files" * 6], ["Read"], ["a_b", "a.b"], ["1st"]], ids=str)
def test_name_that_a_client_refuses_is_caught(names: list[str]) -> None:
    assert refused_names({name: name for name in names})
