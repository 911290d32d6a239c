"""The result schemas in `tools/list`: a small part of it, and true of every result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from toolmason_runtime.discovery import style_for
from toolmason_runtime.protocol.selection import Selection

from workbench_server.catalogue import CATALOGUE

MAX_SHARE = 0.27
STRUCTURED = [name for name, entry in CATALOGUE["tools"].items() if "outputSchema" in entry["tool"]]


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def samples(schema: dict[str, Any]) -> Iterator[Any]:
    """Return results that fit `schema`: one with all members, one with the required ones alone, each choice in turn."""
    match schema:
        case {"enum": choices}:
            yield from choices
        case {"anyOf": branches}:
            yield from (each for branch in branches for each in samples(branch))
        case {"type": list() as kinds}:
            yield from (each for kind in kinds for each in samples({**schema, "type": kind}))
        case {"type": "object", "properties": members}:
            values = {name: list(samples(part)) for name, part in members.items()}
            for place in range(max(map(len, values.values()), default=1)):
                yield {name: choices[place % len(choices)] for name, choices in values.items()}
            yield {name: values[name][0] for name in schema.get("required", ())}
        case {"type": "object", "additionalProperties": dict() as part}:
            yield {str(place): each for place, each in enumerate(samples(part))}
        case {"type": "array"}:
            yield list(samples(schema["items"]))
            yield []
        case {"type": kind}:
            yield {"string": "text", "integer": 3, "number": 0.5, "boolean": True, "null": None, "object": {}}[kind]


def descriptions(schema: Any) -> Iterator[str]:
    match schema:
        case dict():
            if isinstance(schema.get("description"), str):
                yield schema["description"]
            yield from (text for part in schema.values() for text in descriptions(part))
        case list():
            yield from (text for part in schema for text in descriptions(part))


@pytest.mark.parametrize("all_tools", [False, True], ids=["core", "all"])
def test_result_schemas_take_a_small_part_of_the_full_list(all_tools: bool) -> None:
    listed = style_for(CATALOGUE, Selection("classic", all_tools=all_tools), dict).listed()
    tools = [{key: value for key, value in tool.items() if key != "_meta"} for tool in listed]

    assert sum(size(tool["outputSchema"]) for tool in tools if "outputSchema" in tool) <= MAX_SHARE * size(tools)


@pytest.mark.parametrize("name", STRUCTURED)
def test_results_valid_in_the_checked_schema_are_valid_in_the_listed_schema(name: str) -> None:
    entry = CATALOGUE["tools"][name]
    listed, checked = entry["tool"]["outputSchema"], entry.get("result_schema", entry["tool"]["outputSchema"])
    found = list(samples(checked))

    assert found
    for each in found:
        Draft202012Validator(checked).validate(each)
        Draft202012Validator(listed).validate(each)


@pytest.mark.parametrize("name", STRUCTURED)
def test_listed_result_schemas_have_the_members_and_types_of_results_and_no_texts(name: str) -> None:
    entry = CATALOGUE["tools"][name]
    listed, checked = entry["tool"]["outputSchema"], entry.get("result_schema", entry["tool"]["outputSchema"])

    assert not list(descriptions(listed))
    assert listed["required"] == checked["required"]
    assert {name: part["type"] for name, part in listed["properties"].items()} == {
        name: part["type"] for name, part in checked["properties"].items()
    }
