"""docs/manifest-sharing.md: its files are one manifest, its tables are complete, and its messages are real."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final, get_type_hints

import pytest
from pages import quoted, read
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.toml.tables import keys_of

from toolmason.catalogue.table import tool_entry
from toolmason.diagnostics import Diagnostics
from toolmason.kinds.command.tables import CliTable
from toolmason.kinds.http.tables import ApiTable
from toolmason.kinds.upstream.tables import UpstreamTable
from toolmason.manifest.files import MAIN_KEYS, load_manifest
from toolmason.manifest.shared_values import defaults
from toolmason.manifest.tables import CategoryTable
from toolmason.manifest.validate import validate
from toolmason.model.server import Server
from toolmason.render.pydantic_models import models, schemas
from toolmason.resolve import resolve

PAGE: Final = read("docs/manifest-sharing.md")
TABLES: Final = {"categories": CategoryTable, "clis": CliTable, "apis": ApiTable, "upstreams": UpstreamTable}
FOLDER: Final = """
edition = 1
server = { name = "a", package = "a_server" }
categories.a.summary = "A"
clis.a = { command = ["a"], category = "a", defaults.risk = "read" }
types.Folder.fields.entries = { type = "map<Folder>" }
[tools.a]
summary = "A"
cli = "a"
params.tree = { type = "Folder" }
"""


def resolved(root: Path, name: str) -> tuple[Server | None, list[str]]:
    diagnostics = Diagnostics()
    document = load_manifest(root / name, root=root, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=root, diagnostics=diagnostics) if tables and document else None
    return server, [str(diagnostic) for diagnostic in diagnostics]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    root = tmp_path_factory.mktemp("forge")
    for block in PAGE.blocks("toml"):
        path = root / block.split("\n", maxsplit=1)[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(block, encoding="utf-8")
    found, problems = resolved(root, "forge.toml")
    assert found is not None, problems
    return found


def test_the_tools_of_all_files_have_the_shared_values(server: Server) -> None:
    tools = {tool.name: tool for tool in server.tools}
    assert {name: tool.table.tags for name, tool in tools.items()} == {
        "find_issues": ("tracker",),
        "change_issue": ("tracker",),
        "git_log": ("vcs",),
        "git_tag": ("vcs",),
    }
    assert [name for name, tool in tools.items() if tool.hints.read_only] == ["find_issues", "git_log"]
    described = [param.description for tool in tools.values() for param in tool.params if param.name == "project"]
    assert described == ["Project, such as `kernel`", "Project, such as `kernel`", "Project to tag"]


def test_the_table_of_defaults_is_complete() -> None:
    rows = {
        quoted(table)[0].split(".")[0].strip("["): tuple(quoted(keys)) for table, keys in PAGE.rows("table", "keys")
    }
    assert rows == defaults()
    for section, table in TABLES.items():
        assert set(keys_of(get_type_hints(table)["defaults"])) == set(defaults()[section])
    assert all(key in PAGE.text for key in MAIN_KEYS)


def test_the_classes_and_the_message_are_those_of_the_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    (issues,) = [category for category in server.categories if category.name == "issues"]
    text = models(schemas(issues, server.package))
    assert "class State(StrEnum):" in text
    assert 'in_review = "in-review"' in text
    module = ModuleType("forge_models")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(text, vars(module))
    params = vars(module)["ChangeIssueParams"]
    tool = next(tool for tool in issues.tools if tool.name == "change_issue")
    with pytest.raises(ToolError) as refused:
        ArgumentValidator(tool_entry(tool), params).validate({"number": 1, "changes": [{"kind": "remark"}]})
    (message,) = re.findall(r"`(Argument 'changes.*?)`", PAGE.words)
    problem, _, example = refused.value.message.partition("\n")
    assert problem == message
    assert example.startswith("Example: change_issue {")


def test_the_refusal_of_a_recursive_type_is_that_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "forge.toml").write_text(FOLDER, encoding="utf-8")
    _, (problem,) = resolved(tmp_path, "forge.toml")
    shown = PAGE.text.partition("```text\n")[2].partition("\n")[0].strip()
    assert shown.partition(" error")[2] == problem.partition(" error")[2]
