"""A person's home for installations."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from toolmason_runtime.install import start


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with a project in it; the current directory is inside the project."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(project / "src")
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Command lines of servers that `install` would start."""
    commands: list[list[str]] = []

    def list_tools(command: list[str], _environ: object, _directory: Path) -> list[str]:
        commands.append(command)
        return ["search", "call"]

    monkeypatch.setattr(start, "list_tools", list_tools)
    return commands
