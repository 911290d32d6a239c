"""The parsers that are fuzzed: each function gives one of them any bytes.

Errors that a parser documents are caught here. Every other exception is a finding, and so is a wrong result.
A function imports what it needs, so that a coverage-guided engine can instrument it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

Target = Callable[[bytes], object]

TARGETS: Final[dict[str, Target]] = {}


def target(function: Target) -> Target:
    """Register a target by the name of its function."""
    TARGETS[function.__name__] = function
    return function


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _surrogates(data: bytes) -> str:
    """Return text as JSON can bring it: bytes that are not UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _parts(data: bytes, count: int) -> list[bytes]:
    """Return `count` parts of an input, which a line `=====` separates; missing ones are empty."""
    return (data.split(b"\n=====\n", count - 1) + [b""] * count)[:count]


def _file(data: bytes) -> Path:
    """Return a file with an input, for a parser that reads files."""
    path = Path(tempfile.gettempdir(), "input")
    path.write_bytes(data)
    return path


@target
def programs(data: bytes) -> object:
    """A program of the style `code`: what is rewritten has the same length, and parses."""
    import ast

    from toolmason_runtime.code_mode.check import parse
    from toolmason_runtime.discovery.functions import Functions
    from toolmason_runtime.shared.errors import ToolError

    tool = {"name": "git_log", "inputSchema": {"properties": {"n": {"type": "integer"}}}, "annotations": {}}
    entry: Any = {"tool": tool, "category": "git", "summary": ""}
    with suppress(ToolError):
        program = parse(_surrogates(data), Functions({"git_log": entry}, {}), only_reads="run")
        assert len(program.code) == len(program.source.code)
        ast.parse(program.code)
        return program.stubs
    return None


@target
def link_headers(data: bytes) -> object:
    from toolmason_runtime.remote.links import next_link

    return next_link(data.decode("latin-1"))


@target
def charsets(data: bytes) -> object:
    """The first line is a `Content-Type`, the rest is a body."""
    from toolmason_runtime.remote.charset import decode

    content_type, _, body = data.partition(b"\n")
    text = decode(body, content_type.decode("latin-1"))
    text.encode()  # no lone surrogates
    return text


@target
def server_sent_events(data: bytes) -> object:
    """The events of an upstream, in pieces of 61 bytes, and the messages in them."""
    import httpx2
    from mcp.types import jsonrpc_message_adapter
    from pydantic import ValidationError

    pieces = (data[start : start + 61] for start in range(0, len(data), 61))
    answer = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=pieces,
        request=httpx2.Request("GET", "http://localhost/mcp"),
    )
    with suppress(httpx2.TransportError):
        for event in httpx2.EventSource(answer):
            with suppress(ValidationError):
                jsonrpc_message_adapter.validate_json(event.data)
    return None


@target
def toml(data: bytes) -> object:
    """The text of a manifest or a policy: its values, and the position of each key."""
    from toolmason_runtime.shared.toml.document import TomlDocument, parse_toml
    from toolmason_runtime.shared.toml.positions import key_positions, scan_keys

    document = parse_toml(data)
    if isinstance(document, TomlDocument):
        positions = key_positions(document.text)
        missing = [key for key in document.data if (key,) not in positions]
        assert not missing, f"no position of {missing[0]!a}"
    else:
        scan_keys(_text(data))
    return document


@target
def manifests(data: bytes) -> object:
    """TOML read as tables, with the diagnostics."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.manifest.files import load_manifest
    from toolmason.manifest.validate import validate

    path = _file(data)
    diagnostics = Diagnostics()
    document = load_manifest(path, root=path.parent, diagnostics=diagnostics)
    return validate(document, diagnostics=diagnostics) if document else None


@target
def policies(data: bytes) -> object:
    from toolmason_runtime.programs.policy_file import PolicyError, load_policy

    with suppress(PolicyError):
        return load_policy(_file(data))
    return None


@target
def types(data: bytes) -> object:
    from toolmason.model.type_expression import MalformedTypeError, format_type, names, parse

    with suppress(MalformedTypeError):
        parsed = parse(_text(data))
        names(parsed)
        assert parse(format_type(parsed)) == parsed
    return None


@target
def openapi(data: bytes) -> object:
    from toolmason.importers.notes import ImporterError
    from toolmason.importers.openapi.manifest import import_document
    from toolmason.importers.openapi.options import Options
    from toolmason.importers.openapi.reading import read_document

    path = _file(data)
    with suppress(ImporterError):
        return import_document(read_document(str(path), {}), str(path), Options(), {})
    return None


@target
def json_with_comments(data: bytes) -> object:
    from toolmason_runtime.install import jsonc
    from toolmason_runtime.install.errors import FileSyntaxError

    text = _text(data)
    with suppress(FileSyntaxError):
        jsonc.load(text)
        jsonc.comments(text)
        merged = jsonc.merge(text, {"servers": {"one": {"command": "x"}}})
        assert jsonc.load(merged)["servers"]["one"] == {"command": "x"}
        removed = jsonc.remove(merged, ("servers", "one"))
        assert "one" not in jsonc.load(removed)["servers"]
    return None


@target
def path_references(data: bytes) -> object:
    from toolmason_runtime import ToolError

    from workbench_handlers.workspace.roots import Root
    from workbench_research.context.references import find_references
    from workbench_research.paths import path_spellings

    text = _surrogates(data)
    directory = Path(tempfile.gettempdir(), "project")
    if not directory.is_dir():
        (directory / "src").mkdir(parents=True)
        (directory / "src" / "app.py").touch()
        (directory / "a b.txt").touch()
    list(path_spellings(text))
    with suppress(ToolError):
        return find_references(text, Root.of(str(directory), "a test"))
    return None


@target
def jq_programs(data: bytes) -> object:
    """What `query_json` reads of a program itself, before jq runs it."""
    from toolmason_runtime import ToolError

    from workbench_handlers.workspace.json_path import is_shallow, parse_path, program_of

    program = _text(data)
    with suppress(ToolError):
        is_shallow(program)
        return program_of(*parse_path(program))
    return None


@target
def selects(data: bytes) -> object:
    """The check of `select`, the jq program of a tool."""
    from toolmason.kinds.http.select_programs import select_errors

    return select_errors([_text(data)], None)


@target
def edits(data: bytes) -> object:
    """The bytes of a file, the text to replace and its replacement; then the diff."""
    from toolmason_runtime import ToolError

    from workbench_handlers.editing.text.apply import apply_request
    from workbench_handlers.editing.text.diff import diff_rows, unified_diff
    from workbench_handlers.editing.text.request import parse_request

    current, wanted, replacement = _parts(data, 3)
    unified_diff(current, replacement, "a.txt")
    diff_rows(current, replacement)
    with suppress(ToolError):
        request = parse_request(
            match_text=_surrogates(wanted),
            new_string=_surrogates(replacement),
            edits=None,
            expected_replacements=None,
            bypass_match_text_limit=True,
        )
        return unified_diff(current, apply_request(request, current, "a.txt").data, "a.txt")
    return None


@target
def uri_templates(data: bytes) -> object:
    """A template and a URI."""
    from toolmason_runtime.shared.values.uri_template import match_uri

    template, uri = map(_text, _parts(data, 2))
    return match_uri(template, uri)


@target
def argv(data: bytes) -> object:
    """Arguments of a call, as JSON, for a tool that has each kind of placement."""
    from toolmason_runtime.programs.argv import build_invocation
    from toolmason_runtime.shared.errors import ToolError
    from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind, Program

    arguments = _json(data)
    if not isinstance(arguments, dict):
        return None
    placements = (
        ArgumentPlacement(name="file", place=PlacementKind.POSITIONAL),
        ArgumentPlacement(name="width", place=PlacementKind.FLAG, flag="--width"),
        ArgumentPlacement(name="force", place=PlacementKind.FLAG, flag="--force", switch=True),
        ArgumentPlacement(name="text", place=PlacementKind.STDIN),
        ArgumentPlacement(name="folder", place=PlacementKind.CWD),
    )
    program = Program(name="app", command=("~/app", "$MODE"))
    tool = CommandTool(name="app_sub", program=program, argv=("sub",), placements=placements)
    with suppress(ToolError):
        invocation = build_invocation(tool, arguments, environ={"HOME": "/home/ada", "MODE": "plain"})
        assert all(isinstance(element, str) and "\0" not in element for element in invocation.argv)
    return None


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


@target
def command_lines(data: bytes) -> object:
    """The text that `--help` of a program prints."""
    from toolmason.importers.command_line.help.parser import parse_help

    return parse_help(_text(data), ("app",))


@target
def docstrings(data: bytes) -> object:
    from toolmason.importers.python_module.docstrings import parse_docstring

    return parse_docstring(_text(data))


@target
def messages(data: bytes) -> object:
    """A message of a client, as both engines read it."""
    from toolmason_runtime.transports import framing
    from toolmason_runtime.transports import messages as lean

    for read in (lean.decode, framing.receive):
        with suppress(lean.MalformedError):
            read(data)
    return None


@target
def ignore_files(data: bytes) -> object:
    """A `.gitignore`, and names that it matches."""
    from workbench_handlers.workspace.ignore import parse_gitignore

    spec = parse_gitignore(_text(data))
    return [spec.match_file(name) for name in ("a", "src/app.py", "a" * 200, "a/" * 100 + "a")]


@target
def retry_after(data: bytes) -> object:
    from toolmason_runtime.apis.client import retry_after as parse

    return parse({"retry-after": data.decode("latin-1")})


@target
def work_logs(data: bytes) -> object:
    from workbench_handlers.notes.work_log import parse_work_log

    return parse_work_log(_text(data))


@target
def patterns(data: bytes) -> object:
    """A pattern of an author, for each of the dialects that it is translated to."""
    from toolmason_runtime.shared.values.patterns import is_found, is_linear

    from toolmason.schema.patterns import to_ecma_pattern

    pattern, text = map(_text, _parts(data, 2))
    to_ecma_pattern(pattern)
    with suppress(ValueError):
        is_linear(pattern)
        is_found(pattern, text)
    return None


@target
def client_toml(data: bytes) -> object:
    """The TOML file of a client, edited in place."""
    from toolmason_runtime.install import toml_file
    from toolmason_runtime.install.errors import InstallError

    text = _text(data)
    with suppress(InstallError):
        toml_file.load(text)
        toml_file.comments(text)
        merged = toml_file.merge(text, {"servers": {"one": {"command": "x"}}})
        assert toml_file.load(merged)["servers"]["one"] == {"command": "x"}
    return None


@target
def secrets_in_text(data: bytes) -> object:
    """A model API's error text: what is masked, and what it says about the failure."""
    from workbench_research.backends import error_text
    from workbench_research.backends.retry import RetryConfig
    from workbench_research.redaction import redact

    text = _text(data)
    redact(text, {"API_KEY": "0123456789abcdef"})
    return (
        error_text.without_stack(text),
        error_text.object_statuses(text),
        error_text.retry_after(text),
        RetryConfig().is_retryable(text),
    )
