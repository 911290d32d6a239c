"""The real CLI, asked through the adapter.

program       what was found out about it
temporary     the only directory in which anything temporary is made
ask           asks it one question about `project`, and sees that it leaves no file behind
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from gemini_homes import Home

from workbench_research.backends.question import Answer, Question
from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.attempt import run_attempt
from workbench_research.model_backends.detect import parse_features
from workbench_research.model_backends.gemini import GeminiAdapter

PATIENCE_S = 60.0
Asks = Callable[..., Any]


@pytest.fixture(scope="session")
def program(gemini: str) -> Program:
    said = subprocess.run([gemini, "--help"], capture_output=True, text=True, check=True)
    return Program(path=gemini, name="gemini", version="0.61.0", features=parse_features(said.stdout + said.stderr))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the only directory in which anything temporary is made."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def ask(program: Program, gemini_home: Home, project: Path, temporary: Path) -> Asks:
    """Ask the real CLI one question, and see that it leaves no file behind."""

    async def asked(
        prompt: str = "What is this?",
        model: str = "gemini-2.5-flash",
        *,
        environ: dict[str, str] | None = None,
        able: Program = program,
        told: list[str] | None = None,
        searches_web: bool = False,
    ) -> Answer:
        async def report(text: str) -> None:
            if told is not None:
                told.append(text)

        question = Question(prompt=prompt, directory=project, timeout_s=PATIENCE_S, searches_web=searches_web)
        given = gemini_home.environ if environ is None else environ
        try:
            with anyio.fail_after(2 * PATIENCE_S):
                return await run_attempt(GeminiAdapter(), able, question, model, report=report, environ=given)
        finally:
            assert names(temporary) == []

    return asked


def names(directory: Path) -> list[str]:
    """Give what is in a directory."""
    return sorted(each.name for each in directory.iterdir())
