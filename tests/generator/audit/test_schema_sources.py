"""Sources of `toolmason schema`: files in all formats, the manifest, running servers."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.audit.json_parser import MAX_BYTES, MAX_DEPTH, JsonError, JsonPositions, decode, parse
from toolmason.audit.server_address import redact_address
from toolmason.audit.start_advice import start_advice
from toolmason.audit.tool_lists import ToolListError, parse_tools
from toolmason.commands import toolmason
from toolmason.project import Project
from toolmason.schema import json_pointer

HERE = Path(__file__).parent
FIXTURES = HERE / "schema_sources"
REPOSITORY = HERE.parents[2]
NODE_MODULES = REPOSITORY / "tests" / "node_modules"
TIMEOUT_S = 30
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def schema(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(toolmason, ["schema", *arguments], input=stdin)


def names(result: Result) -> list[str]:
    return [tool["name"] for tool in json.loads(result.stdout)["tools"]]


def odd(behaviour: str, *more: str) -> str:
    """Return the command line of a server with an unusual behaviour."""
    return shlex.join([sys.executable, str(FIXTURES / "odd_server.py"), behaviour, *more])


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
def test_tools_are_parsed_from_every_format(data: Any, tmp_path: Path) -> None:
    (found,) = parse_tools(data, "read").tools

    assert (found.name, found.schema) == ("read", SCHEMA)
    inside = data
    for part in found.pointer.split("/")[1:]:
        inside = inside[int(part)] if isinstance(inside, list) else inside[part]
    assert inside == SCHEMA
    file = tmp_path / "read.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    from_file = json.loads(schema("check", "--json", str(file)).stdout)
    piped = json.loads(schema("check", "--json", "-", stdin=file.read_bytes()).stdout)
    summary = {"total_tools": 1, "compatible": 1, "incompatible": 0, "share": 0.0, "max_share": 0.1}
    assert from_file["summary"] == piped["summary"] == summary
    assert (from_file["tools"][0]["source"], piped["tools"][0]["source"]) == (str(file), "stdin")
    assert from_file["tools"][0]["name"] == "read" or found.declaration == {"name": "read"}


@pytest.mark.parametrize(
    "data",
    [
        {"additionalProperties": {"type": "string"}},
        {"patternProperties": {"^a": {"type": "string"}}},
        {"not": {"required": ["a"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
    ],
)
def test_any_keyword_about_objects_marks_a_single_schema(data: Any) -> None:
    (found,) = parse_tools(data, "read").tools

    assert found.schema == data


def test_a_provider_function_needs_no_schema() -> None:
    (found,) = parse_tools([{"functionDeclarations": [{"name": "now"}]}], "x").tools
    (other,) = parse_tools([{"type": "function", "function": {"name": "now"}}], "x").tools

    assert (found.schema, found.is_mcp, other.schema, other.is_mcp) == (None, False, None, False)
    result = schema("check", "-", stdin=json.dumps([{"functionDeclarations": [{"name": "now"}]}]).encode())
    assert (result.exit_code, "INCOMPATIBLE" in result.stdout) == (0, False)


def test_built_in_provider_tools_are_skipped_with_a_note() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"googleSearch": {}}, MCP_TOOL]
    result = schema("check", "--json", "-", stdin=json.dumps(tools).encode())

    assert names(result) == ["read"]
    assert "stdin: skipped `web_search`, a built-in tool of the provider" in result.stderr
    assert "skipped `googleSearch`" in result.stderr


@pytest.mark.parametrize(
    ("data", "message", "pointer"),
    [
        ({}, "neither a list of tools nor a JSON Schema", ""),
        (3, "neither a list of tools nor a JSON Schema", ""),
        (True, "neither a list of tools nor a JSON Schema", ""),
        ({"name": "read", "title": "Read"}, "neither a list of tools nor a JSON Schema", ""),
        ([3], "entry 1 must be an object", "/0"),
        ({"tools": [MCP_TOOL, {"inputSchema": SCHEMA}]}, "entry 2 has no `name`", "/tools/1"),
        ({"tools": [{"name": 3, "inputSchema": SCHEMA}]}, "entry 1 has no `name`", "/tools/0"),
        ([MCP_TOOL] * 10_001, "more than 10,000 tools", ""),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}},
            "this is an error response: `Method not found`",
            "/error",
        ),
    ],
)
def test_an_invalid_tool_list_is_refused(data: Any, message: str, pointer: str) -> None:
    with pytest.raises(ToolListError, match=message) as refused:
        parse_tools(data, "x")

    assert refused.value.pointer == pointer


def test_a_mistake_in_a_list_is_reported_with_its_position(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(
        '{\n  "tools": [\n    {"name": "a", "inputSchema": {}},\n    {"nom": "b"}\n  ]\n}\n', encoding="utf-8"
    )
    result = schema("check", str(file))

    assert result.exit_code == 2
    assert result.stderr == f"Error: {file}:4:5: entry 2 has no `name`\n"


# JSON


@pytest.mark.parametrize(
    ("raw", "place", "message"),
    [
        (b"", ":1:1", "not JSON: expecting value"),
        (b'{"a": 1,\n "b" 2}', ":2:6", "not JSON: expecting `:` delimiter"),
        (b"[] []", ":1:4", "not JSON: extra data"),
        (b'{"NaN": "Infinity",\n"b": [1.5, -Infinity]}', "", "`-Infinity` is not a JSON number"),
        (b"[1e999]", "", "`1e999` is not a JSON number"),
        (b"[" + b"9" * 5000 + b"]", "", "a number has too many digits"),
        (
            b'{"b": [{"a": 1}, "a", "a"], "a": {"b": 0},\n "\\u0062": 2}',
            ":2:2",
            "duplicate key `b` in one object; JSON parsers disagree about which value wins",
        ),
        (
            b'[{"x": {"type": "string", "type": ["integer"]}, "x": 0}]',
            ":1:27",
            "duplicate key `type` in one object; JSON parsers disagree about which value wins",
        ),
        (b"[" * 402 + b"]" * 402, "", "nested deeper than 400 levels"),
        (b"[" * 200_000 + b"]" * 200_000, "", "nested deeper than 400 levels"),
        (b"\x89PNG\x00\x00\x00", ":1:1", "not UTF-8: byte 0x89"),
        (b'{"a":\n "\xe9"}', ":2:3", "not UTF-8: byte 0xE9"),
        (b"\xff\xfe{", ":1:1", "not UTF-8: byte 0x7B"),
    ],
)
def test_invalid_json_is_reported_with_its_position(raw: bytes, place: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(raw)
    result = schema("check", str(file))

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {file}{place}: {message}\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_as_windows_shells_write_them_are_read(encoding: str) -> None:
    assert parse(decode('{"título": 1}\r\n'.encode(encoding))) == {"título": 1}


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    result = schema("check", str(file))

    assert result.exit_code == 2
    assert "larger than 16 MiB" in result.stderr
    assert "stdin: larger than 16 MiB" in schema("check", "-", stdin=file.read_bytes()).stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.json", "no such file: {}; to select a tool, use --tool NAME"),
        (".", "{}: this is a directory, not a file"),
        ("a\0b", "cannot read: embedded null byte"),
        ("x" * 300, "cannot read: file name too long"),
    ],
)
def test_an_unreadable_file_is_reported_in_one_line(name: str, message: str, tmp_path: Path) -> None:
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
def test_every_value_has_the_position_of_its_key_or_itself(value: Any, indent: int | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    ways = {json_pointer(way): (way, inner) for way, inner in pointers(value)}
    positions = JsonPositions(text)
    lines = text.split("\n")

    for pointer, (way, inner) in ways.items():
        line, column = positions.place(pointer)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        at_key = way and isinstance(way[-1], str)
        expected = way[-1] if at_key else inner
        assert json.JSONDecoder().raw_decode(rest)[0] == expected


def test_a_missing_value_has_the_position_of_its_parent() -> None:
    positions = JsonPositions('{"a": {\n  "b": [1,\n 2]}}')

    assert [positions.place(pointer) for pointer in ("/a/b/7/c", "/a/x", "/y")] == [(2, 3), (1, 2), (1, 1)]


@given(st.binary(max_size=40) | st.text('[]{},:"\\ NaNInfinity-1e9', max_size=30).map(str.encode))
def test_the_parser_raises_no_other_error(raw: bytes) -> None:
    with suppress(JsonError):
        parse(decode(raw))


def test_schemas_up_to_the_maximum_depth_are_checked(tmp_path: Path) -> None:
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


def test_an_unknown_tool_without_a_near_name_lists_some() -> None:
    result = schema("check", str(FIXTURES / "tools_list.json"), "--tool", "zzz")
    assert result.stderr == "Error: no tool `zzz`: available are `read_files`, `list_roots`\n"

    many = json.dumps([{"name": f"tool_{number}", "inputSchema": SCHEMA} for number in range(8)]).encode()
    assert "`tool_4` and 3 more" in schema("check", "-", "--tool", "zzz", stdin=many).stderr
    assert "stdin: the list has no tools" in schema("check", "-", "--tool", "zzz", stdin=b'{"tools": []}').stderr


@pytest.mark.parametrize("text", ["[]", '{"tools": []}', '{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'])
def test_a_list_without_tools_is_no_success(text: str) -> None:
    result = schema("check", "-", stdin=text.encode())

    assert (result.exit_code, result.stderr) == (2, "Error: stdin: the list has no tools\n")


def test_chosen_tools_alone_are_checked() -> None:
    chosen = schema("check", "--json", str(FIXTURES / "tools_list.json"), "--tool", "list_roots")
    both = schema("check", "--json", str(FIXTURES / "tools_list.json"), "--tool", "list_roots", "--tool", "read_files")

    assert (names(chosen), names(both)) == (["list_roots"], ["read_files", "list_roots"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "--server", "x"], "sources, --server and --manifest cannot be combined"),
        (["a.json", "--manifest", "m.toml"], "sources, --server and --manifest cannot be combined"),
        (["-", "-"], "stdin can be read only once"),
        (["--header", "a: b"], "--header requires --server https://..."),
        (["--server", "x", "--header", "a: b"], "--header requires --server https://..."),
        (["--server", "http://127.0.0.1:9", "--header", "ab"], "--header must be `Name: value`"),
        (["--server", "http://127.0.0.1:9", "--header", "a: b\nc: d"], "--header must be `Name: value`"),
        (["--server", ""], "--server must be a command line or a URL, not ``: it is empty"),
        (["--server", "npx 'x"], "no closing quotation"),
        (["--target", "gemini"], "is not one of"),
        (["--timeout", "0"], "is not in the range"),
    ],
)
def test_contradictory_options_are_refused(arguments: list[str], message: str) -> None:
    result = schema("check", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


# The manifest


def test_the_project_is_checked_by_default(laid_out_once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(laid_out_once)
    by_default = schema("check", "--json")
    monkeypatch.chdir(laid_out_once.parent)
    by_option = schema("check", "--json", "--manifest", str(laid_out_once / "manifest" / "notes.toml"))
    by_source = schema("check", "--json", str(laid_out_once / "manifest" / "notes.toml"))

    assert names(by_default)
    assert by_default.stdout == by_option.stdout == by_source.stdout
    assert by_default.exit_code == 0
    monkeypatch.chdir("/")
    assert "no manifest/*.toml" in schema("check").stderr


def test_an_invalid_manifest_is_reported_in_every_format(project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    project.manifest.write_text(text.replace("edition = 1", "edition = 1\nsumary = 1"), encoding="utf-8")

    for layout, stream in (("text", "stderr"), ("github", "stdout"), ("sarif", "stdout")):
        result = schema("check", "--format", layout, "--manifest", str(project.manifest))
        assert result.exit_code == 2
        assert "TM203" in getattr(result, stream)


# Servers over stdio


def test_the_tools_of_our_server_are_compatible() -> None:
    command = shlex.join([sys.executable, "-m", "workbench_server", "--classic", "--root", str(REPOSITORY)])
    result = schema("check", "--json", "--server", command)

    assert result.exit_code == 0, result.output
    assert "read_files" in names(result)


def test_a_foreign_server_is_checked() -> None:
    node = NODE_MODULES / ".bin" / "node"
    assert node.exists(), "npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
    script = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    result = schema("check", "--json", "--server", shlex.join([str(node), str(script)]), "--target", "mcp")

    assert {"echo", "get-sum"} <= set(names(result))
    (echo,) = (tool for tool in json.loads(result.stdout)["tools"] if tool["name"] == "echo")
    assert echo["original_schema"]["$schema"].startswith("http://json-schema.org/")
    assert "$schema" not in echo["transformed_schema"]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("behaviour", "tools"),
    [
        ("pages", ["tool_0", "tool_1", "tool_2"]),
        ("environment", ["named_outside"]),
        ("old", ["only"]),
        ("greets", ["only"]),
    ],
)
def test_a_server_with_an_unusual_behaviour_is_checked(
    behaviour: str, tools: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD_NAME", "named_outside")

    assert names(schema("check", "--json", "--server", odd(behaviour))) == tools


def test_no_shell_is_used(tmp_path: Path) -> None:
    result = schema("check", "--json", "--server", odd("plain") + f" ; touch {tmp_path / 'made'} $(touch x)")

    assert names(result) == ["only"]
    assert not list(tmp_path.iterdir())


def test_null_values_of_a_schema_are_preserved() -> None:
    (tool,) = json.loads(schema("check", "--json", "--server", odd("null")).stdout)["tools"]

    assert tool["original_schema"]["properties"] == {"x": {"type": "string", "default": None}}


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (
            "dies",
            "it exited or closed stdout before responding; its stderr:\n  | a key is missing: ODD_KEY",
        ),
        ("error", "it answered with an error: out of order\\u001b[2J (-32603)"),
        ("circle", "it returned the cursor 'same' twice, so pagination never ends"),
        ("endless", "its tool list exceeds 10,000 tools"),
        ("no-list", "the SDK rejects its answer: tools: Input should be a valid list"),
        ("malformed", "the SDK rejects its answer: tools.1.inputSchema: Field required"),
        ("chatters", "its stdout does not contain MCP messages"),
    ],
)
def test_an_invalid_server_is_reported(behaviour: str, message: str) -> None:
    result = schema("check", "--server", odd(behaviour))

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("no-such-program-anywhere --stdio", ": program not found\n"),
        (str(HERE), ": it cannot be started: Permission denied\n"),
        ("http://127.0.0.1:9/mcp", "it cannot be reached"),
        ("http://", "invalid URL"),
        ("http://127.0.0.1:99999/mcp", "invalid URL"),
        ("http://[::1/mcp", "invalid URL"),
    ],
)
def test_an_unreachable_server_is_reported_in_one_line(address: str, message: str) -> None:
    result = schema("check", "--server", address)

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_pid(file: Path) -> int:
    """Return the process id in `file` once it is there; fail after `TIMEOUT_S`."""
    limit = time.monotonic() + TIMEOUT_S
    while time.monotonic() < limit:
        if file.exists() and (text := file.read_text(encoding="utf-8")):
            return int(text)
        threading.Event().wait(0.01)
    raise AssertionError("no process id")


def test_a_server_is_ended_at_the_time_out(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    result = schema("check", "--timeout", "1", "--server", odd("hangs", str(file)))

    assert result.exit_code == 2
    assert "it did not answer within 1 s; increase --timeout" in result.stderr
    assert not is_running(wait_for_pid(file))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no launcher")
def test_a_descendant_that_left_the_process_group_ends_with_its_server(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    result = schema("check", "--json", "--server", odd("daemon", str(file)))

    assert names(result) == ["only"]
    assert not is_running(wait_for_pid(file))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_server_first(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = [sys.executable, "-m", "toolmason", "schema", "check", "--server", odd("stubborn", str(file))]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        server = wait_for_pid(file)
        ours.send_signal(number)
        ours.send_signal(number)  # an impatient user
        stdout, stderr = ours.communicate(timeout=TIMEOUT_S)
    finally:
        ours.kill()
        ours.wait()

    assert stdout == ""
    assert stderr.strip() == ("Aborted!" if number is signal.SIGINT else "")
    assert ours.returncode == (1 if number is signal.SIGINT else -number)
    assert not is_running(server)


def test_a_server_is_checked_in_a_thread_without_signals() -> None:
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
        # On a slow machine the startup check logs its warnings first.
        yield next(line for line in process.stderr if line.startswith("serving")).split()[-1]
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)


def test_our_server_is_checked_over_http() -> None:
    with workbench_over_http() as address:
        result = schema("check", "--json", "--server", address, "--header", "X-Any: thing")
        lost = schema("check", "--server", address.replace("/mcp", "/other"))

    assert {"search", "call"} <= set(names(result))
    assert json.loads(result.stdout)["tools"][0]["source"] == address
    assert lost.exit_code == 2
    assert "it answered 404 Not Found; check the path: most servers answer at /mcp" in lost.stderr


@contextmanager
def http_server(status: int, body: bytes = b"", /, **headers: str) -> Iterator[tuple[str, list[str | None]]]:
    """Serve one response; yield the address and the received `X-Key` headers."""
    keys: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            keys.append(self.headers.get("X-Key"))
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
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", keys
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


NO_SEATS = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no seats left"}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (401, b"", "", "it answered 401 Unauthorized; pass a token: --header 'Authorization: Bearer $TOKEN'"),
        (403, b"", "", "it answered 403 Forbidden; pass the credentials with --header 'Name: $VARIABLE'"),
        (405, b"", "", "it answered 405 Method Not Allowed; check the path: most servers answer at /mcp"),
        (500, b"", "", "it answered 500 Internal Server Error\n"),
        (599, b"", "", "it answered 599\n"),
        (503, NO_SEATS, "application/json", "it answered 503 Service Unavailable: no seats left"),
        (307, b"", "", "Redirect to http://elsewhere.invalid/ not followed"),
        (200, b"<html>", "text/html", "Unexpected content type: text/html"),
        (200, b"{", "application/json", "Failed to parse JSON response"),
        (200, b"", "text/event-stream", "SSE stream ended without a response"),
    ],
)
def test_an_http_error_is_reported(status: int, body: bytes, kind: str, message: str) -> None:
    with http_server(status, body, Location="http://elsewhere.invalid/", Content_Type=kind) as (address, _):
        result = schema("check", "--server", address)

    assert result.exit_code == 2
    assert message in result.stderr


def test_headers_are_sent_and_secrets_of_an_address_are_hidden() -> None:
    with http_server(401) as (address, keys):
        secret = address.replace("http://", "http://user:pass@") + "?key=secret"
        result = schema("check", "--server", secret, "--header", "X-Key: sesame")

    assert set(keys) == {"sesame"}
    assert address in result.stderr
    assert not {"secret", "pass@", "sesame"} & set(re.split(r"[/?=: ]", result.output))


@pytest.mark.parametrize(
    ("stderr", "advice"),
    [
        ("Error: BRAVE_API_KEY environment variable is required", "it needs `BRAVE_API_KEY`"),
        ("Missing required environment variables: A_URL and A_TOKEN", "it needs `A_URL`, `A_TOKEN`"),
        ("Either FIGMA_API_KEY or FIGMA_OAUTH_TOKEN is required", "it needs `FIGMA_API_KEY` or `FIGMA_OAUTH_TOKEN`"),
        ("Error: NOTION_TOKEN is not set\n    at main (index.js:3)", "it needs `NOTION_TOKEN`"),
        ("Please provide an API key with --key", "it needs a key or a token"),
        ("TypeError: fetch failed\n  cause: Error: getaddrinfo ENOTFOUND api.example.com", "it needs the network"),
        ("httpx.ConnectError: [Errno -2] Name or service not known", "it needs the network"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "it needs the network"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'x' is required", ""),
        ("Segmentation fault", ""),
        ("", ""),
    ],
)
def test_a_server_that_does_not_start_says_what_it_needs(stderr: str, advice: str) -> None:
    assert start_advice(stderr).startswith(advice)
    assert bool(advice) == bool(start_advice(stderr))


def test_a_variable_of_a_confined_server_must_be_passed_on() -> None:
    stderr = "Error: BRAVE_API_KEY environment variable is required"

    assert "--pass-env BRAVE_API_KEY" in start_advice(stderr, is_confined=True)
    assert "--pass-env" not in start_advice(stderr)


@pytest.mark.parametrize("text", ["MY_API_KEY", r"\033[36mMY_API_KEY\033[39m"], ids=["plain", "coloured"])
def test_the_error_of_a_server_without_its_key_names_the_variable(text: str) -> None:
    code = f"import sys; sys.exit('Error: {text} is required')"
    result = schema("check", "--server", f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}")

    assert result.exit_code == 2
    assert "| Error: MY_API_KEY is required" in result.stderr
    assert "it needs `MY_API_KEY`: set the environment variable" in result.stderr


@pytest.mark.parametrize(
    ("address", "redacted"),
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
def test_secrets_of_a_command_line_are_redacted(address: str, redacted: str) -> None:
    assert redact_address(address) == redacted


def test_reports_and_errors_contain_redacted_command_lines(tmp_path: Path) -> None:
    failed = schema("check", "--server", f"{shlex.quote(str(tmp_path / 'none'))} --api-key sesame")
    report = schema("check", "--json", "--server", odd("plain", "--token", "sesame"))

    assert (failed.exit_code, report.exit_code) == (2, 0)
    assert "--api-key REDACTED" in failed.stderr
    assert "--token REDACTED" in report.stdout
    assert "sesame" not in failed.output + report.output
