"""`toolmason import graphql`: the manifest, and its tools against a server that executes the schema."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from graphql import build_schema, graphql_sync, introspection_from_schema, parse, validate
from mcp import Client
from mcp.types import ElicitResult, TextContent
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.commands import toolmason

FIXTURES = Path(__file__).parent / "fixtures"
LIBRARY = FIXTURES / "library.graphql"
SCHEMA = build_schema(LIBRARY.read_text(encoding="utf-8"))
BOOK = {"isbn": "1", "title": "Emma", "year": 1815, "extra": {"a": [1]}, "author": {"id": "9", "name": "Jane Austen"}}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "graphql", *map(str, arguments)])


def tools(*arguments: str | Path) -> dict[str, Any]:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = tomllib.loads(result.stdout)["tools"]
    return found


def test_a_schema_gives_its_committed_manifest(
    monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.chdir(FIXTURES)

    result = run(LIBRARY.name, "--endpoint", "https://library.example/api/graphql", "--query", "*", "--mutation", "*")

    assert result.exit_code == 0, result.output
    file_regression.check(result.stdout, encoding="utf-8", extension=".toml", newline="")


def test_each_document_is_valid_for_the_schema() -> None:
    for tool in tools(LIBRARY, "--query", "*", "--mutation", "*").values():
        assert validate(SCHEMA, parse(tool["graphql"])) == [], tool["graphql"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            [],
            ["get_book", "list_books", "find_readers", "get_named", "search_query", "get_version", "get_old"],
        ),
        (["--query", "book*"], ["get_book", "list_books"]),
        (["--mutation", "lend*"], ["lend_book"]),
        (["--query", "version", "--mutation", "*"], ["get_version", "lend_book", "remove_reader"]),
    ],
)
def test_queries_and_mutations_are_chosen(options: list[str], expected: list[str]) -> None:
    assert sorted(tools(LIBRARY, *options)) == sorted(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--query", "boks"], "--query `boks` matches nothing in the document; did you mean `books`?"),
        (["--query", "*", "--mutation", "x"], "--mutation `x` matches nothing in the document; available: lendBook"),
    ],
)
def test_a_glob_that_matches_nothing_is_reported_with_its_option(options: list[str], message: str) -> None:
    result = run(LIBRARY, *options)

    assert result.exit_code == 1
    assert message in result.stderr


def test_an_introspection_answer_gives_the_same_tools(tmp_path: Path) -> None:
    answer = tmp_path / "library.json"
    answer.write_text(json.dumps({"data": introspection_from_schema(SCHEMA)}), encoding="utf-8")

    assert tools(answer, "--query", "*", "--mutation", "*") == tools(LIBRARY, "--query", "*", "--mutation", "*")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.graphql", "type Query {", "a.graphql:1:13: not a GraphQL schema: Syntax Error"),
        (
            "a.graphql",
            "type Query { a: Missing }",
            "a.graphql: not a GraphQL schema: Query fields cannot be resolved. Unknown type: 'Missing'",
        ),
        ("a.graphql", "type Book { id: ID }", "the schema has neither queries nor mutations"),
        ("a.graphql", "", "a.graphql"),
        ("a.json", "{}", "the JSON has no `__schema`: save the answer to an introspection query"),
        ("a.json", '{"__schema": 7}', "a.json: not a GraphQL schema"),
        ("a.json", '{"data": {"__schema": {"types": [7]}}}', "a.json: not a GraphQL schema"),
        ("a.json", "{", "a.json: not a GraphQL schema"),
        (
            "a.graphql",
            "type Query { a: Int } " + "input A { a: " + "[" * 9_000 + "Int" + "]" * 9_000 + "}",
            "a.graphql",
        ),
    ],
)
def test_a_document_without_a_graphql_schema_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")

    result = run(tmp_path / name)

    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "endpoint", ["library.example/graphql", "https://a:b@c.example/", "https://a.example/?q=1", "$1"]
)
def test_an_endpoint_is_a_url_without_user_and_query(endpoint: str) -> None:
    result = run(LIBRARY, "--endpoint", endpoint)

    assert result.exit_code == 2
    assert "--endpoint" in result.stderr


ODD: dict[str, str] = {
    "a chain of input objects": "type Query { a(b: A0): Int } "
    + " ".join(f"input A{number} {{ a: A{number + 1} }}" for number in range(3_000))
    + " input A3000 { a: Int }",
    "names of Apollo Federation": "type Query { _service: S _entities(r: [X!]!): [E]! } type S { sdl: String } "
    "scalar X union E = S",
    "names of underscores": "type Query { _: Int __a: Int q__x: Int }",
    "a list of lists": "type Query { a(b: [[Int!]]!): [[S]] } type S { c: [[Int]] }",
    "an object without plain values": "type Query { a: A } type A { b(c: Int!): Int }",
    "another name of the root": "schema { query: Root } type Root { a: Int }",
    "names of Python": "type Query { class(def: Int, self: Int, params: Int): Int }",
    "a text with quotation marks": 'type Query { "a \\"b\\" ${c} {d}" a: Int }',
}


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("search_search: Int", "search_query"),
        ("listListItems: Int", "list_items"),
        ("getGetUser: Int", "get_user"),
        ("findBook: Int", "find_book"),
        ("orders_order: Int", "get_order"),
    ],
)
def test_a_name_has_no_word_twice(tmp_path: Path, field: str, name: str) -> None:
    source = tmp_path / "a.graphql"
    source.write_text(f"type Query {{ {field} }}", encoding="utf-8")

    assert list(tools(source)) == [name]


def test_what_tools_cannot_send_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "a.graphql"
    mutations = "add(file: Upload!): Int addAll(files: [Upload!]!): Int rename(name: String!, icon: Upload): Int"
    source.write_text(
        f"scalar Upload type Query {{ a: Int }} type Mutation {{ {mutations} }} type Subscription {{ b: Int c: Int }}",
        encoding="utf-8",
    )

    result = run(source, "--query", "*", "--mutation", "*")

    assert list(tomllib.loads(result.stdout)["tools"]) == ["get_a", "rename"]
    assert "operations left out (2): POST /mutation/add, POST /mutation/addAll" in result.stderr
    assert "subscriptions, which tools cannot receive (2): b, c" in result.stderr


@pytest.mark.parametrize("schema", ODD.values(), ids=ODD)
def test_an_odd_schema_is_imported_and_generated(tmp_path: Path, schema: str) -> None:
    source, manifest = tmp_path / "odd.graphql", tmp_path / "manifest" / "odd.toml"
    source.write_text(schema, encoding="utf-8")

    result = run(source, "--endpoint", "https://odd.example/graphql", "-o", manifest)

    assert result.exit_code == 0, result.output
    done = subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=tmp_path, check=False, timeout=120)
    assert done.returncode == 0


def test_an_update_keeps_choices_and_edits(tmp_path: Path) -> None:
    schema, manifest = tmp_path / "library.graphql", tmp_path / "library.toml"
    text = LIBRARY.read_text(encoding="utf-8")
    schema.write_text(text, encoding="utf-8")
    endpoint = ("--endpoint", "https://library.example/api")
    assert run(schema, *endpoint, "--query", "book*", "--mutation", "lend*", "-o", manifest).exit_code == 0
    edited = manifest.read_text(encoding="utf-8").replace("[tools.lend_book]", "[tools.lend]  # shorter")
    manifest.write_text(edited, encoding="utf-8")
    schema.write_text(text.replace("Lend a book to a reader", "Lend a book for a month"), encoding="utf-8")

    result = run("--update", "-o", manifest)

    assert result.exit_code == 0, result.output
    after = tomllib.loads(manifest.read_text(encoding="utf-8"))
    assert list(after["tools"]) == ["get_book", "list_books", "lend"]
    assert after["tools"]["lend"]["summary"] == "Lend a book for a month"
    assert after["tools"]["lend"]["http"] == "POST /api"
    assert "# shorter" in manifest.read_text(encoding="utf-8")


class Library(ThreadingHTTPServer):
    """Executes each request against the schema."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Library

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(request)
        result = graphql_sync(SCHEMA, request["query"], Root(), variable_values=request["variables"])
        body = json.dumps(result.formatted).encode()
        self.send_response(200)
        self.send_header("content-type", "application/graphql-response+json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


def lost_author(_: Any) -> Any:
    """Resolve a field."""
    raise ValueError("the author is lost")


class Root:
    """The values of the fields of `Query` and `Mutation`."""

    def book(self, _: Any, isbn: str, edition: int) -> Any:
        if isbn == "broken":
            raise ValueError("the shelf is broken")
        if isbn == "partial":
            return {**BOOK, "author": lost_author}
        return {**BOOK, "year": edition} if isbn == "1" else None

    def books(self, _: Any, **_arguments: Any) -> Any:
        page = {"hasNextPage": True, "endCursor": "c"}
        return {"edges": [{"node": BOOK}], "pageInfo": page, "totalCount": 7}

    def search(self, _: Any, text: str) -> Any:
        return [{"__typename": "Shop", "id": text, "website": "https://shop.example"}]

    version = "3"

    def lendBook(self, _: Any, **_arguments: Any) -> Any:  # noqa: N802  the name in the schema
        return {"loan": {"id": "5", "book": BOOK}, "problems": []}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated server, whose API is at `$LIBRARY_URL`."""
    directory = tmp_path_factory.mktemp("library")
    options = ("--query", "*", "--mutation", "*", "-o", directory / "manifest" / "library.toml")
    result = run(LIBRARY, "--endpoint", "$LIBRARY_URL", *options)
    assert result.exit_code == 0, result.output
    manifest = directory / "manifest" / "library.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("[discovery]", '[discovery]\nstyle = "classic"'), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=directory, check=True, timeout=120)
    return directory


@pytest.fixture
def library(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    forget_server()
    monkeypatch.syspath_prepend(str(project / "generated"))
    with Library() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("LIBRARY_URL", f"http://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()
        thread.join()
    forget_server()


def forget_server() -> None:
    """Forget the imported server; other tests have a package of this name, too."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "library_server"]:
        del sys.modules[name]


async def call(tool: str, arguments: dict[str, Any]) -> tuple[Any, bool, list[str]]:
    """Return the structured answer, else the text; whether it is an error; and the questions to the user."""
    questions: list[str] = []

    async def accept(_: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={})

    callback: Any = accept
    build = importlib.import_module("library_server.server").build_server
    async with Client(build(), elicitation_callback=callback) as client:
        result = await client.call_tool(tool, arguments)
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    return result.structured_content or text, bool(result.is_error), questions


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "variables", "expected"),
    [
        (
            "get_book",
            {"isbn": "1", "edition": 2},
            {"isbn": "1", "edition": 2},
            {"isbn": "1", "title": "Emma", "year": 2, "author": {"id": "9", "name": "Jane Austen"}},
        ),
        (
            "list_books",
            {"filter": {"title": "E", "shelf": {"room": "A", "number": 1}}, "sort": ["YEAR"]},
            {"filter": {"title": "E", "shelf": {"room": "A", "number": 1}}, "sort": ["YEAR"]},
            {"totalCount": 7, "pageInfo": {"hasNextPage": True, "endCursor": "c"}},
        ),
        ("get_version", {}, {}, "3"),
    ],
)
async def test_the_arguments_are_the_variables_and_the_field_is_the_answer(
    library: Library, tool: str, arguments: dict[str, Any], variables: dict[str, Any], expected: Any
) -> None:
    answer, is_error, questions = await call(tool, arguments)

    assert not is_error, answer
    assert library.seen[0]["variables"] == variables
    assert questions == []
    if isinstance(expected, str):
        assert expected in answer
    else:
        assert answer.items() >= expected.items()


@pytest.mark.anyio
async def test_a_mutation_asks_the_user(library: Library) -> None:
    answer, is_error, questions = await call("lend_book", {"input": {"isbn": "1", "readerId": "4"}})

    assert not is_error, answer
    assert answer["loan"]["id"] == "5"
    assert library.seen[0]["variables"] == {"input": {"isbn": "1", "readerId": "4"}}
    assert len(questions) == 1


@pytest.mark.anyio
async def test_errors_of_an_answer_with_status_200_are_errors_of_the_tool(library: Library) -> None:
    answer, is_error, _ = await call("get_book", {"isbn": "broken"})

    assert is_error
    assert "the shelf is broken" in answer
    assert library.seen


@pytest.mark.anyio
@pytest.mark.usefixtures("library")
async def test_errors_beside_a_value_are_a_note() -> None:
    build = importlib.import_module("library_server.server").build_server
    async with Client(build()) as client:
        result = await client.call_tool("get_book", {"isbn": "partial"})

    assert not result.is_error
    assert result.structured_content["title"] == "Emma"
    answer, note = [block.text for block in result.content if isinstance(block, TextContent)]
    assert json.loads(answer)["title"] == "Emma"
    assert note.endswith("null may stand for a part that failed: author: the author is lost]")
