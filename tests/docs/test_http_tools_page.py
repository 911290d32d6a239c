"""docs/http-tools.md: its manifest generates, its requests are those of the code, and its tables are complete."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_args, get_type_hints

from pages import quoted, read
from toolmason_runtime.apis import client
from toolmason_runtime.apis.files import MAX_SENT_BYTES, with_files
from toolmason_runtime.apis.request import build_request
from toolmason_runtime.calls import secrets
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.request import HttpTool
from toolmason_runtime.shared.toml.tables import keys_of

from toolmason.diagnostics import Diagnostics
from toolmason.kinds.http.implementation import request_of
from toolmason.kinds.http.tables import ApiTable, HttpKeys, PaginateTable
from toolmason.manifest.checks import REQUEST_LOCATIONS
from toolmason.manifest.document import load
from toolmason.manifest.tables import ParamTable, ToolTable
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

PAGE: Final = read("docs/http-tools.md")


def tools_of(section: str, directory: Path) -> Mapping[str, HttpTool]:
    """Return the tools of a manifest on the page, which the stages accept without a finding."""
    (directory / "manifest.toml").write_text(PAGE.section(section).block("toml"), encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(directory / "manifest.toml", root=directory, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=directory, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(diagnostic) for diagnostic in diagnostics]
    return {tool.name: request.tool for tool in server.tools if (request := request_of(tool))}


def test_the_calls_of_the_page_are_the_requests_beside_them(tmp_path: Path) -> None:
    tools = tools_of("An API and its tools", tmp_path)
    rows = PAGE.rows("call", "request")
    assert len(rows) == len(tools)
    for call, request in rows:
        name, _, arguments = quoted(call)[0].partition(" ")
        built = build_request(tools[name], json.loads(arguments), tools[name].api.base_url)
        shown = [f"{built.method} {built.url}", *([built.content.decode()] if built.content else [])]
        assert quoted(request) == shown


def test_the_files_of_the_page_are_sent_and_saved(tmp_path: Path) -> None:
    tools = tools_of("Files", tmp_path)
    (tmp_path / "a.txt").write_text("content", encoding="utf-8")

    arguments = with_files(tools["attach_files"], {"number": 7, "files": ["a.txt"]}, (tmp_path,))
    built = build_request(tools["attach_files"], arguments, "https://desk.example/api")

    assert b'name="files"; filename="a.txt"' in (built.content or b"")
    assert tools["export_issues"].save == "save_as"
    assert f"at most {MAX_SENT_BYTES:,} bytes" in PAGE.section("Files").words


def test_the_keys_and_styles_of_the_page_are_complete() -> None:
    keys = [key for names, _ in PAGE.rows("key", "meaning") for key in quoted(names)]
    assert sorted(keys) == sorted(keys_of(ApiTable))
    styles = [style for names, _ in PAGE.rows("`style` in the query", "example") for style in quoted(names)]
    assert styles == list(get_args(get_type_hints(ParamTable)["style"]))
    places = " ".join(place for place, _ in PAGE.rows("manifest", "place"))
    assert all(f"`{key} = " in places for key in REQUEST_LOCATIONS)
    pages = " ".join(way for way, _ in PAGE.rows("`paginate`", "the next page"))
    assert all(f"{key} = " in pages for key in ("next", "cursor", "param", "page"))
    assert {"items", "max_pages"} < keys_of(PaginateTable).keys()
    assert {"http", "paginate", "select", "body", "risk", "confirm"} < {*keys_of(ToolTable), *keys_of(HttpKeys)}


def test_the_risks_of_the_page_are_those_of_the_methods(tmp_path: Path) -> None:
    for methods, risk, hints in PAGE.rows("method", "risk", "hints"):
        for method in methods.split(", "):
            (tmp_path / "manifest.toml").write_text(
                f"""
edition = 1
server = {{ name = "a", package = "a_server" }}
categories.c.summary = "C"
apis.x = {{ base_url = "https://x.example", category = "c" }}
tools.t = {{ summary = "T", api = "x", http = "{method} /" }}
""",
                encoding="utf-8",
            )
            diagnostics = Diagnostics()
            document = load(tmp_path / "manifest.toml", root=tmp_path, diagnostics=diagnostics)
            assert document
            tables = validate(document, diagnostics=diagnostics)
            assert tables
            server = resolve(tables, document, root=tmp_path, diagnostics=diagnostics)
            assert server
            (tool,) = server.tools
            request = request_of(tool)
            assert request
            assert request.tool.risk is Risk(quoted(risk)[0])
            declared = tool.hints
            assert ("read-only" in hints) is declared.read_only
            assert ("destructive" in hints) is declared.destructive
            assert ("idempotent" in hints) is declared.idempotent


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert f"at most {client.MAX_BODY_BYTES:,} bytes" in PAGE.text
    assert f"at most {client.MAX_REDIRECTS}." in PAGE.text
    assert f"of {secrets.MIN_SECRET} characters or more" in PAGE.text
    defaults = {name: field.default for name, field in keys_of(ApiTable).items()}
    assert f"{defaults['timeout']} by default" in PAGE.text
    assert f"{defaults['retries']} by default" in PAGE.text
    assert f"({keys_of(PaginateTable)['max_pages'].default} by default)" in PAGE.text
