"""Entries are added to and removed from a person's files without any other change."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.install import jsonc, toml_file
from toolmason_runtime.install.clients import InstallFacts, load_facts
from toolmason_runtime.install.errors import FileSyntaxError, InstallError

CASES = sorted((Path(__file__).parent / "cases").iterdir())
FACTS = load_facts("workbench_server")
LAUNCH = ["/opt/bin/toolmason-workbench", "--root", "/home/ada"]


class Editor(Protocol):
    def load(self, text: str) -> dict[str, Any]: ...
    def comments(self, text: str) -> list[str]: ...
    def merge(self, text: str, values: dict[str, Any]) -> str: ...
    def replace(self, text: str, path: tuple[str, ...], value: Any) -> str: ...
    def remove(self, text: str, path: tuple[str, ...]) -> str: ...


def read(case: Path) -> tuple[Editor, str, str, dict[str, Any]]:
    """Return the editor, the text, the key of the servers and the entry of one case."""
    [name] = [name for name in FACTS.clients if case.name.startswith(f"{name}-")]
    [before] = case.glob("before.*")
    client = short(FACTS).clients[name]
    editor: Editor = toml_file if before.suffix == ".toml" else jsonc
    text = before.read_text(encoding="utf-8")
    present = editor.load(text).get(client.servers, {}).get("workbench", {})
    return editor, text, client.servers, client.entry_of(LAUNCH, present)


def short(facts: InstallFacts) -> InstallFacts:
    """Return the facts with few variables, for files that a person can review."""
    for client in facts.clients.values():
        for key in ("env", "env_vars"):
            if key in client.entry:
                values = client.entry[key]
                shown = dict(list(values.items())[:2]) if isinstance(values, dict) else values[:4]
                client.entry[key] = shown  # type: ignore[index]
    return facts


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_entry_is_added_and_removed_as_committed(case: Path, file_regression: FileRegressionFixture) -> None:
    editor, text, servers, entry = read(case)
    [before] = case.glob("before.*")

    installed = editor.merge(text, {servers: {"workbench": entry}})
    uninstalled = editor.remove(installed, (servers, "workbench"))

    for name, result in {"installed": installed, "uninstalled": uninstalled}.items():
        path = case / f"{name}{before.suffix}"
        file_regression.check(result, encoding="utf-8", newline="", fullpath=path)
    assert editor.merge(installed, {servers: {"workbench": entry}}) == installed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_everything_else_remains(case: Path) -> None:
    editor, text, servers, entry = read(case)
    installed = editor.merge(text, {servers: {"workbench": entry}})

    before, after = editor.load(text), editor.load(installed)
    added = after[servers].pop("workbench")
    old = before.setdefault(servers, {}).pop("workbench", {})
    assert after == before
    assert added == old | entry
    assert editor.comments(installed) == editor.comments(text)
    assert len(editor.comments(text)) == text.count("//") + text.count("/*") + text.count("# ") - text.count("https://")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=8,
)
SPACE = st.text(" \n\t", max_size=3) | st.sampled_from(["// a, }\n", '/* { " */', ' // "x": 1,\n\n'])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write a value with comments, line breaks and trailing commas."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    items = (
        [(f"{json.dumps(key)}{draw(SPACE)}:", item) for key, item in value.items()]
        if isinstance(value, dict)
        else [("", item) for item in value]
    )
    texts = [f"{draw(SPACE)}{key}{draw(SPACE)}{draw(written(item))}{draw(SPACE)}" for key, item in items]
    end = draw(st.sampled_from(["", ","])) if items else ""
    brackets = "{}" if isinstance(value, dict) else "[]"
    return f"{brackets[0]}{','.join(texts)}{end}{draw(SPACE)}{brackets[1]}"


@given(data=st.data(), root=st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
def test_an_edit_of_any_json_changes_one_value(data: st.DataObject, root: dict[str, Any]) -> None:
    root["servers"] = data.draw(st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
    text = data.draw(SPACE) + data.draw(written(root)) + data.draw(SPACE)
    assert jsonc.load(text) == root

    installed = jsonc.merge(text, {"servers": {"workbench": {"command": "x", "args": ["a"]}}})
    assert jsonc.load(installed) == root | {"servers": root["servers"] | {"workbench": {"command": "x", "args": ["a"]}}}
    assert jsonc.load(jsonc.replace(installed, ("servers", "workbench"), 1))["servers"]["workbench"] == 1
    uninstalled = jsonc.remove(installed, ("servers", "workbench"))
    assert jsonc.load(uninstalled) == root
    assert jsonc.comments(uninstalled) == jsonc.comments(text)
    for name in root["servers"]:
        removed = jsonc.remove(text, ("servers", name))
        assert jsonc.load(removed)["servers"] == {key: root["servers"][key] for key in root["servers"] if key != name}


INVALID = {
    "a comma too many": ('{\n  "a": 1,,\n}', "2:10: not JSON: expecting property name enclosed in double quotes"),
    "a key without quotes": ("{a: 1}", "1:2: not JSON: expecting property name enclosed in double quotes"),
    "text after the object": ("{} x", "1:4: not JSON: extra data"),
    "an open comment": ("{} /* x", "1:4: not JSON: extra data"),
    "a number that is none": ('{"a": NaN}', "1:1: not JSON: NaN is not a JSON value"),
    "an array": ("// x\n[]", "2:1: the file must contain a JSON object"),
    "a key twice": ('{"servers": {},\n "servers": {}}', '2:2: the key "servers" is there twice'),
    "brackets without end": ('{"a":' + "[" * 100_000, "1:1: objects or arrays nest too deeply"),
    "a list of servers": ('{"servers":\n []}', '2:2: "servers" must be an object'),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_invalid_json_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(FileSyntaxError) as caught:
        jsonc.merge(text, {"servers": {"x": {}}})
    assert str(caught.value) == message


def test_extensions_that_a_client_rejects_are_found_outside_of_strings() -> None:
    text = '{"a": "// ,}",\n "b": [1, /* , */ ],\n}'
    for rejects, position in {"comments": "2:11", "trailing commas": "2:9"}.items():
        with pytest.raises(FileSyntaxError, match=f"^{position}: the client does not accept {rejects}"):
            jsonc.check_accepted(text, [rejects])
    jsonc.check_accepted('{"a": "// ,}"}', ["comments", "trailing commas"])


def test_invalid_toml_is_refused_with_its_position() -> None:
    with pytest.raises(FileSyntaxError, match=r"^2:5: not TOML"):
        toml_file.load("a = 1\nb = \n")


LAYOUTS = {
    "a number": ("mcp_servers = 1\n", "`mcp_servers` must be a table"),
    "an inline table": ("mcp_servers = { clock = { command = 'x' } }\n", "a table cannot be added to this layout"),
    "an inline table with it": ("mcp_servers = { workbench = { } } # one\n", "part of an inline table"),
}


@pytest.mark.parametrize(("text", "message"), LAYOUTS.values(), ids=LAYOUTS)
def test_an_unusual_layout_of_toml_is_refused(text: str, message: str) -> None:
    with pytest.raises(InstallError, match=message):
        toml_file.remove(
            toml_file.merge(text, {"mcp_servers": {"workbench": {"command": "y"}}}), ("mcp_servers", "workbench")
        )


KEYS = st.sampled_from(["a", "b", "servers", '"c d"'])
STATEMENTS = """
# note
x = 1 # one
[t]
[t.u] # deep
[[list]]
y = [1, # one, 2]
[mcp_servers]
[mcp_servers.a]
[mcp_servers.a.env]
mcp_servers.b.command = 'x'
[mcp_servers.workbench]
args = []
"""
LINES = st.lists(
    st.sampled_from([*STATEMENTS.splitlines(), 'z = """\nlong # text\n"""', "v = [1, # one\n 2]"]), max_size=8
)


@given(text=LINES.map("\n".join))
def test_an_edit_of_any_toml_changes_one_table_or_is_refused(text: str) -> None:
    try:
        before = tomllib.loads(text)
        installed = toml_file.merge(text, {"mcp_servers": {"workbench": {"command": "x", "required": True}}})
    except (tomllib.TOMLDecodeError, InstallError):
        return
    servers = before.get("mcp_servers", {})
    added = servers.get("workbench", {}) | {"command": "x", "required": True}
    assert tomllib.loads(installed) == before | {"mcp_servers": servers | {"workbench": added}}
    assert len(toml_file.comments(installed)) == len(toml_file.comments(text))
    uninstalled = tomllib.loads(toml_file.remove(installed, ("mcp_servers", "workbench")))
    servers.pop("workbench", None)
    assert {**uninstalled, "mcp_servers": uninstalled.get("mcp_servers", {})} == {**before, "mcp_servers": servers}
