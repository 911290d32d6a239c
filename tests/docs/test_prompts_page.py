"""The manifest and the handlers of docs/prompts-and-resources.md fit, and mypy finds handlers that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pages import read

PAGE: Final = read("docs/prompts-and-resources.md")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page, generated."""
    project = tmp_path_factory.mktemp("notes")
    (project / "manifest").mkdir()
    (project / "manifest" / "notes.toml").write_text("\n".join(PAGE.blocks("toml")), encoding="utf-8")
    package = project / "handlers" / "notes_tools"
    (package / "pages").mkdir(parents=True)
    (package / "pages" / "guide.md").write_text("# Guide\n", encoding="utf-8")
    (package / "__init__.py").touch()
    pages = 'PAGES = {"2026-11-22": "Call the library."}\n'
    (package / "book.py").write_text(f"{PAGE.blocks('python')[0]}\n\n{pages}", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


def type_errors(project: Path) -> list[str]:
    """What mypy finds in the generated package."""
    sources = os.pathsep.join(str(project / root) for root in ("generated", "handlers"))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "notes_server"],
        cwd=project,
        env=os.environ | {"MYPYPATH": sources},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return [line for line in run.stdout.splitlines() if " error: " in line]


def test_commands_and_their_files_have_the_prefix_of_the_page(project: Path) -> None:
    names = json.loads((project / "generated" / "notes_server" / "catalogue.json").read_text("utf-8"))["prompts"]

    assert "`/notes-tidy`" in PAGE.text
    assert "notes-tidy" in names
    assert (project / "generated" / "commands" / "claude-code" / ".claude" / "commands" / "notes-tidy.md").is_file()


def test_handlers_of_the_page_fit_and_others_are_found(project: Path) -> None:
    assert type_errors(project) == []

    handlers = project / "handlers" / "notes_tools" / "book.py"
    text = handlers.read_text(encoding="utf-8")
    text = text.replace("-> ResourceContent", "-> int | None").replace("return PAGES.get(params.day)", "return 1")
    handlers.write_text(text.replace("params: Completion", "params: int"), encoding="utf-8")
    assert {line.partition(":")[0] for line in type_errors(project)} >= {
        "generated/notes_server/prompts/bindings.py",
        "generated/notes_server/resources/bindings.py",
    }
