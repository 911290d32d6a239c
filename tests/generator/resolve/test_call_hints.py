"""Commands and workflows name the meta-tool that calls each of their tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.pipeline import read
from toolmason.project import find_project

MANIFEST = """
edition = 1
server = {{ name = "notes", package = "notes_server" }}
discovery = {discovery}
categories.code.summary = "Code and history of a repository"
clis.git = {{ command = ["git"], category = "code" }}
tools.show = {{ summary = "Show the commits of a branch", cli = "git", argv = ["log"], risk = "read" }}
tools.status = {{ summary = "Show the state of the files", cli = "git", argv = ["status"], risk = "read" }}
tools.add = {{ summary = "Stage all changed files", cli = "git", argv = ["add", "."], risk = "write" }}
tools.commit = {{ summary = "Record the staged changes", cli = "git", argv = ["commit"], risk = "write" }}
commands.save = {{ summary = "Save the work", tools = {tools}, prompt = "Save it." }}
workflows.save = {{ summary = "Save the work", steps = [
    {{ title = "Look", tool = "show", text = "Look." }},
    {{ title = "Write", tool = "add", text = "Write." }},
] }}
"""
SPLIT = "{ split_calls = true }"


@pytest.mark.parametrize(
    ("discovery", "tools", "hint"),
    [
        (SPLIT, ["show", "status"], "Call unlisted tools with `call_read`."),
        (SPLIT, ["add"], "Call unlisted tools with `call`."),
        (SPLIT, ["show", "add", "commit"], "Call unlisted tools with `call_read`, but `add`, `commit` with `call`."),
        (
            "{ split_calls = true, prefix = 'git_' }",
            ["show", "add"],
            "Call unlisted tools with `call_read`, but `add` with `call`.",
        ),
        ("{ split_calls = true, pinned = ['show'] }", ["show", "add"], "Call unlisted tools with `call`."),
        (
            "{ split_calls = true, pinned = ['add'], pins = { search-call = ['show'], list-describe = ['commit'] } }",
            ["show", "add", "commit"],
            "Call unlisted tools with `call`.",
        ),
        ("{}", ["show", "add"], "Call unlisted tools with `call`."),
        ("{ style = 'list-describe' }", ["show", "add"], "Call unlisted tools with `call_tool`."),
        ("{ style = 'classic' }", ["show", "add"], ""),
    ],
)
def test_a_command_names_the_meta_tool_of_each_tool(
    tmp_path: Path, discovery: str, tools: list[str], hint: str
) -> None:
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "notes.toml").write_text(MANIFEST.format(discovery=discovery, tools=tools), "utf-8")
    diagnostics = Diagnostics()
    reading = read(find_project(tmp_path), diagnostics=diagnostics)

    assert reading is not None, list(map(str, diagnostics))
    [command], [workflow] = reading.server.commands, reading.server.workflows
    assert command.call_hint == hint
    assert bool(workflow.call_hint) is ("classic" not in discovery)
