"""`toolmason eval --server`: servers of others, with our ranking or with their own search."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.catalogue.tool_index import index_of
from toolmason.commands import toolmason
from toolmason.evaluation.other_server import MAX_HITS, OtherServerError, found_names, list_server

Evaluate = Callable[..., Result]
NODE = Path(__file__).parents[2] / "node_modules" / "@modelcontextprotocol"
FILES = """\
[queries]
read_text_file = ["show the text of a file"]
directory_tree = ["tree of a folder as json"]
move_file = ["rename a file"]
"""
SEARCHING = '''\
"""A server whose tools are found by its own search, which answers in the form of its first argument."""

import json
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")
TOOLS = {"cancel_order": "Cancel an order", "get_order": "Show an order", "find_customer": "Find a customer"}


@server.tool(structured_output=False)
def look_for(what: str, top_k: int = 2, verbose: bool = False) -> str:
    """Find tools."""
    if FORM == "error":
        raise ValueError("the index is gone")
    words = set(what.lower().split())
    hits = sorted(TOOLS, key=lambda name: -len(words & set(TOOLS[name].lower().split())))[:top_k]
    if FORM == "none":
        return "nothing here"
    if FORM == "text":
        return "\\n".join(f"{place}. `{name}`: {TOOLS[name]}." for place, name in enumerate(hits, 1))
    return json.dumps({"tools": [{"name": name, "params": [{"name": "id"}]} for name in hits], "categories": ["shop"]})


FORM = sys.argv[1]
if FORM == "two":
    @server.tool(structured_output=False)
    def odd(first: str, second: str) -> str:
        """Take two texts."""
        return first + second
server.run("stdio")
'''
ORDERS = """\
[queries]
cancel_order = ["cancel an order"]
get_order = ["show an order of today"]
find_customer = ["find a customer", "show an order"]
"""


def package(name: str, *arguments: str) -> str:
    return " ".join(["node", str(NODE / f"server-{name}" / "dist" / "index.js"), *arguments])


@pytest.fixture
def searching(tmp_path: Path) -> Callable[[str], str]:
    """Return the command line of the server with its own search."""
    script = tmp_path / "searching.py"
    script.write_text(SEARCHING, encoding="utf-8")
    return lambda form: f"{sys.executable} {script} {form}"


@pytest.fixture
def evaluate_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Evaluate:
    """Run `toolmason eval` where there is no manifest."""
    monkeypatch.chdir(tmp_path)

    def run(queries: str, *options: str) -> Result:
        Path("queries.toml").write_text(queries, encoding="utf-8")
        return CliRunner().invoke(toolmason, ["eval", "queries.toml", *options], catch_exceptions=False)

    return run


# Our ranking


def test_a_server_from_npm_is_evaluated_without_a_manifest(evaluate_server: Evaluate, tmp_path: Path) -> None:
    server = package("filesystem", str(tmp_path))
    result = evaluate_server(FILES, "--server", server, "--format", "json", "--html", "page.html", "--suggest")

    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["total"]["queries"] == 3
    assert report["total"]["recall"]["5"] == 1
    assert list(report["categories"]) == ["tools"]
    assert "server-filesystem" in Path("page.html").read_text(encoding="utf-8")


def test_a_suggestion_for_a_server_of_others_changes_a_description(evaluate_server: Evaluate, tmp_path: Path) -> None:
    queries = '[queries]\nmove_file = ["relocate my holiday pictures"]\n'
    result = evaluate_server(queries, "--server", package("filesystem", str(tmp_path)), "--suggest")

    assert 'move_file: add "relocate" to `description`\n' in result.stdout, result.output


@pytest.mark.parametrize("name", ["everything", "memory"])
def test_each_tool_of_a_server_is_found_by_its_name(name: str) -> None:
    table = list_server(package(name), headers={}, timeout_s=60)
    index = index_of(table)

    assert [tool for tool in table["tools"] if index.search(tool)[0].name != tool] == []


def test_an_unknown_tool_has_its_place_and_the_similar_name(evaluate_server: Evaluate, tmp_path: Path) -> None:
    queries = '[queries]\nmove_files = ["rename"]\n'
    result = evaluate_server(queries, "--server", package("filesystem", str(tmp_path)))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "queries.toml:2" in result.stderr
    assert "did you mean `move_file`?" in result.stderr


# The search of the server


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("tool", ["look_for", "look_for:what"])
def test_the_own_search_of_a_server_ranks_tools_that_it_does_not_list(
    evaluate_server: Evaluate, searching: Callable[[str], str], form: str, tool: str
) -> None:
    options = ("--server", searching(form), "--search-tool", tool, "--top", "1", "--format", "json")
    report = json.loads(evaluate_server(ORDERS, *options).stdout)

    assert report["total"]["recall"]["1"] == 0.75
    assert report["total"]["recall"]["3"] == 1
    [miss] = report["misses"]
    assert miss == {
        "query": "show an order",
        "category": "tools",
        "ranks": {"find_customer": 3},
        "in_the_way": "get_order",
    }


@pytest.mark.parametrize(
    ("form", "tool", "words"),
    [
        ("json", "look_four", "no tool `look_four`|did you mean `look_for`?"),
        ("json", "look_for:whom", "Write `--search-tool look_for:ARGUMENT`; it has: what, top_k, verbose"),
        ("error", "look_for", "each search with `look_for` failed|Error executing tool look_for"),
        ("none", "look_for", "contain no name of a tool|nothing here"),
        ("two", "odd:third", "it has: first, second"),
    ],
)
def test_an_unusable_search_tool_is_an_error(
    evaluate_server: Evaluate, searching: Callable[[str], str], form: str, tool: str, words: str
) -> None:
    result = evaluate_server(ORDERS, "--server", searching(form), "--search-tool", tool)

    assert (result.exit_code, result.stdout) == (2, "")
    assert all(part in result.stderr for part in words.split("|")), result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--server", "no-such-program --token abc123"), "program not found"),
        (("--server", "'"), "--server must be a command line or a URL"),
        (("--server", "http://127.0.0.1:1/mcp"), "cannot be reached"),
        (("--server", "true"), "exited or closed stdout"),
        (("--search-tool", "x"), "--search-tool requires --server"),
        (("--header", "A: b"), "--header requires --server"),
        (("--server", "true", "--header", "A: b"), "--header requires --server https://"),
        (("--server", "true", "--search-tool", "x", "--suggest"), "--suggest needs our ranking"),
        (("--server", "true", "--manifest", "x.toml"), "cannot be combined"),
    ],
    ids=str,
)
def test_wrong_options_are_a_wrong_command_line(
    evaluate_server: Evaluate, options: tuple[str, ...], words: str
) -> None:
    result = evaluate_server(ORDERS, *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "abc123" not in result.stderr


# Answers


def answer(data: Any, *, structured: bool = False) -> dict[str, Any]:
    text = data if isinstance(data, str) else json.dumps(data)
    return {"content": [{"type": "text", "text": text}], **({"structuredContent": data} if structured else {})}


KNOWN = {"get_order", "files.read", "a"}


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ([{"name": "x", "inputSchema": {"properties": {}}}, {"name": "y"}], ["x", "y"]),
        ({"result": [{"name": "x", "parameters": [{"name": "id"}]}]}, ["x"]),
        ({"mode": "search", "results": [{"tool_name": "x"}, {"tool_name": "x"}], "categories": ["a"]}, ["x"]),
        ({"results": [], "categories": [{"name": "orders"}], "nearest_words": ["a"]}, []),
        ({"data": {"matches": [{"tool": "x", "score": 0.3}]}}, ["x"]),
        ({"found": [{"name": "x"}]}, ["x"]),
        ("1. **get_order**: shows one.\n2. `files.read`, reads.", ["get_order", "files.read"]),
        ("get_order.", ["get_order"]),
        ("no tool matches", []),
        ("", []),
        ([], []),
        ("[" * 5000, []),
    ],
    ids=lambda value: str(value)[:40],
)
def test_names_are_read_from_json_and_text(data: Any, names: list[str]) -> None:
    assert found_names(answer(data), KNOWN) == names
    if not isinstance(data, str):
        assert found_names(answer(data, structured=True), KNOWN) == names


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "results", "tools", "x"]), inner)
    ),
)


@given(JSON)
def test_any_answer_has_names_or_none(data: Any) -> None:
    for result in (answer(data), answer(data, structured=True), {"content": [{"type": "image"}]}, {}):
        names = found_names(result, KNOWN)
        assert all(isinstance(name, str) and name for name in names)
        assert len(names) == len(set(names))


def test_a_failed_search_finds_nothing() -> None:
    assert found_names({**answer([{"name": "a"}]), "isError": True}, KNOWN) == []
    assert MAX_HITS == 10
    with pytest.raises(OtherServerError, match="it is empty"):
        list_server(" ", headers={}, timeout_s=1)
