"""docs/changing-a-manifest.md: its commands print what it shows, in a project that `toolmason init` made."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pages import matches, read, run

PAGE: Final = read("docs/changing-a-manifest.md")


def test_the_commands_of_the_page_print_their_output(tmp_path: Path) -> None:
    assert run("toolmason init notes", tmp_path).returncode == 0
    project = tmp_path / "notes"
    sessions = PAGE.sessions()
    assert [command.split()[1] for command, _ in sessions] == ["rename", "generate", "rename", "move"]
    for command, output in sessions:
        result = run(command, project)
        assert matches(output, result.stdout), result.stdout + result.stderr
        assert result.returncode == 0
    assert run("toolmason generate", project).returncode == 0
