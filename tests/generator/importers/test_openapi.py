"""`toolmason import openapi`: manifests from documents, reports of losses, and updates that keep edits."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.apis.request import build_request
from toolmason_runtime.shared.specs.request import HttpTool

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.design.texts import MAX_DESCRIPTION, description_of, summary_from
from toolmason.importers.manifest_writer import write_text
from toolmason.importers.openapi.layout import manifest_text
from toolmason.importers.openapi.merge import Merge, merged_text
from toolmason.importers.openapi.operations import ToolBuilder
from toolmason.kinds.http.implementation import request_of
from toolmason.manifest.document import Document, load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

FIXTURES = Path(__file__).parent / "fixtures"
ANY_BODY = {
    "content": {
        "application/json": {"schema": {"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "object"}]}}}}
    }
}
SHOP = FIXTURES / "shop.yaml"
NOTES = FIXTURES / "notes.json"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "openapi", *map(str, arguments)])


def tools_of(manifest: Path) -> dict[str, HttpTool]:
    """Return the HTTP tools of a manifest, which the stages accept."""
    diagnostics = Diagnostics()
    document: Document | None = load(manifest, root=manifest.parent, diagnostics=diagnostics)
    assert document
    tables = validate(document, diagnostics=diagnostics)
    server = resolve(tables, document, root=manifest.parent, diagnostics=diagnostics) if tables else None
    assert server, [str(diagnostic) for diagnostic in diagnostics]
    return {tool.name: request.tool for tool in server.tools if (request := request_of(tool))}


@pytest.mark.parametrize("source", [SHOP, NOTES], ids=["openapi 3.0 in yaml", "openapi 3.1 in json"])
def test_a_document_gives_its_committed_manifest_and_report(
    source: Path, tmp_path: Path, file_regression: FileRegressionFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FIXTURES)
    report = tmp_path / "report.json"

    result = run(source.name, "--report", report)

    assert result.exit_code == 0, result.output
    file_regression.check(result.stdout, encoding="utf-8", extension=".toml", newline="")
    file_regression.check(report.read_text(encoding="utf-8"), encoding="utf-8", extension=".json", newline="")


def test_the_tools_send_the_requests_of_the_document(tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    run(SHOP, "-o", manifest)
    tools = tools_of(manifest)

    def sent(name: str, arguments: dict[str, Any]) -> tuple[str, str, bytes | None]:
        request = build_request(tools[name], arguments, tools[name].api.base_url)
        return request.method, request.url, request.content

    url = "https://eu.shop.example/v1/orders"
    order = {"customer": "a@b.c", "lines": [{"sku": "AB1"}], "paid_by": {"kind": "invoice", "days": 7}}
    assert sent("get_order", {"order_id": "a b", "fields": ["x", "y"], "filter": {"k": "v"}}) == (
        *("GET", f"{url}/a%20b?fields=x,y&filter%5Bk%5D=v"),
        None,
    )
    assert sent("create_order", order) == ("POST", url, json.dumps(order, separators=(",", ":")).encode())
    method, address, body = sent("replace_upload", {"path": "a/b.txt", "file": "text", "note": "n"})
    assert (method, address) == ("PUT", "https://files.shop.example/uploads/a/b.txt")
    assert body
    assert b'name="note+"' in body


def test_an_imported_project_generates(tmp_path: Path) -> None:
    for name, source in (("shop", SHOP), ("notes", NOTES)):
        project = tmp_path / name
        run(source, "-o", project / "manifest" / f"{name}.toml")
        subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
        assert (project / "generated" / "catalogue.json").exists() or list(
            (project / "generated").glob("*/catalogue.json")
        )


@pytest.mark.parametrize(
    ("filters", "tools"),
    [
        (["--tag", "file*"], ["replace_upload"]),
        (["--operation", "orders/*"], ["get_order"]),
        (["--operation", "* /orders/*"], ["get_order", "delete_order"]),
        (["--read-only"], ["get_order", "check_raw"]),
        (["--tag", "orders", "--operation", "createOrder"], ["create_order"]),
    ],
)
def test_filters_select_operations(filters: list[str], tools: list[str]) -> None:
    assert list(tomllib.loads(run(SHOP, *filters).stdout)["tools"]) == tools


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (["--tag", "order"], "`order` matches nothing in the document; did you mean `orders`?"),
        (["--operation", "nothing"], "matches nothing in the document; available: "),
        (["--tag", "files", "--read-only"], "no operation is left to import"),
    ],
)
def test_filters_that_select_nothing_are_refused(filters: list[str], message: str) -> None:
    result = run(SHOP, *filters)

    assert result.exit_code == 1
    assert message in result.stderr


def _aliases(line: str, name: str) -> str:
    """Return YAML whose anchors each repeat the one before nine times."""
    return "\n".join(line.format(number, "", ", ".join([f"*{name}{number - 1}"] * 9)) for number in range(1, 12))


NEWLINES = "\\n" * 100_000
ENDLESS = "{type: object, properties: {" + ", ".join(f"k{number}: {{$ref: '#/x/a'}}" for number in range(9)) + "}}"
ENDLESS_BODY = "paths: {/a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/x/a'}}}}}}}"
"""A type inside itself that is no component."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("swagger: '1.2'\npaths: {}", "`swagger` must be 2.0, not `1.2`"),
        ("openapi: 4.0.0\npaths: {}", "`openapi` must be 3.0, 3.1 or 3.2, not `4.0.0`"),
        ("openapi: 3.1.0", "the document has no `paths`"),
        ("openapi: 3.1.0\nwebhooks: {a: {post: {}}}", "the document has only webhooks, which the API calls itself"),
        ("openapi: 3.1.0\nwebhooks: {a: {post: {}}}\npaths: {}", "the document has only webhooks, which"),
        ("openapi: 3.1.0\npaths: {}\nx-webhooks: {a: {post: {}}}", "the document has only webhooks, which"),
        ("openapi: 3.1.0\npaths: {}", "the document has no operations"),
        ("openapi: 3.1.0\npaths: {/a: {summary: x}}", "the document has no operations"),
        ("openapi: 3.1.0\npaths: {a/b: {get: {}}}", "the path does not begin with `/`"),
        ("- a", "an OpenAPI document is an object, not list"),
        ("{", "not YAML: "),
        ("a: [", "not YAML: "),
        ("a: &a [*a]", "nests more than 200 levels"),
        (f"a: {'[' * 100_000}", "nests more than 200 levels"),
        (f"a: {'{a: ' * 100_000}", "nests more than 200 levels"),
        (f"a0: &a0 [1, 1]\n{_aliases('a{0}: &a{0} [{2}]', 'a')}", "has more than 5,000,000 values, with its aliases"),
        (
            f"m0: &m0 {{a: 1}}\n{_aliases('m{0}: &m{0} {{<<: [{2}]}}', 'm')}",
            "document.yaml: ",
        ),
        (f'{{"openapi": "3.1.0", "paths": {{}}, "x": {"9" * 400}}}', "an integer of more than 308 digits"),
        (f"openapi: 3.1.0\npaths: {{}}\ninfo: {{x: 0x{'f' * 5_000}}}", "a number has more than 308 characters"),
        (f"openapi: 3.1.0\npaths: {{}}\nx: 0x{'f' * 300}", "an integer of more than 308 digits"),
        (f"openapi: 3.1.0\npaths: {{}}\nx: {'1' * 60_000}", "a number has more than 308 characters"),
        (f"openapi: 3.1.0\npaths: {{}}\nx: {'1' * 400}.5", "a number has more than 308 characters"),
        (f"openapi: 3.1.0\npaths: {{}}\n? 0x{'f' * 5_000}\n: 1", "the document has no operations"),
        ("openapi: 3.1.0\npaths: {/a: {get: {x: !!binary aGk=}}}", "a value is of the type bytes"),
        ("openapi: 3.1.0\npaths: {/a: {get: {x: !!set {a}}}}", "a value is of the type set"),
        ("openapi: 3.1\npaths: {/a: {get: {}}}", ""),
        ("openapi: 3.1.0\nservers: [{url: 'http://[::1'}]\npaths: {/a: {get: {}}}", ""),
        ("openapi: 3.1.0\npaths: {/a: {get: {tags: [con]}}}", ""),
        (
            '{"openapi": "3.1.0", "paths": {"/a\\ud800": {"get": {"operationId": "\\ud800", "tags": ["\\ud800"]}}}}',
            "",
        ),
        (f'openapi: 3.1.0\npaths: {{/a: {{get: {{description: "{NEWLINES}"}}}}}}', ""),
        (f"openapi: 3.1.0\nx: {{a: &a {ENDLESS}}}\n{ENDLESS_BODY}", ""),
        ("\udcff", "not UTF-8 at byte 0"),
        ("openapi: 3.1.0\npaths: {/a: {$ref: '#/b'}}", "the reference `#/b` cannot be resolved: "),
        ("openapi: 3.1.0\npaths: {/a: {get: {}}}\ncomponents: 7", ""),
    ],
)
def test_other_documents_are_refused_with_the_reason(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "document.yaml"
    file.write_bytes(content.encode(errors="surrogateescape"))

    result = run(file)

    assert result.exit_code == (1 if message else 0), result.output
    assert message in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("form", ["YAML", "JSON"])
@pytest.mark.parametrize(("depth", "exit_code"), [(200, 0), (201, 1)])
def test_the_limit_of_nesting_is_the_same_for_yaml_and_json(
    tmp_path: Path, form: str, depth: int, exit_code: int
) -> None:
    inner = "[" * (depth - 1) + "1" + "]" * (depth - 1)  # the document itself is the first level
    document = f'"openapi": "3.1.0", "paths": {{"/a": {{"get": {{}}}}}}, "x": {inner}'
    file = tmp_path / "document"
    file.write_text(f"{{{document}}}" if form == "JSON" else document.replace(', "', '\n"'), encoding="utf-8")

    result = run(file)

    assert result.exit_code == exit_code, result.output
    assert ("nests more than 200 levels" in result.stderr) == bool(exit_code)


@pytest.mark.parametrize(
    "server",
    [
        "https://evil.example/$SECRET",
        "https://${SECRET}.example",
        "https://user:pw@example",
        "https://{host}/",
        "http://[",
    ],
)
def test_a_server_of_a_document_never_contains_a_variable_or_a_user(tmp_path: Path, server: str) -> None:
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Shop"},
        "servers": [{"url": server, "variables": {"host": {"default": "$SECRET"}}}],
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X\r\nY"}}},
        "paths": {"/a": {"get": {"operationId": "a"}}},
    }
    file = tmp_path / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    api = tomllib.loads(run(file).stdout)["apis"]["shop"]

    assert api == {"base_url": "$SHOP_URL", "summary": "Shop"}


def test_a_manifest_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    manifest.write_text("# edits", encoding="utf-8")

    with pytest.raises(UnicodeEncodeError):
        write_text(manifest, "x\ud800", force=True)

    assert manifest.read_text(encoding="utf-8") == "# edits"
    assert list(tmp_path.iterdir()) == [manifest]


@pytest.mark.parametrize("record", ["{", "[]", '{"source": "", "version": "", "options": {}, "tools": {}, "data": {}}'])
def test_a_damaged_record_is_reported(tmp_path: Path, record: str) -> None:
    manifest = tmp_path / "shop.toml"
    manifest.write_text("edition = 1\n", encoding="utf-8")
    (tmp_path / "shop.openapi.json").write_text(record, encoding="utf-8")

    result = run(SHOP, "--output", manifest)

    assert result.exit_code == 1
    assert "not the record of an import: " in result.stderr
    assert manifest.read_text(encoding="utf-8") == "edition = 1\n"


def test_the_password_of_a_url_is_not_written(tmp_path: Path, address: str) -> None:
    manifest = tmp_path / "notes.toml"
    url = f"{address}/docs/notes.json".replace("://", "://me:hunter2@")

    assert run(url, "--header", "X-Key: k", "--output", manifest).exit_code == 0

    assert "hunter2" not in manifest.read_text(encoding="utf-8")
    assert "hunter2" not in (tmp_path / "notes.openapi.json").read_text(encoding="utf-8")


class _Documents(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        is_known = self.path == "/docs/notes.json" and self.headers["x-key"] == "k"
        self.send_response(200 if is_known else 404)
        self.end_headers()
        self.wfile.write(NOTES.read_bytes() if is_known else b"")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server with one document."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Documents) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_url_is_fetched_and_completes_relative_servers(address: str) -> None:
    imported = run(f"{address}/docs/notes.json", "--header", "X-Key: k", "--name", "notes")
    missing = run(f"{address}/docs/notes.json")

    apis = tomllib.loads(imported.stdout)["apis"]
    assert apis["notes"] == {
        "base_url": f"{address}/api",
        "summary": "The Great Notes REST API for everybody",
        "auth": {"bearer": "$NOTES_TOKEN"},
    }
    assert missing.exit_code == 1
    assert "404" in missing.stderr


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("http://169.254.169.254/latest/meta-data/", "which may be a metadata service"),
        ("http://[fe80::1]/", "which may be a metadata service"),
        ("http://2852039166/", "which may be a metadata service"),
        ("http://metadata.google.internal/", "which may be a metadata service"),
        ("file:///etc/passwd", "which is not encrypted"),
    ],
)
def test_a_redirect_to_an_internal_address_is_refused(address: str, target: str, problem: str) -> None:
    result = run(f"{address}/to/{target}")

    assert result.exit_code == 1
    assert problem.lower() in result.stderr.lower()


def test_redirects_are_limited(address: str) -> None:
    result = run(address + "/to/" * 9)

    assert result.exit_code == 1
    assert "more than 5 redirects" in result.stderr


Edit = Callable[[str], str]


@pytest.fixture
def update(tmp_path: Path) -> Callable[[Edit, Callable[[dict[str, Any]], object]], tuple[str, Result]]:
    """Import the notes, edit manifest and document, import again, and return the new text and the result."""

    def update(edit: Edit, change: Callable[[dict[str, Any]], object]) -> tuple[str, Result]:
        manifest, newer = tmp_path / "notes.toml", tmp_path / "newer.json"
        run(NOTES, "-o", manifest)
        manifest.write_text(edit(manifest.read_text(encoding="utf-8")), encoding="utf-8")
        document = json.loads(NOTES.read_text(encoding="utf-8"))
        change(document)
        newer.write_text(json.dumps(document), encoding="utf-8")
        result = run(newer, "-o", manifest)
        return manifest.read_text(encoding="utf-8"), result

    return update


def _summary(text: str) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["paths"]["/v1/notes"]["get"].update(summary=text)


@pytest.mark.parametrize(
    ("edit", "change", "kept", "report"),
    [
        (
            ('summary = "List notes"', 'summary = "Find notes" # better'),
            _summary("List all notes"),
            ['summary = "Find notes" # better'],
            'tools.list_notes.summary: your edit is kept; the document now has "List all notes"',
        ),
        (
            ("edition = 1", "# Mine\nedition = 1"),
            _summary("List all notes"),
            ["# Mine", 'summary = "List all notes"'],
            'tools.list_notes.summary: changed from "List notes" to "List all notes"',
        ),
        (
            ('params.text = { type = "string", required = false }\n', ""),
            _summary("List all notes"),
            ['summary = "List all notes"'],
            "",
        ),
        (
            ("params.text = {", 'params.text = { description = "Words",'),
            lambda document: document["paths"]["/v1/notes"]["get"]["parameters"].pop(1),
            ['params.text = { description = "Words",'],
            "tools.list_notes.params.text: your edit is kept, but the document no longer contains it",
        ),
        (
            ("params.after", 'params.mine = { type = "string" }\nparams.after'),
            lambda document: document["paths"]["/v1/notes"]["get"]["parameters"].pop(0),
            ["params.mine"],
            "tools.list_notes.params.after: removed, since the document no longer contains it",
        ),
        (
            ("[tools.update_notes]", "[tools.change_notes]"),
            lambda document: document["paths"]["/v1/notes"]["patch"].update(summary="Change notes"),
            ['[tools.change_notes]\nsummary = "Change notes"'],
            'tools.change_notes.summary: changed from "Notes patch" to "Change notes"',
        ),
        (
            ("[tools.update_notes]\n", "[tools.update_notes]\n# Ask first\n"),
            lambda document: document["paths"]["/v1/notes"].pop("patch"),
            ["# Ask first", "[tools.update_notes]"],
            "tools.update_notes: your edit is kept, but the document no longer contains it",
        ),
        (
            ("[tools.update_notes]\n", "# About patches\n[tools.update_notes]\n"),
            lambda document: document["paths"]["/v1/notes"].pop("put"),
            ["# About patches\n[tools.update_notes]\n"],
            "tools.replace_all_notes: removed, since the document no longer contains it",
        ),
        (
            ("[tools.update_notes]\n", "[tools.update_notes]\n"),
            lambda document: document["paths"].update({"/new": {"get": {"operationId": "newOne"}}}),
            ["[tools.get_new_one]"],
            "tools.get_new_one: added",
        ),
        (
            ("required = false, body", 'required = false, description = "Mine", body'),
            lambda document: document["paths"]["/v1/notes"]["patch"].update(requestBody=ANY_BODY),
            ['description = "Mine"'],
            "tools.update_notes.params: your edit is kept; the document now needs `input_schema`",
        ),
    ],
    ids=[
        "both changed a key",
        "only the document changed",
        "a removed parameter stays removed",
        "an edited parameter is gone",
        "an unedited parameter is gone",
        "a renamed tool",
        "a commented tool is gone",
        "an unedited tool is gone",
        "a new tool",
        "another form of arguments",
    ],
)
def test_an_update_keeps_edits_and_reports_differences(
    update: Any, edit: tuple[str, str], change: Any, kept: list[str], report: str
) -> None:
    before = run(NOTES).stdout
    assert edit[0] in before

    text, result = update(lambda text: text.replace(*edit), change)

    assert result.exit_code == 0, result.output
    assert all(part in text for part in kept), text
    assert report in result.stderr
    if not edit[1]:
        assert edit[0] not in text


def test_an_import_of_the_same_document_changes_nothing(update: Any) -> None:
    edited: list[str] = []

    def edit(text: str) -> str:
        edited.append(text.replace('summary = "List notes"', 'summary = "Mine"'))
        return edited[0]

    text, result = update(edit, lambda _: None)

    assert text == edited[0]
    assert "Changes: 0 written, 0 not written to keep your edits." in result.stderr


def test_tools_of_other_filters_stay_and_the_filters_are_remembered(tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    run(SHOP, "-o", manifest, "--read-only")
    again = run(SHOP, "-o", manifest)
    assert list(tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"]) == ["get_order", "check_raw"], (
        again.output
    )

    run(SHOP, "-o", manifest, "--tag", "files")

    assert list(tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"]) == [
        "get_order",
        "check_raw",
        "replace_upload",
    ]
    assert tools_of(manifest)


def test_a_foreign_manifest_is_not_overwritten_without_force(tmp_path: Path) -> None:
    manifest = tmp_path / "shop.toml"
    manifest.write_text("edition = 1\n", encoding="utf-8")

    refused = run(SHOP, "-o", manifest)

    assert refused.exit_code == 4
    assert manifest.read_text(encoding="utf-8") == "edition = 1\n"
    assert run(SHOP, "-o", manifest, "--force").exit_code == 0
    manifest.with_suffix(".openapi.json").write_text("{}", encoding="utf-8")
    damaged = run(SHOP, "-o", manifest)
    assert damaged.exit_code == 1
    assert "not the record of an import" in damaged.stderr


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("<p>Returns a list of <code>Charge</code> objects. They are sorted.</p>", "Returns a list of Charge objects"),
        ("Lists [issues](https://example.com/a) assigned to **you**.", "Lists issues assigned to you"),
        ("get an item, e.g. by its id. More text.", "Get an item, e.g. by its id"),
        (
            "Creates a deployment and, if the target is set, promotes it to production, which replaces the current one",
            "Creates a deployment and, if the target is set, promotes it to production",
        ),
        ("a" * 100, f"A{'a' * 78}…"),
        ("", ""),
    ],
)
def test_a_summary_is_the_first_sentence_or_its_first_clauses(text: str, summary: str) -> None:
    assert summary_from(text) == summary


@given(st.text(max_size=300))
def test_any_text_becomes_a_short_summary_and_a_description(text: str) -> None:
    assert len(summary_from(text)) <= 80
    assert "\n" not in summary_from(text)
    assert len(description_of(text * 10)) <= MAX_DESCRIPTION


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "#/paths", "object"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["$ref", "type", "a", ""]), inner, max_size=3)
    ),
    max_leaves=5,
)


def _replaced(value: Any, at: int, new: Any) -> tuple[Any, int]:
    """Return a JSON value with its part number `at` replaced, and the number of parts that are left to count."""
    if at == 0:
        return new, -1
    at -= 1
    if isinstance(value, dict | list):
        copy = dict(value) if isinstance(value, dict) else list(value)
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            if at >= 0:
                copy[key], at = _replaced(value[key], at, new)
        return copy, at
    return value, at


@given(st.sampled_from([SHOP, NOTES]), st.lists(st.tuples(st.integers(0, 400), JSON), min_size=1, max_size=3))
def test_no_damaged_document_ends_in_a_traceback(source: Path, changes: list[tuple[int, Any]]) -> None:
    document = yaml.safe_load(source.read_text(encoding="utf-8"))
    for at, value in changes:
        document, _ = _replaced(document, at, value)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "document.json")
        file.write_text(json.dumps(document), encoding="utf-8")

        result = run(file)

    assert result.exit_code in (0, 1), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


PARAMS = st.dictionaries(
    st.sampled_from("xyz"),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer"])}, optional={"enum": st.lists(st.integers(0, 2))}
    ),
    max_size=3,
)
TOOLS = st.dictionaries(
    st.sampled_from(["one", "two", "three"]),
    st.fixed_dictionaries(
        {"summary": st.sampled_from(["A", "B", "C"]), "params": PARAMS}, optional={"title": st.just("T")}
    ),
    min_size=1,
)


def _leaves(table: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(table, dict):
        return {at: table}
    return {path: value for key, inner in table.items() for path, value in _leaves(inner, (*at, key)).items()}


@given(TOOLS, TOOLS, TOOLS)
def test_any_merge_keeps_all_edits_and_takes_all_other_changes(base: Any, edited: Any, newer: Any) -> None:
    before, current, new = ({"edition": 1, "tools": tools} for tools in (base, edited, newer))
    merge = Merge()

    merged = merge.merge(before, current, new)

    old, mine, theirs, result = map(_leaves, (before, current, new, merged))
    for path in {**mine, **theirs, **result}:
        is_edited = old.get(path) != mine.get(path)
        if is_edited and path in mine:
            assert result[path] == mine[path]
        elif not is_edited and path in mine and path in theirs:
            assert result[path] == theirs[path]
    assert Merge().merge(before, before, new) == new
    assert tomllib.loads(merged_text(manifest_text(current, "Test"), merge, merged)) == merged


METADATA = [
    "http://169.254.169.254/latest",
    "http://169.254.1.2",
    "https://2852039166",
    "http://0xA9FEA9FE/",
    "http://0xa9.0xfe.0xa9.0xfe",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    "http://169.16689662:80/x",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]:8080/",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[64:ff9b::169.254.169.254]",
    "http://[2002:a9fe:a9fe::]",
    "http://[2001:0:4136:e378:8000:63bf:5601:5601]",
    "http://[::a9fe:a9fe]",
    "http://[::ffff:0:a9fe:a9fe]",
    "http://[64:ff9b:1::a9fe:a9fe]",
    "http://[64:ff9b:1:ffff:a9:fea9:fe00::]",
    "http://[64:ff9b:1:ffa9:fe:a9fe::]",
    "http://[64:ff9b:1:a9fe:a9:fe00::]",
    f"http://{'0' * 40}251.0376.0251.0376",
    f"http://0x{'0' * 5000}a9fea9fe",
    "http://7147006462",
    "http://169.254.4294967465.254",
    "http://[fd00:ec2::254]/latest",
    "http://100.100.100.200/latest/meta-data",
    "http://192.0.0.192",
    "http://168.63.129.16/machine",
    "http://169.254.169.254./latest",
    "https://metadata.google.internal/computeMetadata/v1",
    "https://METADATA.Google.Internal.",
    "http://metadata/",
    "http://instance-data/latest",
    "http://\uff11\uff16\uff19.\uff12\uff15\uff14.\uff11\uff16\uff19.\uff12\uff15\uff14/",
    "http://169\u3002254\u3002169\u3002254/",
    "http://\u2460\U0001d7d4\u2468\uff61254\uff0e169.254/",
    "http://%31%36%39.254.169.254",
    "http://169.254.16\u200b9.254/",
    "http://meta\u00addata.google.internal",
    "http://meta%C2%ADdata.google.internal..",
    "http://\u24c2eta\ufe0fdata\u2060.goog",
    "https://169.254.169.254.nip.io",
    "https://app-169-254-169-254.sslip.io",
    "https://a9fea9fe.nip.io/x",
    "//169.254.169.254/latest",
]
PRIVATE = {
    "https://10.0.0.5/api": "is a private address",
    "https://172.16.3.4": "is a private address",
    "https://192.168.1.1:8443": "is a private address",
    "https://100.64.0.1": "is a private address",
    "https://[fd12:3456::1]/": "is a private address",
    "https://[::ffff:10.0.0.1]": "is a private address",
    "https://[::ffff:0:10.0.0.1]": "is a private address",
    "https://[64:ff9b:1::a00:1]": "is a private address",
    "https://[fec0::1]": "is a private address",
    "https://[ff02::1]": "is a private address",
    f"http://{'0' * 40}12.1": "is a private address",
    "http://10.0.0.4294967301": "is an address on some systems only",
    "http://127.0.0.1:8080": "is a loopback address",
    "http://2130706433": "is a loopback address",
    "http://127.1": "is a loopback address",
    "http://[::1]:80": "is a loopback address",
    "http://0/": "is a loopback address",
    "http://localhost:3000": "is this machine",
    "https://tracker.localhost": "is this machine",
    "https://tracker": "is a name of a private network",
    "https://printer.local": "is a name of a private network",
    "https://api.corp.internal": "is a name of a private network",
    "https://10.0.0.5.nip.io": "contains a private address",
    "https://0a000005.sslip.io": "contains a private address",
}


def document_at(tmp_path: Path, url: str, **more: Any) -> Path:
    """Write a document with one server and a bearer token."""
    security = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    content = {
        "openapi": "3.1.0",
        "info": {"title": "Tracker", "version": "1"},
        "servers": [{"url": url}],
        "components": security,
        "security": [{"token": []}],
        "paths": {"/issues": {"get": {"operationId": "list_issues", "summary": "List the issues"}}},
        **more,
    }
    path = tmp_path / "document.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("url", METADATA)
def test_a_document_cannot_choose_a_link_local_or_metadata_address(tmp_path: Path, url: str) -> None:
    document, manifest = document_at(tmp_path, url), tmp_path / "tracker.toml"
    refused = run(document, "-o", manifest)

    assert refused.exit_code == 1
    assert (
        "is a link-local or metadata address, which no document may choose; set the URL of the API with --base-url"
        in (refused.stderr)
    )
    assert not manifest.exists()
    given = run(document, "-o", manifest, "--base-url", "https://tracker.example")
    assert given.exit_code == 0, given.stderr
    assert tomllib.loads(manifest.read_text("utf-8"))["apis"]["tracker"]["base_url"] == "https://tracker.example"


@pytest.mark.parametrize(
    "servers",
    [
        [{"url": "http://{host}/latest", "variables": {"host": {"default": "169.254.169.254"}}}],
        [{"url": "{scheme}://{host}", "variables": {"scheme": {"default": "http"}, "host": {"default": "metadata"}}}],
        [{"url": "http://169.254.{a}.{b}", "variables": {"a": {"default": "169"}, "b": {"default": 254}}}],
    ],
)
def test_a_server_variable_cannot_choose_a_metadata_address(tmp_path: Path, servers: list[Any]) -> None:
    refused = run(document_at(tmp_path, "", servers=servers), "-o", tmp_path / "tracker.toml")

    assert (refused.exit_code, "link-local or metadata address" in refused.stderr) == (1, True)


@pytest.mark.parametrize("level", ["path", "operation"])
def test_an_operation_with_a_metadata_address_of_its_own_is_left_out(tmp_path: Path, level: str) -> None:
    own = {"servers": [{"url": "http://169.254.169.254"}]}
    get = {"operationId": "list_keys", "summary": "List the keys"}
    item = {"get": get, **own} if level == "path" else {"get": {**get, **own}}
    issues = {"get": {"operationId": "list_issues", "summary": "List the issues"}}
    document = document_at(tmp_path, "https://tracker.example", paths={"/keys": item, "/issues": issues})
    manifest, report = tmp_path / "tracker.toml", tmp_path / "report.json"
    done = run(document, "-o", manifest, "--report", report, "--base-url", "https://own.example")

    assert done.exit_code == 0, done.stderr
    assert "169.254" not in manifest.read_text("utf-8")
    assert list(tools_of(manifest)) == ["list_issues"]
    [loss] = json.loads(report.read_text("utf-8"))["operations"]["GET /keys"]["losses"]
    assert (loss["kind"], "link-local or metadata address" in loss["detail"]) == ("left_out", True)


@pytest.mark.parametrize("url", PRIVATE)
def test_a_private_address_of_a_document_is_noted_in_the_manifest_and_the_report(tmp_path: Path, url: str) -> None:
    document, manifest, report = document_at(tmp_path, url), tmp_path / "tracker.toml", tmp_path / "report.json"
    done = run(document, "-o", manifest, "--report", report)
    notes = [note for note in json.loads(report.read_text("utf-8"))["notes"] if PRIVATE[url] in note]

    assert done.exit_code == 0, done.stderr
    assert len(notes) == 1
    assert notes[0] in done.stderr
    assert f"# {notes[0]}\n" in manifest.read_text("utf-8")
    given = run(document, "--base-url", url)
    assert PRIVATE[url] not in given.stderr + given.stdout


@pytest.mark.parametrize(
    ("url", "is_noted"),
    [
        ("http://tracker.example", True),
        ("http://10.0.0.5", True),
        ("http://tracker.example:8080/v1", True),
        ("http://localhost:8080", False),
        ("http://127.0.0.1", False),
        ("https://tracker.example", False),
    ],
)
def test_a_credential_without_encryption_is_noted(tmp_path: Path, url: str, is_noted: bool) -> None:
    without = document_at(tmp_path, url, security=[])
    assert "without encryption" not in run(without).stderr
    done = run(document_at(tmp_path, url))

    assert ("gets the credential without encryption" in done.stderr) is is_noted
    assert ("# `" in done.stdout and "without encryption" in done.stdout) is is_noted


def test_an_update_cannot_move_an_api_to_a_metadata_address(tmp_path: Path) -> None:
    manifest = tmp_path / "tracker.toml"
    assert run(document_at(tmp_path, "https://tracker.example"), "-o", manifest).exit_code == 0
    before = manifest.read_text("utf-8")
    refused = run(document_at(tmp_path, "http://169.254.169.254"), "-o", manifest)

    assert refused.exit_code == 1
    assert manifest.read_text("utf-8") == before


def body_of(
    tmp_path: Path,
    media: str,
    schema: dict[str, Any],
    *,
    required: bool,
    encoding: dict[str, Any] | None = None,
    others: Sequence[str] = (),
) -> tuple[dict[str, Any], Any]:
    """Import one operation with a body; return its parameters and the losses."""
    body = {"schema": {"type": "object", **schema}, **({"encoding": encoding} if encoding else {})}
    path, report = tmp_path / "up.json", tmp_path / "report.json"
    operation = {
        "operationId": "sendFile",
        "summary": "Send it",
        "requestBody": {"required": required, "content": dict.fromkeys([media, *others], body)},
        "responses": {"200": {"description": "OK"}},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Up", "version": "1"},
        "servers": [{"url": "https://up.example.com"}],
        "paths": {"/f": {"post": operation}},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    result = run(path, "-o", tmp_path / "manifest" / "up.toml", "--report", report)
    assert result.exit_code == 0, result.output
    manifest = tomllib.loads((tmp_path / "manifest" / "up.toml").read_text(encoding="utf-8"))
    losses = json.loads(report.read_text(encoding="utf-8"))["operations"]["POST /f"]["losses"]
    return manifest["tools"]["send_file"].get("params", {}), losses


@pytest.mark.parametrize("media", ["application/json", "multipart/form-data", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("required", [True, False])
def test_a_required_member_of_an_optional_body_is_reported(tmp_path: Path, media: str, required: bool) -> None:
    members = {"name": {"type": "string", "description": "The name"}, "note": {"type": "string"}}
    params, losses = body_of(tmp_path, media, {"properties": members, "required": ["name"]}, required=required)

    assert params["name"].get("required", True) is required
    assert losses == ([] if required else [{"kind": "required", "detail": "body.name"}])
    needed = "Required if another member of the body is set."
    assert (needed in params["name"]["description"]) is not required
    assert "description" not in params["note"]


FILES: dict[str, tuple[dict[str, Any], bool]] = {
    "OpenAPI 3.0": ({"type": "string", "format": "binary"}, True),
    "an image": ({"type": "string", "contentMediaType": "image/png"}, True),
    "an archive": ({"type": "string", "contentMediaType": "application/zip"}, True),
    "base64 of the API": ({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}, False),
    "text": ({"type": "string", "contentMediaType": "text/csv"}, False),
    "plain": ({"type": "string"}, False),
    "OpenAPI 3.1, an image": ({"contentMediaType": "image/png"}, True),
    "OpenAPI 3.1, anything": ({}, True),
    "OpenAPI 3.1, described": ({"description": "The photo"}, True),
    "OpenAPI 3.1, text": ({"contentMediaType": "text/plain"}, False),
}
ENCODINGS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "an image": ("image/png", {"type": "string"}, True),
    "one of two": ("image/png, image/jpeg", {"type": "string"}, True),
    "any video": ("video/*", {"type": "string"}, True),
    "any bytes": ("application/octet-stream", {"type": "string"}, True),
    "an archive": ("application/x-tar", {}, True),
    "several": ("image/png", {"type": "array", "items": {"type": "string"}}, True),
    "text": ("text/csv", {"type": "string"}, False),
    "JSON": ("application/json", {"type": "string"}, False),
    "base64": ("image/png", {"type": "string", "format": "byte"}, False),
    "a number": ("image/png", {"type": "integer"}, False),
}


@pytest.mark.parametrize(("schema", "is_file"), FILES.values(), ids=FILES)
def test_a_file_in_a_form_is_sent_by_its_path(tmp_path: Path, schema: dict[str, Any], is_file: bool) -> None:
    params, losses = body_of(tmp_path, "multipart/form-data", {"properties": {"file": schema}}, required=True)

    assert params["file"].get("file", False) is is_file
    assert ("Path of a file in the project" in params["file"].get("description", "")) is is_file
    assert params["file"].get("format") != "binary"
    assert losses == []


@pytest.mark.parametrize(("media", "schema", "is_file"), ENCODINGS.values(), ids=ENCODINGS)
def test_a_part_is_a_file_by_its_encoding(tmp_path: Path, media: str, schema: dict[str, Any], is_file: bool) -> None:
    encoding = {"file": {"contentType": media}}
    properties = {"properties": {"file": schema, "note": {"type": "string"}}}
    params, losses = body_of(tmp_path, "multipart/form-data", properties, required=True, encoding=encoding)

    assert params["file"].get("file", False) is is_file
    assert "file" not in params["note"]
    assert losses == []


LIST = {"type": "array", "items": {"type": "string"}}
MEMBERS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "a list": ("x-www-form-urlencoded", LIST, {}, ""),
    "joined by commas": ("x-www-form-urlencoded", LIST, {"explode": False}, "comma"),
    "joined by spaces": ("x-www-form-urlencoded", LIST, {"style": "spaceDelimited"}, "space"),
    "joined by pipes": ("x-www-form-urlencoded", LIST, {"style": "pipeDelimited", "explode": False}, "pipe"),
    "an object": ("x-www-form-urlencoded", {"type": "object"}, {"style": "deepObject"}, "deepObject"),
    "an object as JSON": ("x-www-form-urlencoded", {"type": "object"}, {"contentType": "application/json"}, "json"),
    "a list as JSON": ("x-www-form-urlencoded", LIST, {"contentType": "application/vnd.a+json"}, "json"),
    "a part as JSON": ("form-data", LIST, {"contentType": "application/json"}, "json"),
    "parts": ("form-data", LIST, {}, ""),
    "a text": ("x-www-form-urlencoded", {"type": "string"}, {"contentType": "application/json"}, ""),
}


@pytest.mark.parametrize(("kind", "schema", "encoding", "style"), MEMBERS.values(), ids=MEMBERS)
def test_a_member_of_a_form_has_its_encoding(
    tmp_path: Path, kind: str, schema: dict[str, Any], encoding: dict[str, Any], style: str
) -> None:
    media = f"{'multipart' if kind == 'form-data' else 'application'}/{kind}"
    params, losses = body_of(tmp_path, media, {"properties": {"m": schema}}, required=True, encoding={"m": encoding})

    assert params["m"].get("style", "") == style
    assert losses == []
    assert tools_of(tmp_path / "manifest" / "up.toml")


@pytest.mark.parametrize("media", ["multipart/related", "multipart/mixed", "multipart/byteranges"])
def test_an_operation_with_a_body_of_parts_that_is_not_a_form_is_left_out(tmp_path: Path, media: str) -> None:
    def post(*types: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        return {"post": {"requestBody": {"content": {name: {"schema": schema} for name in types}}}}

    path, report = tmp_path / "up.json", tmp_path / "report.json"
    paths = {"/a": post(media), "/b": post(media, "application/json"), "/c": post("multipart/*")}
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "Up"}, "paths": paths}), encoding="utf-8")

    result = run(path, "--report", report)

    tools = {tool["http"]: tool.get("body", "json") for tool in tomllib.loads(result.stdout)["tools"].values()}
    assert tools == {"POST /b": "json", "POST /c": "multipart"}
    operations = json.loads(report.read_text(encoding="utf-8"))["operations"]
    assert operations["POST /a"]["losses"] == [
        {"kind": "left_out", "detail": f"the body is {media}, whose parts tools do not send"}
    ]
    assert operations["POST /b"]["losses"] == [{"kind": "media", "detail": f"{media}; the tool sends application/json"}]


CHOICES: dict[str, tuple[list[str], dict[str, Any] | None, str]] = {
    "images": (["image/png", "image/jpeg"], {"enum": ["image/png", "image/jpeg"], "required": False}, ""),
    "any bytes or an archive": (["application/zip", "application/octet-stream"], {"required": False}, ""),
    "texts": (["text/plain", "text/markdown"], {"enum": ["text/plain", "text/markdown"], "default": "text/plain"}, ""),
    "XML or a form": (
        ["application/xml", "multipart/form-data"],
        None,
        "application/xml; the tool sends multipart/form-data",
    ),
    "a text or a file": (
        ["text/csv", "image/png"],
        {"enum": ["text/csv"], "default": "text/csv"},
        "image/png; the tool sends text/csv",
    ),
}


@pytest.mark.parametrize(("media", "choice", "lost"), CHOICES.values(), ids=CHOICES)
def test_a_body_with_several_media_types_is_chosen(tmp_path: Path, media: list[str], choice: Any, lost: str) -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    params, losses = body_of(tmp_path, media[0], schema, required=True, others=media[1:])

    entry = params.get("content_type")
    assert (
        None if entry is None else {key: entry[key] for key in ("enum", "default", "required") if key in entry}
    ) == choice
    assert [item["detail"] for item in losses if item["kind"] == "media"] == [lost] * bool(lost)
    assert tools_of(tmp_path / "manifest" / "up.toml")


def test_several_files_are_sent_by_their_paths(tmp_path: Path) -> None:
    files = {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1}
    params, losses = body_of(tmp_path, "multipart/form-data", {"properties": {"files": files}}, required=True)

    assert params["files"] == {
        "type": "string[]",
        "description": "Paths of files in the project",
        "required": False,
        "min_items": 1,
        "file": True,
    }
    assert losses == []


CONTENTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "an archive": ("application/zip", {"type": "string", "format": "binary"}, {"file": "application/zip"}),
    "any bytes": ("application/octet-stream", {}, {"file": "application/octet-stream"}),
    "any image": ("image/*", {}, {"file": ""}),
    "anything, but bytes": ("*/*", {"type": "string", "format": "binary"}, {"file": ""}),
    "a spreadsheet": (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        {"type": "string", "format": "binary"},
        {"file": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    ),
    "text": ("text/plain", {"type": "string"}, {"body": ""}),
    "Markdown": ("text/markdown; charset=utf-8", {"type": "string"}, {"body": "text/markdown"}),
    "XML": ("application/xml", {"type": "object", "properties": {"a": {}}}, {"body": "application/xml"}),
    "SOAP": ("application/soap+xml", {}, {"body": "application/soap+xml"}),
    "lines of JSON": ("application/x-ndjson", {}, {"body": "application/x-ndjson"}),
}


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(("media", "schema", "expected"), CONTENTS.values(), ids=CONTENTS)
def test_a_body_other_than_json_is_one_file_or_one_text(
    tmp_path: Path, media: str, schema: dict[str, Any], expected: dict[str, Any], required: bool
) -> None:
    params, losses = body_of(tmp_path, media, schema, required=required)

    ((name, content_type),) = expected.items()
    assert params[name]["body"] == "."
    assert params[name].get("file", False) is (name == "file")
    assert params[name].get("required", True) is required
    assert params.get("content_type", {}).get("default", "") == content_type
    assert losses == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("[GB, NO]", ["GB", "NO"]),
        ("[yes, no, on, off, y, n]", ["yes", "no", "on", "off", "y", "n"]),
        ("[1.10, 1.1]", ["1.10", "1.1"]),
        ("[010, 0o10, 0x1F, 1_000]", ["010", "0o10", "0x1F", "1_000"]),
        ("[12:30:45, 1:30]", ["12:30:45", "1:30"]),
        ("[2020-01-01, true, 1e3]", ["2020-01-01", "true", "1e3"]),
        ("[null, ~, Null, none]", ["null", "~", "Null", "none"]),
        ("[190:20:30, 0b1, .5, +1, .inf, -.INF, .NaN]", ["190:20:30", "0b1", ".5", "+1", ".inf", "-.INF", ".NaN"]),
        ("[2001-12-14t21:59:43.10-05:00, 0777, 1e-3, TRUE]", ["2001-12-14t21:59:43.10-05:00", "0777", "1e-3", "TRUE"]),
        ("[=, <<, 1., 1__0, 0x_1]", ["=", "<<", "1.", "1__0", "0x_1"]),
    ],
)
def test_yaml_values_of_strings_are_as_they_are_spelled(tmp_path: Path, values: str, expected: list[str]) -> None:
    path = tmp_path / "document.yaml"
    path.write_text(
        "openapi: 3.1.0\ninfo: {title: A, version: '1'}\nservers: [{url: https://api.example.com}]\npaths:\n"
        "  /a:\n    get:\n      operationId: list_a\n      parameters:\n"
        f"      - {{name: on, in: query, schema: {{type: string, enum: {values}}}}}\n"
        f"      - {{name: size, in: query, schema: {{type: integer, enum: [010, 0o10], default: 10}}}}\n"
        "      responses: {'200': {description: Fine}}\n",
        encoding="utf-8",
    )

    result = run(path, "--output", tmp_path / "api.toml")

    assert result.exit_code == 0, result.stderr
    parameters = tomllib.loads((tmp_path / "api.toml").read_text(encoding="utf-8"))["tools"]["list_a"]["params"]
    assert parameters["on"]["enum"] == expected
    assert parameters["size"]["enum"] == [10, 8]


def _one_operation(path: Path, operation: dict[str, Any]) -> Path:
    document = {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"post": operation}}}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "part",
    [
        {"parameters": [{"name": "a", "in": "query", "schema": {"type": "string"}}]},
        {"parameters": [{"name": "a", "in": "header", "schema": {"type": "string"}}]},
        {"requestBody": ANY_BODY},
        {"requestBody": {"content": {"multipart/form-data": {"schema": {"properties": {"a": {}}}}}}},
        {"requestBody": {"$ref": "#/paths/~1a/post/x-body"}, "x-body": ANY_BODY},
    ],
    ids=["query", "header", "body", "form", "reference"],
)
def test_a_tool_without_the_parts_of_its_operation_is_an_error_of_the_importer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]
) -> None:
    document = _one_operation(tmp_path / "a.json", {"operationId": "add_a", **part})
    complete = run(document)
    monkeypatch.setattr(ToolBuilder, "_add_parameter", lambda *_: None)
    monkeypatch.setattr(ToolBuilder, "_add_body", lambda *_: None)

    result = run(document)

    assert complete.exit_code == 0, complete.output
    assert result.exit_code == 1
    assert "the tool `add_a` has no parameters, but POST /a declares" in result.stderr
    assert f"{document}:1:" in result.stderr


@pytest.mark.parametrize(
    ("operation", "loss"),
    [
        (
            {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}}},
            "the body, ",
        ),
        (
            {
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"properties": {"id": {"type": "string", "readOnly": True}}}}
                    }
                }
            },
            "the body, which has only members that the API sets",
        ),
        ({"parameters": [{"name": "a b", "in": "cookie"}]}, "a b"),
        ({"parameters": ["a"]}, ", in the None"),
        ({"parameters": [{"name": "Host", "in": "header"}]}, "Host"),
    ],
    ids=["form", "read-only", "cookie", "text", "host"],
)
def test_a_tool_without_parameters_has_a_loss(tmp_path: Path, operation: dict[str, Any], loss: str) -> None:
    document = _one_operation(tmp_path / "a.json", {"operationId": "add_a", **operation})

    result = run(document, "--report", tmp_path / "report.json")

    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["operations"]["POST /a"]
    assert any(item["detail"].startswith(loss) for item in report["losses"])


@pytest.mark.parametrize(
    "body",
    [
        [],
        "a",
        True,
        {"content": []},
        {"content": "a"},
        {"$ref": "#/components/requestBodies/None"},
        {"$ref": 7},
    ],
    ids=str,
)
def test_a_body_that_is_no_object_leaves_only_its_operation_out(tmp_path: Path, body: Any) -> None:
    paths = {"/a": {"post": {"requestBody": body}}, "/b": {"get": {}}}
    document = tmp_path / "a.json"
    document.write_text(json.dumps({"openapi": "3.1.0", "paths": paths}), encoding="utf-8")

    result = run(document, "--skip-unresolved")

    assert result.exit_code == 0, result.output
    assert "1 of 2 selected operations imported" in result.stderr
    assert "POST /a" in result.stderr


def test_hidden_characters_of_a_title_are_visible_in_the_comment(tmp_path: Path) -> None:
    document = tmp_path / "a.json"
    info = {"title": "Shop \u202e\u2066\ufeff", "version": "1\u200b"}
    document.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": {"/b": {"get": {}}}}), encoding="utf-8")

    first = run(document).stdout.splitlines()[0]

    assert first == r"# Imported from Shop \u202e\u2066\ufeff 1\u200b."


@pytest.mark.parametrize(
    ("url", "is_noted"),
    [
        ("https://user:secret-word@api.example.com/v1", True),
        ("https://api.example.com/v1?key=secret-word", True),
        ("https://api.example.com/$HOME", True),
        ("ftp://api.example.com", True),
        ("https://api.example.com/v1", False),
        ("/v1", False),
    ],
)
def test_a_server_that_no_document_may_choose_is_noted(tmp_path: Path, url: str, is_noted: bool) -> None:
    document = tmp_path / "a.json"
    content = {"openapi": "3.1.0", "servers": [{"url": url}], "paths": {"/b": {"get": {}}}}
    document.write_text(json.dumps(content), encoding="utf-8")

    result = run(document, "--name", "shop")

    assert ("a server of the document is not used" in result.stderr) == is_noted
    assert ("set SHOP_URL" in result.stderr) == is_noted
    assert "secret-word" not in result.output


@pytest.mark.parametrize("parameters", [{"a": {"in": "query"}}, "a", 7, True])
def test_an_operation_whose_parameters_are_not_a_list_is_left_out(tmp_path: Path, parameters: Any) -> None:
    result = run(_one_operation(tmp_path / "a.json", {"operationId": "add_a", "parameters": parameters}))

    assert result.exit_code == 1
    assert "its parameters are not a list" in result.stderr


SPELLED: dict[str, tuple[str, str, Any]] = {
    "null of a nullable string": ("{type: string, nullable: true, enum: [null, 1.0]}", "enum", ["1.0"]),
    "a list of types": ('{type: [string, "null"], enum: [1.10, null, NO]}', "enum", ["1.10", "NO"]),
    "a constant": ("{type: string, const: 1.10}", "enum", ["1.10"]),
    "a default": ("{type: string, default: 1.10}", "description", "Default: `1.10`"),
    "no default": ("{type: string, default: null}", "description", None),
    "a default list": (
        "{type: array, items: {type: string}, default: [1.10, on]}",
        "description",
        'Default: ["1.10", "on"]',
    ),
    "a pattern": ("{type: string, pattern: 1.0}", "pattern", "1.0"),
    "integers": ("{type: integer, enum: [010, 1]}", "enum", [10, 1]),
}


@pytest.mark.parametrize(("schema", "key", "expected"), SPELLED.values(), ids=SPELLED)
def test_a_value_of_a_string_is_its_text(tmp_path: Path, schema: str, key: str, expected: Any) -> None:
    path = tmp_path / "document.yaml"
    path.write_text(
        "openapi: 3.1\nservers: [{url: 'https://a.example/{v}', variables: {v: {default: 1.10}}}]\n"
        "info: {title: 2024, version: 1.10}\n"
        "paths: {/a: {post: {operationId: 1e3, summary: 1.0, tags: [on], parameters: [\n"
        f"{{name: 1.10, in: query, schema: {schema}}}], requestBody: {{content: {{application/json: {{schema:\n"
        "{required: [1.20, ~], properties: {1.20: {type: string}, ~: {type: string}, "
        "name: {type: boolean, default: true}, default: {type: string, enum: [1.30]}}}}}}}}}\n",
        encoding="utf-8",
    )

    result = run(path, "--name", "shop")

    assert result.exit_code == 0, result.stderr
    manifest = tomllib.loads(result.stdout)
    (tool,) = manifest["tools"].values()
    by_wire = {
        parameter.get("query", parameter.get("body", name)): parameter for name, parameter in tool["params"].items()
    }
    assert by_wire["1.10"].get(key) == expected
    assert by_wire.keys() == {"1.10", "1.20", "~", "name", "default"}
    assert by_wire["default"]["enum"] == ["1.30"]
    assert tool["summary"] == "1.0"
    assert manifest["apis"]["shop"]["base_url"] == "https://a.example/1.10"
    assert "Imported from 2024 1.10." in result.stdout
    assert list(manifest["categories"]) == ["on"]
