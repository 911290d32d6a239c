"""The commands of docs/upstreams.md run in order, its manifest is that of the import, and its tables are complete."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import ElicitResult
from pages import NODE, check, path_with, quoted, read, run

from toolmason.commands import toolmason
from toolmason.commands.pipeline_run import TIME_LIMIT
from toolmason.diagnostics.rules import RULES
from toolmason.diff import lock
from toolmason.importers.design.parameter_names import argument_names
from toolmason.importers.design.tool_names import NamedTool, designed_names
from toolmason.importers.server.tools import MAX_INLINE_CHARACTERS
from toolmason.render.plan import UNSELECTED

PAGE: Final = read("docs/upstreams.md")
IMPORTED: Final = PAGE.section("Import a server")
CHANGED: Final = PAGE.section("Rename, set or hide arguments")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the first command of the page makes."""
    project = tmp_path_factory.mktemp("memory")
    command, expected = PAGE.sessions()[0]
    check(command, expected, project)
    return project


def tables(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "manifest" / "memory.toml").read_text(encoding="utf-8"))


def is_part(part: Any, whole: Any) -> bool:
    """Return whether each key of `part` has the same value in `whole`."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(part[key], whole[key]) for key in part)
    return bool(part == whole)


def test_the_manifest_of_the_page_is_that_of_the_import(project: Path) -> None:
    shown = tomllib.loads(IMPORTED.block("toml"))
    installed = json.loads((NODE / "@modelcontextprotocol" / "server-memory" / "package.json").read_text("utf-8"))
    package = f"@modelcontextprotocol/server-memory@{installed['version']}"
    assert shown["upstreams"]["memory"].pop("command") == ["npx", "-y", package]

    assert is_part(shown, tables(project))


def test_the_other_commands_of_the_page_print_their_output(project: Path) -> None:
    for command, expected in PAGE.sessions()[1:]:
        check(command, expected, project)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_renamed_argument_reaches_the_upstream_under_its_own_name(project: Path) -> None:
    manifest = project / "manifest" / "memory.toml"
    original = manifest.read_text(encoding="utf-8")
    change = tomllib.loads(CHANGED.block("toml"))["tools"]["search_nodes"]
    table = f"[tools.search_nodes]\nsummary = {json.dumps(tables(project)['tools']['search_nodes']['summary'])}"
    assert table in original
    arguments = 'arguments.query = { rename = "words" }'
    assert tomllib.loads(arguments)["arguments"] == change["arguments"]
    new = f"[tools.search_nodes]\nsummary = {json.dumps(change['summary'])}\n{arguments}"
    try:
        manifest.write_text(original.replace(table, new), encoding="utf-8")
        assert run("toolmason generate", project).returncode == 0
    finally:
        manifest.write_text(original, encoding="utf-8")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memory_server"],
        env={**os.environ, "PYTHONPATH": str(project / "generated"), "PATH": path_with()},
        cwd=project,
    )

    async def approve(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001  the SDK gives it
        assert params.message.startswith("Call search_nodes of the MCP server memory?")
        return ElicitResult(action="accept", content={})

    async with Client(stdio_client(server), elicitation_callback=approve) as client:
        result = await client.call_tool("call", {"tool_name": "search_nodes", "args": {"words": "nobody"}})

    assert not result.is_error
    assert result.structured_content == {"entities": [], "relations": []}


def test_the_names_of_the_page_are_those_of_the_import() -> None:
    rows = [(quoted(own), quoted(shown)) for own, shown in PAGE.rows("name in the server", "name for models")]
    pairs = {own[0]: shown[0] for own, shown in rows if own and shown}
    arguments = argument_names({own: {} for own in pairs})
    for own, shown in pairs.items():
        more = [NamedTool("API-get-self")] if own.startswith("API") else []
        designed = designed_names([NamedTool(own), *more], "notes")[0].name
        assert shown in (designed, arguments[own][0])
    assert len(pairs) == len(rows) - 2


def test_options_codes_and_limits_of_the_page_are_complete() -> None:
    help_text = CliRunner().invoke(toolmason, ["import", "server", "--help"]).output
    shown = {name.split()[0] for option, _ in PAGE.rows("option", "effect") for name in quoted(option)}
    declared = {word.strip(",") for word in help_text.split() if word.startswith("--")}
    assert shown | {"--output", "--help"} == {word for word in declared if word[2:].replace("-", "").isalpha()}
    codes = [code for code, _ in PAGE.rows("code", "finding")]
    others = {TIME_LIMIT, UNSELECTED, lock.CHANGED, lock.UNREADABLE}
    assert codes == [code for code in RULES if code.startswith("TM61") and code not in others]
    assert f"{MAX_INLINE_CHARACTERS:,} characters" in PAGE.text


def test_measured_servers_are_those_of_the_benchmark() -> None:
    rows = PAGE.rows(
        "server", "tools", "tokens, direct", "default style", "classic", "calls/s, direct", "through", "ratio"
    )
    assert [row[0] for row in rows] == ["everything", "filesystem", "memory"]
    assert all((NODE / "@modelcontextprotocol" / f"server-{row[0]}").is_dir() for row in rows)
