import tomllib
from pathlib import PurePosixPath

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.rules import RULES
from toolmason.manifest.document import Document
from toolmason.manifest.tables import ManifestTables, ParamTable
from toolmason.manifest.validate import validate

HEAD = """
edition = 1
[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"
[categories.books]
summary = "Find and lend books"
"""
TOOL = """
[tools.search]
summary = "Search the catalog"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
"""
HANDLER = 'handler = "catalog:search"\n'


def validated(text: str) -> tuple[ManifestTables | None, list[str]]:
    diagnostics = Diagnostics()
    document = Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))
    tables = validate(document, diagnostics=diagnostics)
    return tables, [each.code for each in diagnostics]


def test_a_good_manifest_becomes_its_tables() -> None:
    tables, codes = validated(HEAD + TOOL + HANDLER + 'params.query = { type = "string" }\n')

    assert codes == []
    assert tables is not None
    assert tables.edition == 1
    assert tables.server.name == "catalog"
    tool = tables.tools["search"]
    assert tool.at == ("tools", "search")
    assert tool.hints
    assert tool.hints.read_only
    assert tool.params == {"query": ParamTable(type="string", at=("tools", "search", "params", "query"))}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param(HEAD + TOOL + HANDLER, [], id="a handler, and no parameters"),
        pytest.param(HEAD + TOOL + HANDLER + "params = {}\n", [], id="no parameters, said"),
        pytest.param(HEAD + TOOL + HANDLER + 'input_schema = "a.json"\n', [], id="schema in a file"),
        pytest.param(HEAD + TOOL + HANDLER + 'input_schema = { type = "object" }\n', [], id="schema inline"),
        pytest.param(HEAD + TOOL + HANDLER + "input_schema = true\n", ["TM204"], id="schema of another type"),
        pytest.param(HEAD + TOOL + HANDLER + 'title = "a\\u2028b"\n', ["TM210"], id="Unicode line break"),
        pytest.param(HEAD + TOOL + HANDLER + 'title = "a\\u0007b"\n', ["TM210"], id="control character"),
        pytest.param(HEAD + TOOL + HANDLER + 'title = "👩‍💻 é"\n', [], id="emoji with a joiner"),
        pytest.param(HEAD.replace("[cat", 'title = "a\\nb"\n[cat'), ["TM210"], id="server title of two lines"),
        pytest.param(
            HEAD + '[types.T]\nfields.a = { type = "string", required = false, default = "" }', [], id="optional"
        ),
        pytest.param(HEAD + '[types.T]\nfields.a = { type = "string", required = true }', [], id="required"),
        pytest.param(HEAD + '[types.T]\nfields.a = { type = "string", enum = [""] }', [], id="one value allowed"),
        pytest.param(HEAD + '[workflows.w]\nsummary = "a"\nsteps = []', ["TM209"], id="no steps"),
        pytest.param(HEAD + '[commands.c]\nsummary = "a\\nb"\nprompt = "x"', ["TM210"], id="command of two lines"),
        pytest.param("edition = 0\n", ["TM201"], id="no such edition"),
        pytest.param(HEAD.replace("edition = 1", "edition = true"), ["TM204"], id="edition that is no integer"),
        pytest.param(f"edition = 0x{'f' * 5000}\n", ["TM201"], id="huge edition"),
    ],
)
def test_rules_of_one_table(text: str, codes: list[str]) -> None:
    tables, found = validated(text)

    assert found == codes
    assert tables is not None or codes


def merged(base: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    result = dict(base)
    for key, value in more.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


@pytest.mark.parametrize("code", [code for code in RULES if code.startswith("TM2")])
def test_the_examples_of_a_rule_show_just_that_rule(code: str) -> None:
    rule = RULES[code]
    base = tomllib.loads(HEAD + TOOL + HANDLER)
    if code == "TM212":
        base["tools"]["search"].pop("handler")
    found: dict[str, list[str]] = {}
    for name, example in (("bad", rule.bad), ("good", rule.good)):
        diagnostics = Diagnostics()
        data = merged(base, tomllib.loads(example))
        validate(Document(path=PurePosixPath("manifest.toml"), text=example, data=data), diagnostics=diagnostics)
        found[name] = [each.code for each in diagnostics]

    assert found == {"bad": [code], "good": []}
