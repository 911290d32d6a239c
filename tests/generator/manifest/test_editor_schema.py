import json
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft7Validator
from toolmason_runtime.shared.styles import CLASSIC, STYLES, StyleFacts
from toolmason_runtime.shared.toml.tables import keys_of

from toolmason.manifest import tables
from toolmason.manifest.editor_schema import manifest_schema

ROOT = Path(__file__).parents[3]
MANIFESTS = [
    ROOT / "manifest" / "workbench.toml",
    *(each.parent / "manifest.toml" for each in sorted((ROOT / "tests" / "golden").glob("*/expected"))),
    *sorted((ROOT / "tests" / "golden").glob("*-become-one-manifest/tools/*.toml")),
]

GOOD = """
edition = 1
[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"
options.roots = { description = "Where to look", many = true }
[discovery]
style = "classic"
[categories.books]
summary = "Find and lend books"
[types.Book]
fields.title = { type = "string", max_length = 80, minimum = 1.5, default = { any = [1, "thing"] } }
[tools.search]
summary = "Search the catalog"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "catalog:search"
params.query = { type = "string", required = false, enum = ["a", 1] }
ext.anything = [1]
deprecated = { since = "2" }
[[tools.search.examples]]
description = "One book"
arguments = { query = "Dune" }
[[tools.search.allow]]
rule = "TM501"
reason = "it is meant so"
[clis.git-2]
command = ["git"]
category = "books"
env = { A = "1" }
params.color = { default = "never", flag = "--color=" }
[tools.log]
summary = "Show commits"
cli = "git-2"
risk = "read"
timeout = 1.5
params.path = { type = "string[]", positional = true }
[tools.ask]
summary = "Ask"
cli = "git-2"
category = "books"
risk.method = { GET = "read" }
params.method = { type = "string", flag = "-X" }
[prompts.show]
summary = "Show a book"
text = "Show {name}."
arguments.name = { suggestions = ["Dune"] }
[resources.page]
uri = "books://{page}"
summary = "One page"
mime_type = "text/plain"
handler = "catalog:page"
[commands.find]
summary = "Find a book"
prompt = "Find {arguments}"
[workflows.lend]
summary = "Lend a book"
steps = [{ title = "Search", tool = "search", text = "Search it" }]
"""


def mistakes(text: str) -> list[str]:
    return [error.message for error in Draft7Validator(manifest_schema()).iter_errors(tomllib.loads(text))]


def objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "the manifest", schema
    yield from schema["definitions"].items()


def test_the_schema_is_a_draft_07_schema() -> None:
    schema = manifest_schema()

    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(schema)


def test_the_schema_is_the_same_each_time_and_plain_json() -> None:
    assert json.dumps(manifest_schema()) == json.dumps(manifest_schema())


def test_a_good_manifest_is_accepted() -> None:
    assert mistakes(GOOD) == []


def test_an_included_file_needs_no_server_and_the_main_file_does() -> None:
    tools = GOOD[GOOD.index("[categories.books]") :]

    assert mistakes(tools) == []
    assert mistakes(f"edition = 1\n{tools}") == ["'server' is a required property"]
    assert "'edition' is a required property" in mistakes(GOOD.replace("edition = 1", ""))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[tools.search]", "[tools.search]\nsumary = 'x'", "'sumary' was unexpected"),
        ("[tools.search]", "[tools.search]\nat = []", "'at' was unexpected"),
        ("edition = 1", "edition = 2", "1 was expected"),
        ("edition = 1", "edition = 1\nnews = 1", "'news' was unexpected"),
        ('category = "books"', "", "'category' is a required property"),
        ("open_world = false", "open_world = 0", "is not of type 'boolean'"),
        ('"classic"', '"clasic"', "'clasic' is not one of"),
        ('name = "catalog"', 'name = "our_catalog"', "does not match"),
        ('"Find and lend books"', f'"{"x" * 81}"', "is too long"),
        ('"Find and lend books"', '""', "should be non-empty"),
        ("max_length = 80", "max_length = -1", "less than the minimum"),
        ("many = true", "many = 'true'", "is not of type 'boolean'"),
        ("minimum = 1.5", "minimum = '1'", "is not of type 'number'"),
    ],
)
def test_a_mistake_is_refused(old: str, new: str, told: str) -> None:
    assert old in GOOD

    (message,) = mistakes(GOOD.replace(old, new))

    assert told in message


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[tools.search]\n", "[tools.2search]\n"),
        ("[tools.search]\n", "[tools.-search]\n"),
        ("[tools.search]\n", '[tools."search it"]\n'),
        ("[categories.books]", "[categories.Books]"),
        ("[categories.books]", "[categories.books-two]"),
        ("[types.Book]", "[types.book]"),
        ("[types.Book]", "[types.Book_Two]"),
        ("[types.Book]", '[types.Color]\nenum = ["red"]\nfields.a = { type = "string" }\n[types.Book]'),
        ("[types.Book]", "[types.Nothing]\n[types.Book]"),
        ("[types.Book]", '[types.Item]\none_of = ["Book", "Map"]\n[types.Book]'),
        ("[types.Book]", '[params."the page"]\ntype = "integer"\n[types.Book]'),
        ("[types.Book]", '[params.page]\ndescription = "Page"\n[types.Book]'),
        ("[clis.git-2]", '[clis.git-2]\ndefaults.risk = "reads"'),
        ("[server]", "[servers]"),
        ("fields.title", "fields.2title"),
        ("params.query", 'params."the query"'),
        ("params.query", f"params.{'q' * 65}"),
        ("[commands.find]", "[commands.Find]"),
        ("[prompts.show]", '[prompts."show it"]'),
        ('text = "Show {name}."', ""),
        ('text = "Show {name}."', 'text = "Show."\nhandler = "catalog:show"'),
        ('text = "Show {name}."', "messages = [{ role = 'user' }]"),
        ('["Dune"] }', '["Dune"], complete = "catalog:names" }'),
        ('handler = "catalog:page"', 'file = "page.txt"'),
        ('"text/plain"', '"text"'),
        ("[commands.find]", '[commands."../find"]'),
        ("[workflows.lend]", "[workflows.lend_it]"),
        ("options.roots", "options.Roots"),
        ("options.roots", "options.2roots"),
        ("options.roots", 'options."roots\\n"'),
        ('{ type = "string", required', '{ type = "list of string", required'),
        ('{ type = "string", required', '{ type = "map<string", required'),
        ('{ type = "string", required', '{ type = "string>", required'),
        ('{ type = "string", required', '{ type = "[]", required'),
        ('{ type = "string", required', '{ type = "", required'),
        ("params.query", "input_schema = 1\nparams.query"),
        ("params.query", "input_schema = ['a.json']\nparams.query"),
        ("params.query", "input_schema = 'a.json'\nparams.query"),
        ('handler = "catalog:search"\n', ""),
        ('handler = "catalog:search"', 'handler = ""'),
        ('handler = "catalog:search"', 'handler = "catalog:search\\n"'),
        ('name = "catalog"', 'name = "catalog\\n"'),
        ('enum = ["a", 1]', "enum = []"),
        ('handler = "catalog:search"', 'handler = "catalog:search"\ncli = "git"'),
        ('handler = "catalog:search"', 'handler = "catalog:search"\nrisk = "read"'),
        ('handler = "catalog:search"', 'handler = "catalog:search"\ntimeout = 1'),
        ('enum = ["a", 1] }', 'flag = "--query" }'),
        ('risk = "read"', 'risk = "reads"'),
        ('risk = "read"', "risk = true"),
        ('risk = "read"', "risk = {}"),
        ('{ GET = "read" }', '"read"'),
        ('{ GET = "read" }', '{ GET = "none" }'),
        ('cli = "git-2"\ncategory', 'cli = "git-2"\nhints = {}\ncategory'),
        ('cli = "git-2"\ncategory', 'cli = "git-2"\nreturns = "Book"\ncategory'),
        ("positional = true", "positional = true, stdin = true"),
        ('flag = "-X"', 'flag = "X"'),
        ('flag = "-X"', 'flag = "-X Y"'),
        ('["git"]', "[]"),
        ("[clis.git-2]", '[clis."my git"]'),
        ('{ A = "1" }', '{ "A-B" = "1" }'),
        ("timeout = 1.5", "timeout = 0"),
        ('steps = [{ title = "Search", tool = "search", text = "Search it" }]', "steps = []"),
        ('"Search the catalog"', '"Search\\nthe catalog"'),
        ('"Search the catalog"', '"Search the catalog\\n"'),
        ('"Find and lend books"', '"Find\\u2028books"'),
        ('"Lend a book"', '"Lend\\ra book"'),
        ('"Find a book"', '"Find\\ta book"'),
        ('name = "catalog"', 'name = "catalog"\ntitle = "One\\nTwo"'),
    ],
)
def test_the_schema_refuses_values_that_a_later_stage_refuses(old: str, new: str) -> None:
    assert old in GOOD

    assert mistakes(GOOD.replace(old, new)) != []


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[tools.search]\n", "[tools.search]\ntitle = 'Suche 探す 👩‍🚀'\n"),
        ("[categories.books]", "[categories._books2]"),
        ("[types.Book]", "[types.Book2B]"),
        ("fields.title", 'fields."title.main-1"'),
        ("[commands.find]", "[commands.2-find]"),
        ("options.roots", "options.the-roots_2"),
        ('{ type = "string", required', '{ type = "map<map<Book[]>>[]", required'),
        ('{ type = "string", required', '{ type = " map< Book [] > [] ", required'),
        ("params.query", "params = {}\ninput_schema = 'a.json'\next.query"),
        ("params.query", "input_schema = { type = 'object' }\next.query"),
        ('risk = "read"', ""),
        ("[clis.git-2]", '[clis.git-2]\ndefaults = { risk = "read", tier = "all", tags = ["a"] }'),
        ("[types.Book]", '[types.Color]\nenum = ["red"]\n[types.Book]'),
        ("[types.Book]", '[types.Item]\none_of = ["Book", "Map"]\ndiscriminator = "kind"\n[types.Book]'),
        ("params.query", 'params.page = "page"\nparams.last = { use = "page", minimum = 1 }\nparams.query'),
        ("edition = 1", 'edition = 1\ninclude = ["tools/*.toml"]'),
        ('risk = "read"', 'risk = "destructive"\nconfirm = "Really?"\nargv = ["log"]'),
        ('{ GET = "read" }', '{ GET = "read", "" = "write" }\nrisk.path = { a = "destructive" }'),
        ('flag = "-X"', 'flag = "if="'),
        ('flag = "-X"', "cwd = true"),
        ('flag = "-X"', "stdin = true"),
    ],
)
def test_the_schema_accepts_values_that_every_stage_accepts(old: str, new: str) -> None:
    assert old in GOOD

    assert mistakes(GOOD.replace(old, new)) == []


@pytest.mark.uncovered
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_manifest_that_gives_files_is_accepted(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8-sig")) == []


def test_every_table_is_closed_and_every_key_described() -> None:
    for name, table in objects(manifest_schema()):
        assert table["additionalProperties"] is False, name
        assert table["description"], name
        assert not {"at", "unread"} & table["properties"].keys(), name
        for key, value in table["properties"].items():
            assert value["description"], f"{name}.{key}"


def test_descriptions_and_limits_are_those_of_the_tables() -> None:
    tool = manifest_schema()["definitions"]["ToolTable"]

    assert tool["description"] == "`[tools.NAME]`: one tool."
    assert tool["properties"]["summary"] == {
        "description": "Purpose in one line.",
        "type": "string",
        "minLength": 1,
        "maxLength": 80,
        "pattern": r"^(?:[^\x00-\x1f\x7f-\x9f\u2028\u2029]*)$(?!\n)",
    }
    assert tool["properties"]["hints"] == {
        "description": "Effects of the tool. Tools with `cli` or `api` have `risk` instead.\n\n"
        "Without them, each call of a tool with `upstream` needs approval.",
        "allOf": [{"$ref": "#/definitions/HintsTable"}],
    }
    assert tool["properties"]["tier"]["default"] == "core"
    assert tool["properties"]["enabled"]["default"] is True


def test_the_sample_manifest_of_the_schema_is_valid(tmp_path: Path) -> None:
    from toolmason.diagnostics import Diagnostics
    from toolmason.manifest.document import load
    from toolmason.manifest.validate import validate

    path = tmp_path / "manifest.toml"
    path.write_text(GOOD, encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(path, root=tmp_path, diagnostics=diagnostics)

    assert document is not None
    assert validate(document, diagnostics=diagnostics) is not None
    assert list(diagnostics) == []


@pytest.mark.parametrize(
    ("facts", "has_pins"),
    [(StyleFacts("ask_first", call="ask_{}"), True), (StyleFacts("everything"), False)],
    ids=["a style with meta-tools", "a style that lists all tools"],
)
def test_pins_have_a_key_for_each_style_with_meta_tools(
    monkeypatch: pytest.MonkeyPatch, facts: StyleFacts, has_pins: bool
) -> None:
    monkeypatch.setitem(cast("dict[str, StyleFacts]", STYLES), "further-style", facts)

    pins = runpy.run_path(tables.__file__)["PinsTable"]

    styles = {style for style in STYLES if style not in (CLASSIC, "further-style")}
    assert set(keys_of(pins)) == styles | ({"further-style"} if has_pins else set())


def test_the_keys_of_pins_are_described_by_their_style() -> None:
    properties = manifest_schema()["definitions"]["PinsTable"]["properties"]

    assert {key: each["description"] for key, each in properties.items()} == {
        style: f"In the style `{style}`." for style, facts in STYLES.items() if facts.call
    }
