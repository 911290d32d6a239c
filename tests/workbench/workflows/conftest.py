"""A person who approves, no variables of the machine, and the fake Gemini CLI of the research tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "research" / "support"))

from fake_cli import GEMINI_HELP, Fake, Script, make
from served import environment, settle

MakeFake = Callable[..., Fake]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no variable of the machine change prefixes, directories or the model."""
    for name in list(os.environ):
        if name.startswith(("DEFAULT_", "CONTEXT_")):
            monkeypatch.delenv(name)
    settle(monkeypatch, {**environment(tmp_path / "home"), "WORKBENCH_STATE": str(tmp_path / "state")})


@pytest.fixture
def gemini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeFake:
    """Put a fake Gemini CLI on the PATH: `gemini(script, ...)`, one script for each run."""

    def install(*scripts: Script) -> Fake:
        directory = tmp_path / "bin"
        directory.mkdir()
        fake = make(directory, "gemini", *scripts, version="0.61.0", help_text=GEMINI_HELP)
        settle(monkeypatch, {**environment(tmp_path / "home", fake), "WORKBENCH_STATE": str(tmp_path / "state")})
        return fake

    return install
