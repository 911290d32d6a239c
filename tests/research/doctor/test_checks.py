"""The checks at the start of the server: nothing is run, and nothing heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench_research.doctor.check import Check
from workbench_research.doctor.checks import setup_problem

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
        "WORKBENCH_RESEARCH": "gemini-cli",
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
    found = setup_problem(environ, project)
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
    "no account": (("gemini",), {"GOOGLE_API_KEY": SECRET}, "AUTH_MISSING", "set GEMINI_API_KEY"),
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
    [{"GEMINI_API_KEY": SECRET}, {"GOOGLE_GENAI_USE_GCA": "true"}],
    ids=["a key", "an account that cannot be checked"],
)
def test_a_check_without_a_known_problem_passes(
    machine: dict[str, str], install: Install, tmp_path: Path, variables: dict[str, str]
) -> None:
    install("gemini")

    assert problem({**machine, **variables}, tmp_path / "project") is None


@pytest.mark.parametrize("backend", ["auto", " Gemini "])
def test_each_valid_backend_uses_gemini(
    machine: dict[str, str], install: Install, tmp_path: Path, backend: str
) -> None:
    install("gemini")
    environ = {**machine, "GEMINI_API_KEY": SECRET, "WORKBENCH_BACKEND": backend}

    assert problem(environ, tmp_path / "project") is None


def test_an_executable_elsewhere_can_be_named(machine: dict[str, str], install: Install, tmp_path: Path) -> None:
    elsewhere = install("gemini").rename(tmp_path / "my-gemini")
    environ = {**machine, "GEMINI_API_KEY": SECRET, "WORKBENCH_GEMINI_COMMAND": str(elsewhere)}

    assert problem(environ, tmp_path / "project") is None


def test_a_project_cannot_put_a_program_on_path(
    machine: dict[str, str], install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("gemini")
    monkeypatch.chdir(tmp_path / "bin")

    for path in (".:", machine["PATH"]):
        found = problem({**machine, "PATH": path, "GEMINI_API_KEY": SECRET}, tmp_path)
        assert found is not None
        assert found.code == "GEMINI_CLI_NOT_FOUND"


def test_without_settings_and_program_the_next_step_is_a_key(machine: dict[str, str], tmp_path: Path) -> None:
    found = problem({**machine, "WORKBENCH_RESEARCH": ""}, tmp_path / "project")

    assert found is not None
    assert (found.code, "set a key, such as GEMINI_API_KEY" in found.message) == ("AUTH_MISSING", True)


def test_the_checks_at_the_start_import_nothing_heavy() -> None:
    code = (
        "import sys, workbench_handlers.doctor.checks as checks; checks.startup_report(); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert run.stdout.strip() == "[]"
