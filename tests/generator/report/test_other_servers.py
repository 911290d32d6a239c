"""`toolmason report --server`, and pages with the names that others choose."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from report_pages import NAMES, SCHEMA, page_of

from toolmason.audit.server_lists import ServerDescription

MAX_SIZE = 1_500_000
SERVER = '''\
"""A server with three tools of the wire."""

import json
import sys

TOOLS = {tools!r}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {{}}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        about = {{"name": "shop", "title": "The Shop", "version": "2.5"}}
        result = {{"protocolVersion": version, "capabilities": {{"tools": {{}}}}, "serverInfo": about}}
    elif message["method"] == "tools/list":
        result = {{"tools": json.loads(TOOLS)}}
    else:
        error = {{"code": -32601, "message": "unknown"}}
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "error": error}}), flush=True)
        continue
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
'''
TOOLS = [
    {"name": "find", "description": "Find a thing.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "drop", "description": "Drop a thing.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": False}},
    {"name": "odd", "inputSchema": SCHEMA},
]


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The command line of a server."""
    (tmp_path / "shop.py").write_text(SERVER.format(tools=json.dumps(TOOLS)), encoding="utf-8")
    return f"{sys.executable} {tmp_path / 'shop.py'}"


def test_a_server_of_others_has_what_needs_no_manifest(
    toolmason_run: Callable[..., Result], shop: str, desk: Path
) -> None:
    (desk / "shop.toml").write_text('[queries]\nfind = ["find it"]\ndrop = ["drop it", "find"]\n', encoding="utf-8")
    result = toolmason_run("report", "--server", shop, "--queries", "shop.toml")
    assert result.exit_code == 0, result.output

    for part in (
        "<h1>The Shop</h1>",
        "version 2.5",
        "find: only reads, reaches other systems; unknown; the client may ask",
        "odd: may destroy, reaches other systems (not stated)",
        "2 of 3 queries from",
        "1 tool states no hints",
        "need a manifest: a server does not list them",
        "Another server has no recorded release",
    ):
        assert part in result.output, part


def test_a_server_of_others_is_compared_with_a_file(
    toolmason_run: Callable[..., Result], shop: str, desk: Path
) -> None:
    (desk / "old.json").write_text(json.dumps([*TOOLS, {"name": "gone", "inputSchema": SCHEMA}]), encoding="utf-8")
    result = toolmason_run("report", "--server", shop, "--since", "old.json")
    assert result.exit_code == 0, result.output
    assert "tool <code>gone</code> is removed" in result.output


@pytest.mark.uncovered
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_any_name_is_text(name: str) -> None:
    tool = {
        "name": name,
        "description": name,
        "inputSchema": {"type": "object", "properties": {name: {"type": "string"}}},
    }
    other = {"name": "other", "description": "Another tool.", "inputSchema": SCHEMA}
    about = ServerDescription(name=name, title=name, version=name, instructions=name)
    page = page_of([tool, other], about)

    assert "<script" not in page
    assert "<img" not in page
    assert ' onmouseover="' not in page
    assert "&lt;script&gt;" in page or name != NAMES["script"]
    assert "{{ 7 * 7 }}" in page or name != NAMES["template"]
    assert all(letter.isprintable() or letter == "\n" for letter in page)
    # The names of attributes and elements are those of a page with a plain name.
    assert page.count("<svg") == page_of([{**tool, "name": "plain"}, other]).count("<svg")


@pytest.mark.uncovered
def test_a_thousand_tools_with_long_names_are_a_page_of_sensible_size() -> None:
    tools: list[dict[str, Any]] = [
        {"name": f"tool_{number}_{'x' * 290}", "description": "Do a thing. " * 20, "inputSchema": SCHEMA}
        for number in range(1_000)
    ]
    page = page_of(tools)

    assert len(page.encode()) < MAX_SIZE
    assert "(977 more)" in page
    # Bands instead of a square for each tool.
    assert 'class="square' not in page
    assert "Tools by category and effect" in page


@pytest.mark.parametrize(
    "schema", [None, True, {"type": "object", "$ref": "#"}, {"properties": 1}, {"type": ["object"]}]
)
def test_an_odd_schema_has_a_page(schema: object) -> None:
    assert "<h1>shop</h1>" in page_of([{"name": "odd", "inputSchema": schema, "annotations": "none"}])


def test_what_few_clients_fail_at_does_not_fail() -> None:
    schema = {**SCHEMA, "additionalProperties": False, "$schema": "http://json-schema.org/draft-07/schema#"}
    page = page_of([{"name": "find", "description": "Find a thing.", "inputSchema": schema}])

    assert "<b>0</b> tools that fail in clients" in page
    assert '<th scope="row">MCP clients</th><td class="number">0</td><td class="number">1</td>' in page
    assert '<th scope="row">openai-strict</th><td class="number">1</td>' in page


def test_the_number_of_tools_counts_for_those_that_are_listed() -> None:
    tools: list[dict[str, Any]] = [{"name": f"tool_{number}", "inputSchema": SCHEMA} for number in range(200)]
    assert "<code>tool-count</code>" in page_of(tools)
    assert "<code>tool-count</code>" not in page_of(tools, is_listed=False)
