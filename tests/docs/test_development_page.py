"""The commands of docs/development.md run in order in the project that the first one creates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from pages import check, read

PAGE: Final = read("docs/development.md")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("development")
    (command, expected), (entering, _) = PAGE.sessions()[:2]
    check(command, expected, directory)
    return directory / entering.removeprefix("cd ")


def test_the_commands_of_the_page_print_their_output(project: Path) -> None:
    handler = PAGE.block("python")
    name = re.match(r"# (\S+)\n", handler)
    assert name is not None
    *commands, (failing, traceback) = PAGE.sessions()[2:]
    for command, expected in commands:
        check(command, expected, project)

    (project / name[1]).write_text(handler, encoding="utf-8")
    check(failing, traceback, project)
