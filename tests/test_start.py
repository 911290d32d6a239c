"""What a server needs before its first answer: neither pydantic nor the SDK nor a handler, which take half a second."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.real_start(reason="shows what a start imports")

HEAVY = {
    *("pydantic", "mcp", "mcp_types", "jinja2", "jsonschema", "datamodel_code_generator"),
    *("workbench_handlers", "workbench_research"),
}

ANSWERING = """
import asyncio, json, sys
from workbench_server.server import build_dispatcher

class Client:
    operation_id = "1"
    capabilities = {}
    is_local = True
    principal = None
    client_name = "toolmason"
    is_modern = False
    has_progress_token = False

async def answer(requests):
    dispatcher = build_dispatcher()
    for method, params in requests:
        result = await dispatcher.dispatch(method, params, Client())
        assert not result.get("isError"), result
    await dispatcher.aclose()

asyncio.run(answer(json.loads(sys.argv[1])))
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
Request = tuple[str, dict[str, object]]
LIST: Request = ("tools/list", {})
SEARCH: Request = ("tools/call", {"name": "search", "arguments": {"query": "first lines of a file"}})
CALL: Request = (
    "tools/call",
    {"name": "call_read", "arguments": {"tool_name": "list_allowed_directories", "args": {}}},
)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, encoding="utf-8", check=True, timeout=60)


def packages_after(*requests: Request) -> set[str]:
    """The packages that are imported once `requests` have been answered."""
    return set(json.loads(python("-c", ANSWERING, json.dumps(requests)).stdout))


def test_the_catalogue_is_plain_data() -> None:
    code = "import sys, workbench_server.catalogue; print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in python("-c", code).stdout.split()}

    assert "workbench_server" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_prompts_are_listed_and_given_without_anything_heavy() -> None:
    given: Request = ("prompts/get", {"name": "workbench-find", "arguments": {"arguments": "the parser of TOML"}})

    assert packages_after(("prompts/list", {}), given).isdisjoint(HEAVY)


def test_listing_and_searching_need_nothing_heavy() -> None:
    assert packages_after(LIST, SEARCH).isdisjoint(HEAVY)


def test_the_first_call_of_a_tool_brings_in_its_handler_and_models() -> None:
    loaded = packages_after(LIST, SEARCH, CALL)

    assert {"pydantic", "workbench_handlers"} <= loaded
    assert "jinja2" not in loaded


@pytest.mark.parametrize("module", ["toolmason", "workbench_server"])
def test_help_needs_nothing_heavy(module: str) -> None:
    run = python("-X", "importtime", "-m", module, "--help")
    loaded = set(re.findall(r"\|\s+(\w+)(?:\.|$)", run.stderr, re.MULTILINE))

    assert "usage:" in run.stdout.lower()
    assert "argparse" in loaded or "click" in loaded
    assert loaded.isdisjoint(HEAVY)
