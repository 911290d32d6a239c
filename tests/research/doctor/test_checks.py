"""The checks at the start of the server: nothing is run, and nothing heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workbench_research.model_backends.selection import without_project_paths

from workbench_research.doctor.check import Check
from workbench_research.doctor.checks import git_ignore_check, inspect_setup, program_on_path

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
HEAVY = ("anyio", "asyncio", "jsonschema", "mcp", "pathspec", "pydantic", "redis", "tenacity")
Install = Callable[[str], Path]


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and nothing on PATH."""
    for name in ("bin", "project", "home"):
        (tmp_path / name).mkdir()
    home, system = str(tmp_path / "home"), str(tmp_path / "none" / "settings.json")
    return {
        "HOME": home,
        "USERPROFILE": home,
        "PATH": str(tmp_path / "bin"),
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": system,
    }


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Put a program on PATH that leaves a trace if it is run."""

    def put(name: str) -> Path:
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


def problem(environ: dict[str, str], project: Path) -> Check | None:
    found = inspect_setup(without_project_paths(environ, (project,)), project).problem
    assert SECRET not in repr(found)
    return found


PROBLEMS: dict[str, tuple[tuple[str, ...], dict[str, str], str, str]] = {
    "nothing is installed": ((), {}, "GEMINI_CLI_NOT_FOUND", "`gemini` is not on PATH"),
    "a command is missing": (
        ("gemini",),
        {"WORKBENCH_GEMINI_COMMAND": "/nowhere/gemini"},
        "GEMINI_CLI_NOT_FOUND",
        "WORKBENCH_GEMINI_COMMAND names a program that does not exist",
    ),
    "an unknown backend": (
        ("gemini",),
        {"WORKBENCH_BACKEND": "agy"},
        "GEMINI_CLI_ERROR",
        "WORKBENCH_BACKEND is 'agy': set it to gemini or auto",
    ),
    "no account": (("gemini",), {"GOOGLE_API_KEY": SECRET}, "AUTH_MISSING", "`gemini` is not authenticated"),
}


@pytest.mark.parametrize(("programs", "variables", "code", "text"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_problem_has_the_code_of_the_error_and_a_way_out(
    machine: dict[str, str],
    install: Install,
    tmp_path: Path,
    *,
    programs: tuple[str, ...],
    variables: dict[str, str],
    code: str,
    text: str,
) -> None:
    for name in programs:
        install(name)

    found = problem({**machine, **variables}, tmp_path / "project")

    assert found is not None
    assert (found.status, found.code) == ("error", code)
    assert found.message.startswith("research tools cannot answer: ")
    assert text in found.message
    assert str(found).endswith("`toolmason-workbench doctor` checks the setup and prints each fix")
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "variables",
    [{"GEMINI_API_KEY": SECRET}, {"GOOGLE_GENAI_USE_GCA": "true", "GEMINI_FORCE_ENCRYPTED_FILE_STORAGE": "true"}],
    ids=["a key", "an account that cannot be checked"],
)
def test_a_check_without_a_known_problem_passes(
    machine: dict[str, str], install: Install, tmp_path: Path, variables: dict[str, str]
) -> None:
    install("gemini")

    assert problem({**machine, **variables}, tmp_path / "project") is None


@pytest.mark.parametrize("backend", ["", "auto", " Gemini "])
def test_each_valid_backend_uses_gemini(machine: dict[str, str], install: Install, backend: str) -> None:
    path = install("gemini")

    assert program_on_path({**machine, "WORKBENCH_BACKEND": backend}) == str(path)


def test_an_executable_elsewhere_can_be_named(machine: dict[str, str], install: Install, tmp_path: Path) -> None:
    elsewhere = install("gemini").rename(tmp_path / "my-gemini")

    assert program_on_path({**machine, "WORKBENCH_GEMINI_COMMAND": str(elsewhere)}) == str(elsewhere)


def test_a_project_cannot_put_a_program_on_path(
    machine: dict[str, str], install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("gemini")
    monkeypatch.chdir(tmp_path / "bin")

    assert program_on_path({**machine, "PATH": ".:"}) is None
    found = problem({**machine, "GEMINI_API_KEY": SECRET}, tmp_path)
    assert found is not None
    assert found.code == "GEMINI_CLI_NOT_FOUND"


def test_the_checks_at_the_start_import_nothing_heavy() -> None:
    code = (
        "import sys, workbench_handlers.doctor.checks as checks; checks.startup_report(); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert run.stdout.strip() == "[]"


OFF = {"respectGitIgnore": False}
GIT_IGNORE: dict[str, tuple[Any, bool]] = {
    "no setting": ({}, True),
    "off": ({"context": {"fileFiltering": OFF}}, False),
    "off in its old place": ({"fileFiltering": OFF}, False),
    "both places": ({"context": {"fileFiltering": {"respectGitIgnore": True}}, "fileFiltering": OFF}, True),
    "no boolean": ({"context": {"fileFiltering": {"respectGitIgnore": "no"}}}, True),
    "no object": ({"context": []}, True),
    "no JSON": ("{ broken", True),
}


@pytest.mark.parametrize(("settings", "is_respected"), GIT_IGNORE.values(), ids=GIT_IGNORE.keys())
def test_a_warning_names_the_setting_that_leaves_out_ignored_files(
    machine: dict[str, str], settings: Any, is_respected: bool
) -> None:
    path = Path(machine["HOME"]) / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings), encoding="utf-8")

    check = git_ignore_check(machine)

    assert (check is not None) is is_respected
    if check:
        for text in (".gitignore", ".geminiignore", "fileFiltering.respectGitIgnore: false", "~/.gemini/settings.json"):
            assert text in check.message
