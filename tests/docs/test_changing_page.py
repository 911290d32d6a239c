"""docs/changing-a-manifest.md: its commands print the shown output, in a project that `toolmason init` made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pages import matches, read, run

PAGE: Final = read("docs/changing-a-manifest.md")


def test_the_commands_of_the_page_print_their_output(tmp_path: Path) -> None:
    assert run("toolmason init notes", tmp_path).returncode == 0
    project = tmp_path / "notes"
    sessions = [session for session in PAGE.sessions() if " fmt " not in session[0]]
    assert [command.split()[1] for command, _ in sessions] == ["add"] * 3 + ["rename", "generate", "rename", "move"]
    for command, output in sessions:
        result = run(command, project)
        assert matches(output, result.stdout), result.stdout + result.stderr
        assert result.returncode == 0
    assert run("toolmason generate", project).returncode == 0


def test_fmt_shows_the_changes_of_the_file_on_the_page(tmp_path: Path) -> None:
    [(command, output)] = [session for session in PAGE.sessions() if " fmt " in session[0]]
    assert run("toolmason init notes", tmp_path).returncode == 0
    (tmp_path / "notes" / "books.toml").write_text(PAGE.block("toml"), encoding="utf-8")

    result = run(command, tmp_path / "notes")

    assert matches(output, result.stdout), result.stdout + result.stderr


def test_the_table_of_tasks_lists_each_command_of_the_page() -> None:
    commands = set(re.findall(r"`toolmason (\w+)", " ".join(row[1] for row in PAGE.rows("task", "command"))))
    assert commands == {"add", "rename", "move", "fmt", "upgrade"}
