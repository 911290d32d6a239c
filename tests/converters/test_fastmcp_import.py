"""`toolmason import python`: a server of the package `fastmcp` is generated and called."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

SERVER = '''
"""Notes of a team."""

from typing import Annotated

from fastmcp import Context, FastMCP
from pydantic import Field

mcp = FastMCP("Notes", instructions="Search before you add.")

NOTES = ["Buy milk", "Call Ada", "Buy bread"]


@mcp.tool(title="Find notes", annotations={"readOnlyHint": True})
def find_notes(words: Annotated[str, Field(description="Words of the note")], limit: int = 5) -> list[str]:
    """Find notes by their words."""
    return [note for note in NOTES if words.lower() in note.lower()][:limit]


@mcp.tool
async def count_notes() -> int:
    """Return the number of notes."""
    return len(NOTES)


@mcp.tool
async def add_note(text: str, context: Context) -> str:
    """Add a note."""
    await context.info(text)
    return text


@mcp.prompt
def tidy() -> str:
    """Tidy the notes."""
    return "Remove notes that are done."
'''


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolmason", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8", check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_a_server_of_the_package_fastmcp_is_imported_generated_and_called(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "notes_server.py").write_text(SERVER, encoding="utf-8")

    notes = run(tmp_path, "import", "python", "notes_server").stderr

    assert "notes_server: add_note: left out: `context` is filled by FastMCP, not by the caller" in notes
    assert "notes_server: prompts are not imported: tidy" in notes
    assert "2 functions imported" in notes
    tables = tomllib.loads((tmp_path / "manifest/notes-server.toml").read_text(encoding="utf-8"))
    assert tables["server"]["instructions"] == "Search before you add."
    find_notes = tables["tools"]["find_notes"]
    assert (find_notes["title"], find_notes["hints"]["read_only"]) == ("Find notes", True)
    assert find_notes["params"] == {
        "words": {"type": "string", "description": "Words of the note"},
        "limit": {"type": "integer", "default": 5},
    }
    run(tmp_path, "generate")
    found = run(tmp_path, "call", "find_notes", '{"words": "buy"}').stdout
    assert json.loads(found) == {"result": ["Buy milk", "Buy bread"]}
    assert json.loads(run(tmp_path, "call", "count_notes", "{}").stdout) == {"result": 3}
