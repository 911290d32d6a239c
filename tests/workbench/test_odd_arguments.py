"""Every tool answers names that no system accepts: with a result or an error for the model, never an internal error."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from toolmason_runtime.shared.selection import Selection

from workbench_server.catalogue import CATALOGUE
from workbench_server.options import Options
from workbench_server.server import build_dispatcher

ODD = {
    "a name of 256 bytes": "a" * 256,
    "a name of 256 bytes in two-byte letters": "é" * 128,
    "a long name in a directory": "folder/" + "a" * 300,
    "a long name in a missing directory": "missing/" + "a" * 300,
    "a long name below a file": "file.txt/" + "a" * 300,
    "a long name with a slash": "a" * 300 + "/",
    "a path of 5,000 bytes": "a/" * 2_500,
    "a path that is just below the limit": ("a" * 199 + "/") * 20 + "b" * 60,
    "a path of 20,000 bytes": "a/" * 10_000,
    "a path of 100,000 bytes": "a/" * 50_000,
    "a path of 90,000 bytes with a directory": "folder/../" * 9_000,
    "a URI of 100,000 bytes": "file:///" + "%41/" * 25_000,
    "dots up": "../" * 2_000,
    "dots": "./" * 3_000,
    "NUL": "a\0b",
    "two kinds of surrogates in pairs": "a\U0001f600\U0010ffff",
    "a line break": "a\nb",
    "an option": "--help",
    "a circle of links": "circle",
    "below a circle of links": "circle/a.txt",
    "a link to itself through a directory": "folder/up/folder/up/folder",
    "a long home": "~" + "a" * 300,
    "an absolute long name": "/" + "a" * 300,
    "blank": " ",
    "empty": "",
    "a device": "/dev/zero",
    "a pipe": "pipe",
    "brackets": "[" * 300,
    "a drive": "C:\\a\\b",
    "a URL": "file:///" + "a" * 300,
}
FEW = ("a name of 256 bytes", "a path of 5,000 bytes", "a circle of links", "NUL")
"""For the tools that start a program for each call."""
PROGRAMS = ("disk_", "docker_", "gh_", "git_", "word_", "query_")
TYPES = {"string": "a", "integer": 1, "boolean": False, "number": 0.5}
INTERNAL = "Error executing tool"


def strings(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the place of each text in a value of `schema`; `[]` is an item of an array."""
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema:
        yield path
    for name, inner in schema.get("properties", {}).items():
        yield from strings(inner, (*path, name))
    if kind == "array":
        yield from strings(schema["items"], (*path, "[]"))


def example(schema: dict[str, Any]) -> Any:
    """Return a small value of `schema`, with what it requires."""
    match schema.get("type"):
        case "object":
            return {name: example(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [example(schema["items"])]
        case kind:
            return schema["enum"][0] if "enum" in schema else TYPES[str(kind)]


def put(value: Any, schema: dict[str, Any], path: tuple[str, ...], odd: str) -> Any:
    """Return `value` with `odd` at a place."""
    if not path:
        return odd
    if path[0] == "[]":
        return [put(value[0] if value else example(schema["items"]), schema["items"], path[1:], odd)]
    inner = schema["properties"][path[0]]
    return {**value, path[0]: put(value.get(path[0], example(inner)), inner, path[1:], odd)}


@pytest.fixture
def odd_room(room: Any) -> Any:
    room.write("folder/a.txt", "text")
    room.write("file.txt", "text")
    (room.project / "circle").symlink_to("circle")
    (room.project / "folder" / "up").symlink_to("..")
    os.mkfifo(room.project / "pipe")
    subprocess.run(["git", "init", "-q", str(room.project)], check=True, capture_output=True)
    return room


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
@pytest.mark.parametrize("tool", sorted(CATALOGUE["tools"]))
def test_odd_names_cause_no_internal_error(
    tool: str, odd_room: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    schema = CATALOGUE["tools"][tool]["tool"]["inputSchema"]
    calls = [
        (place, name, put(example(schema), schema, place, odd))
        for place in strings(schema)
        for name, odd in ODD.items()
        if name in FEW or not tool.startswith(PROGRAMS)
    ]
    answers = asyncio.run(answered(tool, [arguments for _, _, arguments in calls], odd_room, client))
    internal = [
        (".".join(place), name, answer)
        for (place, name, _), answer in zip(calls, answers, strict=True)
        if INTERNAL in str(answer.get("content", ""))
    ]
    assert internal == []


async def answered(tool: str, calls: list[dict[str, Any]], room: Any, client: Any) -> list[dict[str, Any]]:
    """Call a tool of the real dispatcher, a few calls at a time."""
    options = Options(root=(str(room.project),))
    dispatcher = build_dispatcher(Selection("classic", all_tools=True), options=options)
    slots = asyncio.Semaphore(8)

    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        async with slots:
            return await dispatcher.dispatch("tools/call", {"name": tool, "arguments": arguments}, client)

    try:
        return await asyncio.gather(*(call(arguments) for arguments in calls))
    finally:
        await dispatcher.aclose()
