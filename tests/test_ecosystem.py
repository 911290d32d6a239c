"""The page of published servers: its tables from invented tool lists, and the start of a server."""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.ecosystem.page import (
    BEGIN,
    END,
    FAILED_HEAD,
    FEW_HEAD,
    HEAD,
    Result,
    check_list,
    replace_results,
    results_text,
)
from bench.ecosystem.servers import Server, StartError, list_tools, load_servers, save

PAGE = Path(__file__).parents[1] / "docs" / "ecosystem.md"
CRASH = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
CLEAN = {"type": "object", "properties": {"a": {"type": "string"}}}
LOSSY = {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}
CYCLE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Tree"}},
    "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
}
LISTS: dict[str, list[dict[str, Any]]] = {
    "clean": [CLEAN, CLEAN],
    "@one/crash": [CRASH, CLEAN],
    "two-crashes": [CRASH, CRASH, LOSSY],
    "cycle": [CYCLE, CYCLE, CRASH],
}
SERVER = """
import json, os, sys
variables = sorted(name for name in os.environ if name != "LC_CTYPE")
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        about = {"name": "s", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list" and sys.argv[1] == "fail":
        error = {"code": -1, "message": os.getcwd()}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    elif message["method"] == "tools/list":
        texts = [",".join(variables), os.environ["HOME"], sys.argv[1]] if sys.argv[1] != "none" else []
        tools = [{"name": f"t{i}", "description": t, "inputSchema": {"type": "object"}} for i, t in enumerate(texts)]
        result = {"tools": tools}
    elif "id" in message:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def server(package: str, *command: str) -> Server:
    return Server(registry="npm", package=package, version="1.2.3", command=command, env={"KEY": "{home}/key"})


@pytest.fixture
def results(tmp_path: Path) -> list[Result]:
    found = []
    for package, schemas in LISTS.items():
        path = tmp_path / f"{server(package).file_name}.json"
        save(path, [{"name": f"tool_{number}", "inputSchema": schema} for number, schema in enumerate(schemas)])
        found.append(check_list(server(package), path))
    return [*found, Result(server=server("silent"), reason="it answered: a | b <c>")]


def tables(text: str) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the rows of each table by its head; each row must have the columns of its head."""
    result: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines = [tuple(re.split(r" (?<!\\)\| ", line.strip("| "))) for line in block.splitlines()]
        head, rule, *rows = lines
        assert set(rule) == {"---"}
        assert {len(line) for line in lines} == {len(head)}, block
        result[head] = rows
    return result


def test_each_server_has_a_row_and_the_crash_of_one_sdk_is_told_once(results: list[Result], tmp_path: Path) -> None:
    text = results_text(results, day=dt.date(2026, 1, 2), product="toolmason 1")

    found = tables(text)
    assert text.startswith(
        "Measured on 2026-01-02 with toolmason 1. 4 of 5 servers listed 10 tools. "
        "8 tools are compatible; 3 servers have only compatible tools.\n"
    )
    assert [row[:5] for row in found[HEAD]] == [
        ("`clean` (npm)", "1.2.3", "2", "0", "0 %"),
        ("`@one/crash` (npm)", "1.2.3", "2", "0", "3 %"),
        ("`two-crashes` (npm)", "1.2.3", "3", "0", "3 %"),
        ("`cycle` (npm)", "1.2.3", "3", "2", "52 %"),
    ]
    assert [row[5] for row in found[HEAD]][:2] == ["none", "none"]
    assert found[HEAD][2][5] == "lossy: `type-array` 1"
    assert found[HEAD][3][5].startswith("fails: `recursive-$ref` 2")
    assert found[FEW_HEAD] == [("`additionalProperties`", "3 % of clients: google-genai for Python", "3", "4")]
    assert found[FAILED_HEAD] == [("`silent` (npm)", "1.2.3", r"it answered: a \| b &lt;c>")]
    assert str(tmp_path) not in text


def test_results_replace_those_of_the_page_and_nothing_else() -> None:
    page = f"before\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n"

    assert replace_results(page, "new\n") == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
    with pytest.raises(ValueError, match="the page has no"):
        replace_results("no markers", "new\n")


def test_the_committed_page_has_a_row_for_each_server_of_the_list_at_its_version() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    results, end, _ = rest.partition(END)
    found = tables(results)

    assert end
    assert re.match(r"\s*Measured on \d{4}-\d\d-\d\d with toolmason \S+\. \d+ of \d+ servers", results)
    rows = [row[:2] for row in (*found[HEAD], *found.get(FAILED_HEAD, ()))]
    registries = {"npm": "npm", "pypi": "PyPI"}
    expected = [(f"`{one.package}` ({registries[one.registry]})", one.version) for one in load_servers()]
    assert sorted(rows) == sorted(expected)
    for row in found[HEAD]:
        assert all(re.fullmatch(r"[\d,]+", cell) for cell in row[2:4]), row
        assert re.fullmatch(r"\d+ %", row[4]), row
    assert not re.search(r"(?:^|[\s(`])/(?:home|root|tmp|Users|work)\b", results)


def test_the_list_has_exact_versions_known_registries_and_no_server_twice() -> None:
    servers = load_servers()

    assert [one for one in servers if not re.fullmatch(r"\d+(?:\.\d+)+", one.version)] == []
    assert {one.registry for one in servers} == {"npm", "pypi"}
    assert len({one.file_name for one in servers}) == len(servers) >= 12
    assert [one for one in servers if not one.command or "/" in one.command[0]] == []


@pytest.mark.skipif(sys.platform == "win32", reason="the measurement needs Linux; its programs are scripts")
class TestStart:
    """The start of an invented server."""

    @pytest.fixture
    def programs(self, tmp_path: Path) -> Path:
        program = tmp_path / "programs" / "serve"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n{SERVER}", encoding="utf-8")
        program.chmod(0o755)
        return program.parent

    def test_a_server_gets_an_empty_home_and_no_variable_of_ours(
        self, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "secret")

        tools = list_tools(server("s", "serve", "{home}/data"), programs, tmp_path / "home")

        assert [tool["description"] for tool in tools] == [
            "HOME,KEY,LANG,PATH,TMPDIR",
            str(tmp_path / "home"),
            str(tmp_path / "home" / "work" / "data"),
        ]

    @pytest.mark.parametrize(
        ("argument", "reason"),
        [("fail", "it answered with an error: ~/work (-1)"), ("none", "it lists no tools")],
        ids=["error", "no tools"],
    )
    def test_the_reason_of_a_failure_names_no_directory(
        self, programs: Path, tmp_path: Path, argument: str, reason: str
    ) -> None:
        with pytest.raises(StartError) as failure:
            list_tools(server("s", "serve", argument), programs, tmp_path / "home")

        assert str(failure.value) == reason
