"""A project with a file of queries, and the command `toolmason eval` on it."""

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
summary = "Notes and mail"
version = "1.0.0"
package = "desk_server"
handlers = "desk_handlers"

[categories.notes]
summary = "Find and change notes"

[categories.mail]
summary = "Read and send mail"
"""
TOOL = """
[tools.{name}]
category = "{category}"
summary = "{summary}"
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
handler = "desk:{name}"
{more}
"""
TOOLS = (
    ("find_notes", "notes", "Find notes that contain a text", 'use_cases = ["Find a note about the budget"]'),
    ("list_notes", "notes", "List the notes of a folder", 'description = "For a text in notes use find_notes."'),
    ("rename_note", "notes", "Change the title of a note", ""),
    ("find_mail", "mail", "Find letters that contain a text", ""),
    ("send_mail", "mail", "Send a letter to an address", 'keywords = ["post"]'),
    ("archive_letter", "mail", "Store a letter in the archive", ""),
    ("archive_box", "mail", "Show a box of the archive", 'description = "Display which letters are inside."'),
    ("print_label", "mail", "Print a label for parcels", ""),
    ("weigh_parcel", "mail", "Weigh a parcel", ""),
    ("old_mail", "mail", "Find letters of last year", "enabled = false"),
)

Evaluate = Callable[..., Result]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The directory of the project."""
    tools = (TOOL.format(name=name, category=place, summary=text, more=more) for name, place, text, more in TOOLS)
    (tmp_path / "manifest.toml").write_text(MANIFEST + "".join(tools), encoding="utf-8")
    return tmp_path


@pytest.fixture
def evaluate(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Run `toolmason eval` on a file with this text, in the directory of the project."""
    monkeypatch.chdir(desk)

    def run(queries: str, *options: str) -> Result:
        Path("queries.toml").write_text(queries, encoding="utf-8")
        command = ["eval", "queries.toml", "--manifest", "manifest.toml", *options]
        return CliRunner().invoke(toolmason, command, catch_exceptions=False)

    return run
