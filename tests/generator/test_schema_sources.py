"""Where `toolmason schema` takes tools from: files in every shape, the manifest, running servers. And what refuses."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.audit.json_parser import MAX_BYTES, MAX_DEPTH, JsonTextError, decoded, parsed, places
from toolmason.audit.server_address import shown_address
from toolmason.audit.tool_lists import NotToolsError, declared
from toolmason.commands import toolmason
from toolmason.project import Project
from toolmason.schema import json_pointer

HERE = Path(__file__).parent
FIXTURES = HERE / "schema_sources"
REPOSITORY = HERE.parents[1]
NODE_MODULES = REPOSITORY / "tests" / "node_modules"
PATIENCE_S = 30
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def schema(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(toolmason, ["schema", *arguments], input=stdin)


def names(result: Result) -> list[str]:
    """The tools that a JSON report is about."""
    return [tool["name"] for tool in json.loads(result.stdout)["tools"]]


def odd(way: str, *more: str) -> str:
    """The command line of the odd server."""
    return shlex.join([sys.executable, str(FIXTURES / "odd_server.py"), way, *more])


# Shapes


MCP_TOOL = {"name": "read", "description": "Read a file", "inputSchema": SCHEMA}
SHAPES = {
    "a bare list": [MCP_TOOL],
    "the result of tools/list": {"tools": [MCP_TOOL], "nextCursor": "2"},
    "the response to tools/list": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP_TOOL]}},
    "one tool": MCP_TOOL,
    "OpenAI, Chat Completions": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}],
    "OpenAI, Responses": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}],
    "OpenAI, one tool": {"type": "function", "function": {"name": "read", "parameters": SCHEMA}},
    "Anthropic": [{"name": "read", "input_schema": SCHEMA}],
    "Anthropic, a request": {"model": "m", "tools": [{"name": "read", "input_schema": SCHEMA}]},
    "Gemini": [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]}],
    "Gemini, JSON Schema": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]}],
    "Gemini, a request": {"tools": [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]}]},
    "Gemini, one tool": {"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]},
    "Gemini, Python": [{"function_declarations": [{"name": "read", "parameters_json_schema": SCHEMA}]}],
    "a Gemini declaration": {"name": "read", "parameters": SCHEMA},
    "a schema alone": SCHEMA,
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_tools_are_found_in_every_shape_that_they_are_written_in(data: Any) -> None:
    (found,) = declared(data, "read").tools

    assert (found.name, found.schema) == ("read", SCHEMA)
    inside = data
    for part in found.pointer.split("/")[1:]:
        inside = inside[int(part)] if isinstance(inside, list) else inside[part]
    assert inside == SCHEMA


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_read_from_a_file_and_from_stdin_alike(data: Any, tmp_path: Path) -> None:
    file = tmp_path / "read.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    from_file = json.loads(schema("check", "--json", str(file)).stdout)
    piped = json.loads(schema("check", "--json", "-", stdin=file.read_bytes()).stdout)

    assert from_file["summary"] == piped["summary"] == {"total_tools": 1, "compatible": 1, "incompatible": 0}
    assert from_file["tools"][0]["original_schema"] == piped["tools"][0]["original_schema"] == SCHEMA
    assert (from_file["tools"][0]["source"], piped["tools"][0]["source"]) == (str(file), "stdin")


def test_a_schema_alone_is_called_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "search_books.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")

    assert names(schema("check", "--json", str(file))) == ["search_books"]


@pytest.mark.parametrize(
    "data",
    [
        {"additionalProperties": {"type": "string"}},
        {"patternProperties": {"^a": {"type": "string"}}},
        {"not": {"required": ["a"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
    ],
)
def test_a_schema_alone_is_known_by_any_keyword_about_objects(data: Any) -> None:
    (found,) = declared(data, "read").tools

    assert found.schema == data


def test_several_files_make_one_report(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    result = schema("check", "--json", str(tmp_path / "one.json"), str(tmp_path / "two.json"))

    assert names(result) == ["one", "two"]


def test_a_function_of_a_provider_may_leave_its_schema_out() -> None:
    (found,) = declared([{"functionDeclarations": [{"name": "now"}]}], "x").tools
    (other,) = declared([{"type": "function", "function": {"name": "now"}}], "x").tools

    assert (found.schema, found.is_mcp, other.schema, other.is_mcp) == (None, False, None, False)
    result = schema("check", "-", stdin=json.dumps([{"functionDeclarations": [{"name": "now"}]}]).encode())
    assert (result.exit_code, "INCOMPATIBLE" in result.stdout) == (0, False)


def test_tools_that_a_provider_itself_brings_are_left_out_aloud() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"googleSearch": {}}, MCP_TOOL]
    result = schema("check", "--json", "-", stdin=json.dumps(tools).encode())

    assert names(result) == ["read"]
    assert "stdin: left out: `web_search`, a tool that the provider itself brings" in result.stderr
    assert "left out: `googleSearch`" in result.stderr


@pytest.mark.parametrize(
    ("data", "message", "pointer"),
    [
        ({}, "neither a list of tools nor a JSON Schema", ""),
        (3, "neither a list of tools nor a JSON Schema", ""),
        (True, "neither a list of tools nor a JSON Schema", ""),
        ({"name": "read", "title": "Read"}, "neither a list of tools nor a JSON Schema", ""),
        ([3], "entry 1 is no tool: it is no object", "/0"),
        ({"tools": [MCP_TOOL, {"inputSchema": SCHEMA}]}, "entry 2 is no tool: it has no `name`", "/tools/1"),
        ({"tools": [{"name": 3, "inputSchema": SCHEMA}]}, "entry 1 is no tool: it has no `name`", "/tools/0"),
        ([MCP_TOOL] * 10_001, "more than 10,000 tools", ""),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}},
            "the answer of a server that failed: `Method not found`",
            "/error",
        ),
    ],
)
def test_what_holds_no_tools_says_why(data: Any, message: str, pointer: str) -> None:
    with pytest.raises(NotToolsError, match=message) as refused:
        declared(data, "x")

    assert refused.value.pointer == pointer


def test_what_is_wrong_with_a_list_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(
        '{\n  "tools": [\n    {"name": "a", "inputSchema": {}},\n    {"nom": "b"}\n  ]\n}\n', encoding="utf-8"
    )
    result = schema("check", str(file))

    assert result.exit_code == 2
    assert result.stderr == f"Error: {file}:4:5: entry 2 is no tool: it has no `name`\n"


# JSON


@pytest.mark.parametrize(
    ("raw", "place", "message"),
    [
        (b"", "1:1", "not JSON: it is empty"),
        (b" \n ", "1:1", "not JSON: it is empty"),
        (b'{"a": 1,\n "b" 2}', "2:6", "not JSON: expecting `:` delimiter"),
        (b'{"tools": [}', "1:12", "not JSON: expecting value"),
        (b'{"a": NaN}', "1:7", "JSON has no number NaN"),
        (b'{"NaN": "Infinity",\n"b": [1.5, -Infinity]}', "2:12", "JSON has no number -Infinity"),
        (b'{"a": [{}, "NaN", 1e5, NaN, nonsense]}', "1:24", "JSON has no number NaN"),
        (b"[1e999]", "1:2", "JSON has no number 1e999"),
        (b"[" + b"9" * 5000 + b"]", "1:2", "JSON has no number of so many digits"),
        (
            b'{"b": [{"a": 1}, "a", "a"], "a": {"b": 0},\n "\\u0062": 2}',
            "2:2",
            "the key `b` stands twice in one object, and readers differ in which they take",
        ),
        (
            b'[{"x": {"type": "string", "type": ["integer"]}, "x": 0}]',
            "1:27",
            "the key `type` stands twice in one object, and readers differ in which they take",
        ),
        (b"[" * 401, "1:401", "nests more than 400 levels deep"),
        (b"\x89PNG\x00\x00\x00", "1:1", "not JSON: the file is binary"),
        (b'{"a":\n "\xe9"}', "2:3", "not UTF-8: byte 0xE9"),
        (b"\xff\xfe{", "1:1", "not UTF-8: byte 0x7B"),
        (b"tools: []", "1:1", "not JSON: expecting value"),
        (b"[] []", "1:4", "not JSON: extra data"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(raw: bytes, place: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(raw)
    result = schema("check", str(file))

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {file}:{place}: {message}\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_as_windows_shells_write_them_are_read(encoding: str) -> None:
    assert parsed(decoded('{"título": 1}\r\n'.encode(encoding))) == {"título": 1}


def test_a_file_without_end_is_not_read_to_it(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    result = schema("check", str(file))

    assert result.exit_code == 2
    assert "more than 16 MiB" in result.stderr
    assert "stdin: more than 16 MiB" in schema("check", "-", stdin=file.read_bytes()).stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.json", "no such file: {}; a tool is chosen with --tool NAME"),
        (".", "{}: this is a folder, not a file"),
        ("a\0b", "cannot read: embedded null byte"),
        ("x" * 300, "cannot read: file name too long"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(name: str, message: str, tmp_path: Path) -> None:
    path = name if name == "." else str(tmp_path / name)
    result = schema("check", path)

    assert result.exit_code == 2
    assert message.format(path) in result.stderr
    assert result.stderr.count("\n") == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def pointers(value: Any, *way: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every way into `value`, with what is there."""
    yield way, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        yield from pointers(inner, *way, part)


@given(JSON, st.sampled_from([None, 1, 3]), st.booleans())
def test_every_value_of_a_text_is_placed_at_its_key_or_at_itself(
    value: Any, indent: int | None, is_ascii: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    ways = {json_pointer(way): (way, inner) for way, inner in pointers(value)}
    found = places(text, ways)
    lines = text.split("\n")

    for pointer, (way, inner) in ways.items():
        line, column = found[pointer]
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        at_key = way and isinstance(way[-1], str)
        expected = way[-1] if at_key else inner
        assert json.JSONDecoder().raw_decode(rest)[0] == expected


def test_what_is_not_there_is_placed_where_what_is_around_it_stands() -> None:
    text = '{"a": {\n  "b": [1,\n 2]}}'

    assert places(text, ["/a/b/7/c"])["/a/b/7/c"] == (2, 3)
    assert places(text, ["/a/x", "/y"]) == {"/a/x": (1, 2), "/y": (1, 1)}


@given(st.binary(max_size=40) | st.text('[]{},:"\\ NaNInfinity-1e9', max_size=30).map(str.encode))
def test_no_bytes_make_the_parser_fail_in_another_way(raw: bytes) -> None:
    with suppress(JsonTextError):
        parsed(decoded(raw))


def test_nesting_up_to_the_bound_is_reported_on(tmp_path: Path) -> None:
    deep: Any = {"type": "object"}
    while len(str(deep).split("{")) < MAX_DEPTH - 2:
        deep = {"properties": {"a": deep}}
    file = tmp_path / "deep.json"
    file.write_text(json.dumps({"type": "object", **deep}), encoding="utf-8")

    for command in ("check", "diff", "transform"):
        result = schema(command, str(file))
        assert result.exit_code in {0, 1}, result.output
    assert names(schema("check", "--json", str(file))) == ["deep"]


# Choosing


def test_an_unknown_tool_suggests_the_nearest() -> None:
    result = schema("check", str(FIXTURES / "tools_list.json"), "--tool", "read_file")

    assert (result.exit_code, result.stderr) == (2, "Error: no tool `read_file`: did you mean `read_files`?\n")


def test_an_unknown_tool_that_is_like_none_names_some() -> None:
    result = schema("check", str(FIXTURES / "tools_list.json"), "--tool", "zzz")
    assert result.stderr == "Error: no tool `zzz`: there are `read_files`, `list_roots`\n"

    many = json.dumps([{"name": f"tool_{number}", "inputSchema": SCHEMA} for number in range(8)]).encode()
    assert "`tool_4` and 3 more" in schema("check", "-", "--tool", "zzz", stdin=many).stderr
    assert "no tool `zzz`: there are none" in schema("check", "-", "--tool", "zzz", stdin=b'{"tools": []}').stderr


def test_chosen_tools_alone_are_checked() -> None:
    chosen = schema("check", "--json", str(FIXTURES / "tools_list.json"), "--tool", "list_roots")
    both = schema("check", "--json", str(FIXTURES / "tools_list.json"), "--tool", "list_roots", "--tool", "read_files")

    assert (names(chosen), names(both)) == (["list_roots"], ["read_files", "list_roots"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "--server", "x"], "name sources, --server or --manifest, not two of them"),
        (["a.json", "--manifest", "m.toml"], "name sources, --server or --manifest, not two of them"),
        (["-", "-"], "stdin can be read once"),
        (["--header", "a: b"], "--header goes with --server https://..."),
        (["--server", "x", "--header", "a: b"], "--header goes with --server https://..."),
        (["--server", "http://127.0.0.1:9", "--header", "ab"], "--header is `Name: value`"),
        (["--server", "http://127.0.0.1:9", "--header", "a: b\nc: d"], "--header is `Name: value`"),
        (["--server", ""], "--server takes a command line or a URL, not ``: it is empty"),
        (["--server", "npx 'x"], "no closing quotation"),
        (["--target", "gemini"], "is not one of"),
        (["--timeout", "0"], "is not in the range"),
    ],
)
def test_a_command_line_that_contradicts_itself_is_refused(arguments: list[str], message: str) -> None:
    result = schema("check", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


# The manifest


def test_the_tools_of_the_project_are_checked_unless_something_is_named(
    laid_out_once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(laid_out_once)
    here = schema("check", "--json")
    monkeypatch.chdir(laid_out_once.parent)
    by_option = schema("check", "--json", "--manifest", str(laid_out_once / "manifest" / "notes.toml"))
    as_source = schema("check", "--json", str(laid_out_once / "manifest" / "notes.toml"))

    assert names(here)
    assert here.stdout == by_option.stdout == as_source.stdout
    assert here.exit_code == 0


def test_a_manifest_with_a_mistake_is_reported_as_elsewhere(project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    project.manifest.write_text(text.replace("edition = 1", "edition = 1\nsumary = 1"), encoding="utf-8")

    for layout, stream in (("text", "stderr"), ("github", "stdout"), ("sarif", "stdout")):
        result = schema("check", "--format", layout, "--manifest", str(project.manifest))
        assert result.exit_code == 2
        assert "TM203" in getattr(result, stream)


def test_no_project_is_told_as_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = schema("check")

    assert result.exit_code == 2
    assert "no manifest/*.toml" in result.stderr


# Servers over stdio


def test_our_own_server_is_asked_over_stdio() -> None:
    command = shlex.join([sys.executable, "-m", "workbench_server", "--classic", "--root", str(REPOSITORY)])
    result = schema("check", "--json", "--server", command)

    assert result.exit_code == 0, result.output
    assert "read_files" in names(result)
    assert json.loads(result.stdout)["summary"]["incompatible"] == 0


def test_a_server_of_others_is_asked_over_stdio() -> None:
    node = NODE_MODULES / ".bin" / "node"
    assert node.exists(), "the npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
    script = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    result = schema("check", "--json", "--server", shlex.join([str(node), str(script)]), "--target", "mcp")

    report = json.loads(result.stdout)
    assert {"echo", "get-sum"} <= {tool["name"] for tool in report["tools"]}
    (echo,) = (tool for tool in report["tools"] if tool["name"] == "echo")
    assert echo["original_schema"]["$schema"].startswith("http://json-schema.org/")
    assert "$schema" not in echo["transformed_schema"]
    assert result.stderr == ""


def test_all_pages_are_asked_for() -> None:
    assert names(schema("check", "--json", "--server", odd("pages"))) == ["tool_0", "tool_1", "tool_2"]


def test_the_environment_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_NAME", "named_outside")

    assert names(schema("check", "--json", "--server", odd("environment"))) == ["named_outside"]


def test_no_shell_is_involved(tmp_path: Path) -> None:
    result = schema("check", "--json", "--server", odd("plain") + f" ; touch {tmp_path / 'made'} $(touch x)")

    assert names(result) == ["only"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("way", ["old", "greets"])
def test_servers_that_take_liberties_are_asked_all_the_same(way: str) -> None:
    assert names(schema("check", "--json", "--server", odd(way))) == ["only"]


def test_a_malformed_tool_is_a_finding_and_not_the_end_of_the_list() -> None:
    result = schema("check", "--json", "--server", odd("malformed"))
    good, bare, text = json.loads(result.stdout)["tools"]

    assert result.exit_code == 1
    assert [each["status"] for each in (good, bare, text)] == ["COMPATIBLE", "INCOMPATIBLE", "INCOMPATIBLE"]
    assert bare["issues"][0]["message"] == "the tool has no `inputSchema`, which MCP requires"
    assert (bare["original_schema"], bare["transformed_schema"]["type"]) == (None, "object")
    assert text["issues"][0]["message"] == "the schema is a string, not an object"
    assert schema("check", "--server", odd("malformed")).exit_code == 1


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "dies",
            "before it had answered; it said on stderr:\n  | \\u001b[31ma key is missing: ODD_KEY",
        ),
        ("error", "it answered with an error: out of order\\u001b[2J (-32603)"),
        ("circle", "it gave the cursor 'same' twice: its list of tools has no end"),
        ("endless", "its list of tools goes on beyond 10,000 tools"),
        ("no-list", "it answered `tools/list` with something else than a list of tools"),
        ("nameless", "in its `tools/list`, entry 1 is no tool: it has no `name`"),
        ("chatters", "what it writes to stdout are no MCP messages"),
    ],
)
def test_a_server_that_cannot_be_asked_says_why(way: str, message: str) -> None:
    result = schema("check", "--server", odd(way))

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program-anywhere --stdio", "there is no such program"),
        (str(HERE), "it cannot be started: Permission denied"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(command: str, message: str) -> None:
    result = schema("check", "--server", command)

    assert result.exit_code == 2
    assert result.stderr.endswith(f": {message}\n")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition: Callable[[], Any]) -> Any:
    """Look again and again until there is something; a test that waits in vain fails."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        if found := condition():
            return found
        threading.Event().wait(0.01)
    raise AssertionError("nothing happened")


def written(file: Path) -> int:
    return int(text) if file.exists() and (text := file.read_text(encoding="utf-8")) else 0


def test_a_server_that_hangs_is_given_up_and_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    result = schema("check", "--timeout", "1", "--server", odd("hangs", str(file)))

    assert result.exit_code == 2
    assert "it did not answer within 1 s; --timeout gives it more" in result.stderr
    assert not is_running(written(file))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_server_too(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = [sys.executable, "-m", "toolmason", "schema", "check", "--server", odd("stubborn", str(file))]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        server = wait_for(lambda: written(file))
        ours.send_signal(number)
        ours.send_signal(number)  # as the impatient do
        stdout, stderr = ours.communicate(timeout=PATIENCE_S)
    finally:
        ours.kill()
        ours.wait()

    assert stdout == ""
    assert "Traceback" not in stderr
    assert ours.returncode == (1 if number is signal.SIGINT else -number)
    assert not is_running(server)


def test_an_interrupt_is_answered_in_words(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    def interrupt() -> None:
        wait_for(lambda: written(file))
        os.kill(os.getpid(), signal.SIGINT)

    impatient = threading.Thread(target=interrupt)
    impatient.start()
    result = schema("check", "--server", odd("hangs", str(file)))
    impatient.join()

    assert (result.exit_code, result.stdout) == (1, "")
    assert "Aborted!" in result.stderr
    assert not is_running(written(file))


def test_a_server_can_be_asked_by_a_thread_that_gets_no_signals() -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(schema("check", "--json", "--server", odd("plain"))))
    thread.start()
    thread.join()

    assert names(results[0]) == ["only"]


# Servers over HTTP


@contextmanager
def workbench_over_http() -> Iterator[str]:
    command = [sys.executable, "-m", "workbench_server", "--http", "--port", "0", "--root", str(REPOSITORY)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stderr is not None
        # On a slow machine the check at the start logs its warnings first.
        yield next(line for line in process.stderr if line.startswith("serving")).split()[-1]
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_our_own_server_is_asked_over_http() -> None:
    with workbench_over_http() as address:
        result = schema("check", "--json", "--server", address, "--header", "X-Any: thing")
        lost = schema("check", "--server", address.replace("/mcp", "/other"))

    assert {"search", "call"} <= set(names(result))
    assert json.loads(result.stdout)["tools"][0]["source"] == address
    assert lost.exit_code == 2
    assert "it answered 404 Not Found; is the path right? Most servers answer at /mcp" in lost.stderr


@contextmanager
def answering(status: int, body: bytes = b"", /, **headers: str) -> Iterator[tuple[str, list[str | None]]]:
    """An HTTP server that answers everything alike; the `X-Key` that it was sent is noted."""
    sent: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.headers.get("X-Key"))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, 'it answered 401 Unauthorized; give it a token: --header "Authorization: Bearer ..."'),
        (403, 'it answered 403 Forbidden; give it what it asks for with --header "Name: value"'),
        (405, "it answered 405 Method Not Allowed; is the path right? Most servers answer at /mcp"),
        (500, "it answered 500 Internal Server Error"),
        (599, "it answered 599"),
        (307, "Redirect to http://elsewhere.invalid/ not followed"),
    ],
)
def test_a_server_that_refuses_over_http_says_with_what(status: int, message: str) -> None:
    with answering(status, Location="http://elsewhere.invalid/") as (address, _):
        result = schema("check", "--server", address)

    assert result.exit_code == 2
    assert message in result.stderr


def test_the_error_in_the_body_of_a_refusal_is_passed_on() -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no seats left"}}).encode()
    with answering(503, body, Content_Type="application/json") as (address, _):
        result = schema("check", "--server", address)

    assert "it answered 503 Service Unavailable: no seats left" in result.stderr


def test_headers_are_sent_and_nothing_secret_of_an_address_is_shown() -> None:
    with answering(401) as (address, sent):
        secret = address.replace("http://", "http://user:pass@") + "?key=secret"
        result = schema("check", "--server", secret, "--header", "X-Key: sesame")

    assert set(sent) == {"sesame"}
    assert address in result.stderr
    assert "secret" not in result.output
    assert "pass" not in result.output


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("no-server --api-key sk-sesame --port 80", "no-server --api-key REDACTED --port 80"),
        ("no-server --api-key=sk-sesame", "no-server --api-key=REDACTED"),
        ("no-server -H 'Authorization: Bearer sesame'", "no-server -H 'Authorization: REDACTED'"),
        ("env GITHUB_TOKEN=sesame no-server", "env GITHUB_TOKEN=REDACTED no-server"),
        ("docker run -e PASSWORD=sesame -e DEBUG=1 img", "docker run -e PASSWORD=REDACTED -e DEBUG=1 img"),
        ("npx mcp-remote https://user:sesame@host/mcp?key=sesame#x", "npx mcp-remote https://host/mcp"),
        ("psql-server postgresql://user:sesame@host/db", "psql-server postgresql://host/db"),
        ("no-server --keyboard us --tokens 5", "no-server --keyboard us --tokens 5"),
        ("python3 -m 'my server' C:/x y=z", "python3 -m 'my server' C:/x y=z"),
    ],
)
def test_a_command_line_is_shown_without_what_its_words_say_is_secret(typed: str, shown: str) -> None:
    assert shown_address(typed) == shown


def test_secrets_of_a_command_line_stand_neither_in_reports_nor_in_errors(tmp_path: Path) -> None:
    failed = schema("check", "--server", f"{shlex.quote(str(tmp_path / 'none'))} --api-key sesame")
    report = schema("check", "--json", "--server", odd("plain", "--token", "sesame"))

    assert (failed.exit_code, report.exit_code) == (2, 0)
    assert "--api-key REDACTED" in failed.stderr
    assert "--token REDACTED" in report.stdout
    assert "sesame" not in failed.output + report.output


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"<html>", "text/html", "Unexpected content type: text/html"),
        (b"{", "application/json", "Failed to parse JSON response"),
        (b"", "text/event-stream", "SSE stream ended without a response"),
    ],
)
def test_a_page_that_is_no_mcp_server_is_told_as_such(body: bytes, kind: str, message: str) -> None:
    with answering(200, body, Content_Type=kind) as (address, _):
        result = schema("check", "--server", address)

    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://127.0.0.1:9/mcp", "it cannot be reached"),
        ("http://", "this is no address"),
        ("http://127.0.0.1:99999/mcp", "it cannot be"),
        ("http://[::1/mcp", "this is no address"),
    ],
)
def test_an_address_where_nobody_answers_is_told_in_one_line(address: str, message: str) -> None:
    result = schema("check", "--server", address)

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
