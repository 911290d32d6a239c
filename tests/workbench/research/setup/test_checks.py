"""What is reported when the server starts: nothing is run, nothing heavy is imported, and it takes no time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench_handlers.setup.checks import program_on_path, startup_report

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
HEAVY = ("anyio", "asyncio", "jsonschema", "mcp", "pathspec", "pydantic", "redis", "tenacity")


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and nothing on PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "project").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    system = str(tmp_path / "none" / "settings.json")
    path = str(tmp_path / "bin")
    return {"HOME": str(home), "USERPROFILE": str(home), "PATH": path, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": system}


@pytest.fixture
def install(tmp_path: Path) -> Callable[[str], Path]:
    """Put a program on PATH that must not be run."""

    def put(name: str) -> Path:
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


def test_missing_program_is_told_with_what_to_do(machine: dict[str, str], tmp_path: Path) -> None:
    (finding,) = startup_report(machine, tmp_path / "project")

    assert finding.code == "GEMINI_CLI_NOT_FOUND"
    assert str(finding).startswith("research tools cannot answer, as `gemini` is not on PATH; ")
    assert "workbench init" in str(finding)


def test_program_of_the_project_itself_is_none(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("gemini")

    (finding,) = startup_report({**machine, "GEMINI_API_KEY": SECRET}, tmp_path)

    assert finding.code == "GEMINI_CLI_NOT_FOUND"


def test_missing_authentication_is_told_without_running_the_program(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("gemini")

    (finding,) = startup_report(machine, tmp_path / "project")

    assert finding.code == "AUTH_MISSING"
    assert "set GEMINI_API_KEY" in str(finding)
    assert not (tmp_path / "was-run").exists()


def test_nothing_is_said_if_all_is_there(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("gemini")

    assert startup_report({**machine, "GEMINI_API_KEY": SECRET}, tmp_path / "project") == []


def test_what_cannot_be_known_is_not_held_against_anyone(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("agy")

    assert startup_report({**machine, "WORKBENCH_BACKEND": "agy"}, tmp_path / "project") == []


@pytest.mark.parametrize(("said", "name"), [("", "gemini"), ("auto", "gemini"), ("agy", "agy"), (" Gemini ", "gemini")])
def test_gemini_is_used_unless_agy_is_named(
    machine: dict[str, str], install: Callable[[str], Path], said: str, name: str
) -> None:
    paths = {name: str(install(name)) for name in ("agy", "gemini")}

    found = program_on_path({**machine, "WORKBENCH_BACKEND": said})

    assert found is not None
    assert (found.name, found.path) == (name, paths[name])


def test_executable_elsewhere_can_be_named(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    elsewhere = install("agy").rename(tmp_path / "my-agy")

    found = program_on_path({**machine, "WORKBENCH_BACKEND": "agy", "WORKBENCH_AGY_COMMAND": str(elsewhere)})

    assert found is not None
    assert (found.name, found.path) == ("agy", str(elsewhere))


def test_project_cannot_put_a_program_on_path(
    machine: dict[str, str], install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(install("gemini").parent)

    assert program_on_path({**machine, "PATH": ".:"}) is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORKBENCH_BACKEND": "agy"}, "`agy` is not on PATH"),
        (
            {"WORKBENCH_BACKEND": "gemini", "WORKBENCH_GEMINI_COMMAND": "/nowhere/gemini"},
            "the program that WORKBENCH_GEMINI_COMMAND names is not there",
        ),
        ({"WORKBENCH_BACKEND": "claude"}, "WORKBENCH_BACKEND names no program: set it to gemini, agy or auto"),
    ],
    ids=["a named backend", "a named executable", "no backend"],
)
def test_report_names_what_was_looked_for(
    machine: dict[str, str], variables: dict[str, str], message: str, tmp_path: Path
) -> None:
    (finding,) = startup_report({**machine, **variables}, tmp_path / "project")

    assert finding.message == f"research tools cannot answer, as {message}"


def test_agy_that_is_there_is_pointed_at(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("agy")

    (finding,) = startup_report(machine, tmp_path / "project")

    assert "`agy` is there, and used where WORKBENCH_BACKEND=agy says so" in finding.message


def test_no_value_of_a_variable_or_setting_is_told(
    machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("gemini")
    settings = Path(machine["HOME"]) / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(f'{{"security": {{"auth": {{"selectedType": "{SECRET}"}}}}}}', encoding="utf-8")

    (finding,) = startup_report({**machine, "GOOGLE_API_KEY": SECRET}, tmp_path / "project")

    assert SECRET not in repr(finding)


def test_report_imports_nothing_heavy() -> None:
    code = f"import sys, workbench_handlers.setup.checks as c; c.startup_report(); print([n for n in {HEAVY} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert run.stdout.strip() == "[]"


def test_report_takes_less_than_5_ms(machine: dict[str, str], install: Callable[[str], Path], tmp_path: Path) -> None:
    install("gemini")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        startup_report(machine, tmp_path / "project")
        times.append(time.perf_counter() - start)

    assert min(times) < 0.005
