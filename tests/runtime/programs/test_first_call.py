"""The first call of a server: its imports, and their preparation after a search."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest
from toolmason_runtime.server.preparation import Preparation
from toolmason_runtime.shared.catalogue import ToolEntry

HEAVY = ("pydantic", "mcp", "jsonschema", "climax_server.vcs.models")
SERVER = f"""
import asyncio, json, sys, threading
from quiet_context import QuietContext
from climax_server.catalogue import CATALOGUE
from climax_server.server import load_index
from toolmason_runtime.serving import Dispatcher

def dispatcher(catalogue=CATALOGUE, **more):
    return Dispatcher(catalogue, load_index=load_index, **more)

async def call(dispatcher, name, **arguments):
    return await dispatcher.dispatch("tools/call", {{"name": name, "arguments": arguments}}, QuietContext())

def join():
    [thread.join() for thread in threading.enumerate() if isinstance(thread, threading.Timer)]

def imported(*names):
    return [name for name in names if name in sys.modules]

async def main():
    told = await talk()
    print(json.dumps(told))

HEAVY = {HEAVY!r}
"""


def run(script: str) -> Any:
    """Run `talk` of a script in a process of its own; return its JSON."""
    program = f"{SERVER}{script}\nasyncio.run(main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


CALL = """
async def talk():
    server = dispatcher()
    result = await call(server, "call", tool_name="git_log", args=ARGUMENTS)
    await server.aclose()
    return [result.get("isError", False), result["content"][0]["text"], imported(*HEAVY)]
"""


@pytest.mark.usefixtures("sample")
def test_the_first_call_of_a_program_imports_no_model() -> None:
    is_error, text, imported = run(CALL.replace("ARGUMENTS", "{'max_count': 1, 'paths': None, 'wait_for_previous': 1}"))

    assert not is_error
    assert text != ""
    assert imported == []


@pytest.mark.usefixtures("sample")
def test_arguments_that_do_not_fit_import_the_model_for_the_error() -> None:
    is_error, text, imported = run(CALL.replace("ARGUMENTS", "{'max_count': []}"))

    assert is_error
    assert text.startswith("Argument 'max_count' must be an integer of at least 1; got an array")
    assert "climax_server.vcs.models" in imported


SEARCH = """
async def talk():
    server = dispatcher(CATALOGUE_OF_SERVER, prepare_after_s=DELAY)
    found = json.loads((await call(server, "search", query="latest commits"))["content"][0]["text"])
    join()
    prepared = imported("climax_server.vcs.bindings", "climax_server.words.bindings")
    result = await call(server, "call", tool_name="git_log", args={"max_count": 0})
    await server.aclose()
    return [found["results"][0]["tool_name"], prepared, result["content"][0]["text"]]
"""


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(("delay", "prepared"), [("0", ["climax_server.vcs.bindings"]), ("None", [])])
def test_the_category_of_the_first_result_of_a_search_is_imported_if_the_server_wants_it(
    delay: str, prepared: list[str]
) -> None:
    told = run(SEARCH.replace("DELAY", delay).replace("CATALOGUE_OF_SERVER", "CATALOGUE"))

    assert told[:2] == ["git_log", prepared]
    assert told[2].startswith("Argument 'max_count' must be an integer of at least 1; got 0")


AFTER_SEARCH = """
async def talk():
    server = dispatcher(prepare_after_s=0)
    await call(server, "search", query="latest commits")
    join()
    prepared = set(sys.modules)
    result = await call(server, "call", tool_name="git_log", args={"max_count": 1})
    await server.aclose()
    return [result.get("isError", False), sorted(sys.modules.keys() - prepared)]
"""


@pytest.mark.usefixtures("sample")
def test_a_call_after_a_search_imports_no_library() -> None:
    is_error, imported = run(AFTER_SEARCH)

    assert not is_error
    assert {name.partition(".")[0] for name in imported} <= {*sys.stdlib_module_names, "toolmason_runtime"}


@pytest.mark.usefixtures("sample")
def test_an_import_that_fails_is_reported_by_the_call_alone() -> None:
    catalogue = "{**CATALOGUE, 'categories': dict.fromkeys(CATALOGUE['categories'], CATEGORY)}"
    search = SEARCH.replace("DELAY", "0").replace("CATALOGUE_OF_SERVER", catalogue)
    # The server logs the failed call, and nothing else.
    head = "import logging\nlogging.disable()\nCATEGORY = {'module': 'missing', 'summary': 'a', 'tags': []}\n"

    name, prepared, text = run(head + search)

    assert (name, prepared) == ("git_log", [])
    assert "git_log" in text


def test_an_upstream_is_prepared_with_the_client_of_the_sdk() -> None:
    code = (
        "import sys; from toolmason_runtime.upstreams.handler import upstream;"
        "binding = upstream(None); before = 'mcp' in sys.modules;"
        "binding.prepare(); print(before, 'mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False True\n"


def entry(name: str, **more: Any) -> ToolEntry:
    made: ToolEntry = {"tool": {"name": name}, **more}  # type: ignore[typeddict-item]
    return made


def test_each_tool_is_prepared_once_and_no_disabled_one() -> None:
    loaded: list[str] = []
    preparation = Preparation(lambda name, _: loaded.append(name), [], 0)

    for expected in (entry("off", enabled=False), entry("first"), entry("second"), entry("first")):
        preparation.expect(expected)
        join()

    assert loaded == ["first", "second"]


def test_modules_of_all_calls_are_imported_with_the_first_tool_unless_it_fails() -> None:
    def fail(_name: str, _entry: ToolEntry) -> None:
        raise ImportError

    def succeed(_name: str, _entry: ToolEntry) -> None:
        pass

    for prepare_tool in (fail, succeed):
        sys.modules.pop("colorsys", None)
        Preparation(prepare_tool, ["colorsys"], 0).expect(entry("first"))
        join()
        assert ("colorsys" in sys.modules) is (prepare_tool is succeed)


def join() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
