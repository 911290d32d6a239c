"""A project with tools of several kinds, and the command `toolmason report` on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

SURFACES = Path(__file__).parents[2] / "workbench" / "editing" / "surfaces"
sys.path.insert(0, str(SURFACES / "support"))

MANIFEST = """\
edition = 1

[server]
name = "desk"
title = "Desk <of> Ada"
version = "1.0.0"
package = "desk_server"
handlers = "desk_handlers"
guard = "desk:guard"
audit = "calls.jsonl"

[categories.notes]
summary = "Find and change notes"

[categories.mail]
summary = "Read and send mail"

[categories.code]
summary = "Code of a repository"

[clis.git]
command = ["git"]
category = "code"
reads = ["{cwd}"]
open_world = false

[tools.git_log]
summary = "Show the history of a repository"
cli = "git"
argv = ["log"]
risk = "read"
use_cases = ["Which commits are the newest"]

[tools.git_commit]
summary = "Record staged changes of a repository"
cli = "git"
argv = ["commit"]
risk = "write"

[tools.git_branch]
summary = "List, create or remove branches of a repository"
cli = "git"
argv = ["branch"]
params.action = { type = "string", enum = ["list", "remove"], description = "What to do" }
risk = { action = { list = "read", remove = "destructive" } }
"""
TOOLS = (
    ("find_notes", "notes", "Find notes that contain a text", "read_only = true", "Find a note about the budget"),
    ("list_notes", "notes", "List the notes of a folder", "read_only = true", "Which notes are in this folder"),
    ("erase_note", "notes", "Erase a note for ever", "destructive = true", "Get rid of a note"),
    ("find_mail", "mail", "Find letters that contain a text", "read_only = true, open_world = true", "Find a note"),
    ("send_mail", "mail", "Send a letter to an address", "destructive = false, open_world = true", "Find notes"),
    ("file_mail", "mail", "Store a letter in the archive", "destructive = false", "Find notes of Ada"),
)
TOOL = """
[tools.{name}]
category = "{category}"
summary = "{summary}"
hints = {{ {hints} }}
handler = "desk:{name}"
use_cases = ["{use_case}"]
params.text = {{ type = "string", description = "A text", pattern = "^[a-z]+$", required = false }}
"""
QUERIES = """\
[queries]
find_notes = ["text in a note", "xylophone"]
find_mail = ["find notes", "notes that contain the word budget"]
send_mail = ["write to an address"]
"""

Report = Callable[..., Result]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the project, which is the working directory."""
    rows = (dict(zip(("name", "category", "summary", "hints", "use_case"), tool, strict=True)) for tool in TOOLS)
    # Beside no `handlers/`, whose functions would be checked.
    (tmp_path / "desk.toml").write_text(MANIFEST + "".join(TOOL.format(**row) for row in rows), "utf-8")
    (tmp_path / "queries.toml").write_text(QUERIES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toolmason_run(desk: Path) -> Callable[..., Result]:
    """Run `toolmason` in the directory of the project."""
    assert Path.cwd() == desk

    def run(*arguments: str) -> Result:
        has_subject = not {"--server", "--manifest"}.isdisjoint(arguments)
        manifest = () if has_subject else ("--manifest", "desk.toml")
        return CliRunner().invoke(toolmason, [*arguments, *manifest], catch_exceptions=False)

    return run


@pytest.fixture
def edited(desk: Path) -> Callable[[str, str], None]:
    """Replace a text of the manifest."""

    def edit(old: str, new: str) -> None:
        path = desk / "desk.toml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit
