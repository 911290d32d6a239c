"""Options of commands from schemas: names that collide, kinds of values, and examples as command lines."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.tool_commands.app import Invocation, Program, run
from toolmason_runtime.toolkit import CommandOption

from toolmason.catalogue.tool_commands import (
    CommandSource,
    category_commands,
    command_line,
    dashed,
    options_of,
    unique,
)


def option(schema: dict[str, Any], name: str = "value", **root: Any) -> CommandOption:
    (found,) = options_of({"properties": {name: schema}, "$defs": root})
    return found


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("max_count", "max-count"),
        ("maxCount", "max-count"),
        ("HTTPServer", "http-server"),
        ("größe", "größe"),
        ("filter[status]", "filter-status"),
        ("$top", "top"),
        ("class", "class"),
        ("x.y", "x-y"),
        ("a b", "a-b"),
        ("_private", "private"),
        ("日本", "日本"),
        ("$(touch x)", "touch-x"),
        ("`x`;'\"", "x"),
    ],
)
def test_a_name_is_a_word_of_a_command_line(name: str, word: str) -> None:
    assert dashed(name) == word
    assert option({"type": "string"}, name).flag == f"--{word}"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a_b", "aB"], ["a_b", "aB"]),
        (["$", "€"], ["value-1", "value-2"]),
        (["a.b", "a-b"], ["a-b-1", "a-b-2"]),
        (["list", "list_"], ["list", "list_"]),
    ],
)
def test_names_that_give_the_same_word_stay_different(names: list[str], words: list[str]) -> None:
    assert unique(names) == words


@given(st.lists(st.text(max_size=8), unique=True, max_size=8))
def test_every_parameter_has_an_option_of_its_own(names: list[str]) -> None:
    found = options_of({"properties": {name: {"type": "boolean"} for name in names}})
    words = [word for each in found for word in (each.flag, each.negation) if word]

    assert [each.parameter for each in found] == names
    assert len({*words}) == len(words)
    assert not {"--help", "--json", "--yes", "--output", "--arguments"} & {*words}


@pytest.mark.parametrize("name", ["help", "json", "yes", "output", "arguments"])
def test_a_parameter_leaves_the_options_of_every_command_alone(name: str) -> None:
    assert option({"type": "string"}, name).flag == f"--arg-{name}"


def test_a_boolean_that_another_option_seems_to_negate_is_written_as_a_value() -> None:
    cache, no_cache = options_of({"properties": {"cache": {"type": "boolean"}, "no_cache": {"type": "string"}}})

    assert (cache.flag, cache.negation) == ("--cache", "")
    assert no_cache.flag == "--no-cache"


@pytest.mark.parametrize(
    ("schema", "kind", "repeated", "choices"),
    [
        ({"type": "string"}, "text", False, ()),
        ({"type": ["string", "null"]}, "text", False, ()),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer", False, ()),
        ({"type": "number"}, "number", False, ()),
        ({"enum": [1, 2.5, 3]}, "choice", False, (1, 2.5, 3)),
        ({"enum": ["a", None]}, "choice", False, ("a",)),
        ({"const": "only"}, "choice", False, ("only",)),
        ({"enum": [True, "auto"]}, "any", False, ()),
        ({"type": "array", "items": {"type": "string"}}, "text", True, ()),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "choice", True, ("a", "b")),
        ({"type": "array", "items": {"type": "object"}}, "json", True, ()),
        ({"type": "array", "items": {"type": "array"}}, "json", False, ()),
        ({"type": "array"}, "json", False, ()),
        ({"type": "object"}, "json", False, ()),
        ({"type": ["string", "integer"]}, "any", False, ()),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "any", False, ()),
        ({}, "any", False, ()),
        ({"$ref": "#/$defs/P"}, "json", False, ()),
        ({"$ref": "#/$defs/missing"}, "any", False, ()),
        ({"$ref": "#/$defs/loop"}, "any", False, ()),
        ({"type": "array", "items": {"$ref": "#/$defs/P"}}, "json", True, ()),
    ],
)
def test_the_kind_of_a_value_is_that_of_its_schema(
    schema: dict[str, Any], kind: str, repeated: bool, choices: tuple[Any, ...]
) -> None:
    found = option(schema, P={"properties": {"x": {}}}, loop={"$ref": "#/$defs/loop"})

    assert (found.kind, found.repeated, found.choices) == (kind, repeated, choices)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}},
        {"properties": {"x": {"type": "array", "items": {"$ref": "#/properties/x"}}}},
        {"properties": {"x": {"enum": "abc", "type": 5}}, "required": 5},
        {"properties": {"x": {"type": "object", "properties": {"y": True}, "required": "y"}}},
        {"properties": {"x": True}, "required": None},
    ],
)
def test_a_schema_of_a_server_can_contain_itself_or_be_wrong(schema: dict[str, Any]) -> None:
    (found,) = options_of(schema)
    assert found.kind in {"json", "any"}


def test_no_properties_are_no_options() -> None:
    assert options_of({"properties": ["x"]}) == ()


@given(st.lists(st.sampled_from(["a b", "a-b", "a_b", "a_b_1", "a-b-2", "g_a", "g_g_a", "a", "g"]), max_size=9))
def test_every_tool_has_a_command_of_its_own(names: list[str]) -> None:
    sources = [CommandSource(name=name, summary="", description="", schema={}) for name in names]
    entries = category_commands("g", "", sources).category.commands
    words = [{entry.name, entry.full_name} for entry in entries]
    assert len(set().union(*words)) == sum(map(len, words))


def test_a_command_loses_the_name_of_its_category() -> None:
    sources = [CommandSource(name=name, summary="", description="", schema={}) for name in ("git_log", "git", "log")]

    built = category_commands("git", "", sources, module="m")

    # `log` is the command of two tools, so both keep their names.
    assert [command.name for command in built.commands] == ["git-log", "git", "log"]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    "whole": st.integers(-(10**12), 10**12),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "flag": st.booleans(),
    "texts": st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), max_size=3),
    "level": st.sampled_from([1, 2, "3"]),
    "nested": st.lists(st.lists(st.integers(), max_size=2), max_size=2),
    "objects": st.lists(st.dictionaries(st.sampled_from("ab"), st.integers()), min_size=1, max_size=2),
}
SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "whole": {"type": "integer"},
        "number": {"type": "number"},
        "flag": {"type": "boolean", "default": True},
        "texts": {"type": "array", "items": {"type": "string"}},
        "level": {"enum": [1, 2, "3"]},
        "nested": {"type": "array", "items": {"type": "array"}},
        "objects": {"type": "array", "items": {"type": "object"}},
    }
}


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_the_command_line_of_a_call_makes_this_call(arguments: dict[str, Any]) -> None:
    source = CommandSource(name="echo", summary="", description="", schema=SCHEMA)
    built = category_commands("words", "", [source])
    calls: list[dict[str, Any]] = []

    def call(invocation: Invocation) -> int:
        calls.append(invocation.arguments)
        return 0

    program = Program(
        "echo",
        "",
        (built.category,),
        lambda _category: {command.name: command for command in built.commands},
        call,
    )

    line = command_line(built.commands[0].options, arguments)

    assert run(program, ["echo", *shlex.split(line)]) == 0
    assert json.dumps(calls[0], sort_keys=True) == json.dumps(arguments, sort_keys=True)
