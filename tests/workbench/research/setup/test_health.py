"""What `health_check` answers: honest in its short form too, and bounded whatever hangs or breaks."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.programs.access import SANDBOX, describe_isolation

from workbench_handlers.model_backends.retrying import RetryConfig
from workbench_handlers.setup.health import HealthParts, Held, ProgramFound, StoreHealth, health

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"


@dataclass(frozen=True)
class Program:
    path: str
    name: str = "gemini"
    version: str = "0.61.0"


@pytest.fixture
def parts(tmp_path: Path) -> HealthParts:
    """A healthy server: a program on PATH, a key, a store that answers."""
    path = tmp_path / "bin" / "gemini"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexit 70\n", encoding="utf-8")
    path.chmod(0o755)

    async def find() -> ProgramFound:
        return Program(str(path))

    async def held(program: ProgramFound) -> Held:
        return Held(program.version == "0.61.0", ("one of two means does not count",))

    async def store() -> StoreHealth:
        return StoreHealth(kind="memory", is_reachable=True)

    return HealthParts(
        server_name="workbench",
        server_version="1.2.3",
        project_root=tmp_path,
        environ={
            "PATH": str(path.parent),
            "HOME": str(tmp_path),
            "USERPROFILE": str(tmp_path),
            "GEMINI_API_KEY": SECRET,
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(tmp_path / "none" / "settings.json"),
        },
        find=find,
        held=held,
        retry=RetryConfig,
        retry_statistics=lambda: {"total_calls": 3, "total_retries": 1},
        store=store,
        models={"flash": ("a", "b", ""), "pro": ("",)},
        operations=({"id": "1", "tool": "quick_query"},),
    )


def ask(parts: HealthParts, *, diagnostics: bool = True) -> dict[str, Any]:
    answer = asyncio.run(health(include_diagnostics=diagnostics, parts=parts))
    assert SECRET not in json.dumps(answer)
    return answer


def with_environ(parts: HealthParts, **variables: str) -> HealthParts:
    return replace(parts, environ={**parts.environ, **variables})


def test_healthy_server_is_ok(parts: HealthParts) -> None:
    assert ask(parts, diagnostics=False) == {
        "tool": "health_check",
        "status": "ok",
        "server": {"name": "workbench", "version": "1.2.3"},
    }


def test_diagnostics_say_all_that_is_known(parts: HealthParts, tmp_path: Path) -> None:
    answer = ask(parts)

    assert answer["status"] == "ok"
    warnings = answer["diagnostics"].pop("warnings")
    assert answer["diagnostics"] == {
        "projectRoot": str(tmp_path),
        "geminiOnPath": True,
        "geminiVersion": "0.61.0",
        "backend": {"name": "gemini", "program": str(tmp_path / "bin" / "gemini"), "version": "0.61.0"},
        "authConfigured": True,
        "authMethod": "api_key",
        "readOnlyModeEnforced": True,
        "gitIgnoreRespected": True,
        "models": {"flash": ["a", "b", "auto"], "pro": ["auto"]},
        "retry": {"total_calls": 3, "total_retries": 1},
        "store": {"kind": "memory", "reachable": True},
        "operations": [{"id": "1", "tool": "quick_query"}],
        "isolation": describe_isolation(),
    }
    assert warnings[1:] == ["one of two means does not count"]
    assert ".gitignore" in warnings[0]


def test_programs_that_are_not_isolated_are_named(parts: HealthParts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "off")

    diagnostics = ask(replace(parts, unconfined=("docker", "make")))["diagnostics"]

    assert diagnostics["isolation"].startswith("none, since TOOLMASON_SANDBOX is set: programs are not isolated")
    assert diagnostics["warnings"][1].startswith("Isolation of programs: none")
    assert diagnostics["warnings"][2].endswith("neither files nor network for them: `docker`, `make`.")


@pytest.mark.parametrize("diagnostics", [False, True], ids=["short", "with diagnostics"])
def test_missing_program_degrades(parts: HealthParts, diagnostics: bool) -> None:
    answer = ask(with_environ(parts, PATH=""), diagnostics=diagnostics)

    assert answer["status"] == "degraded"
    assert "`gemini` is not on PATH" in answer["problems"][0]
    assert "npm install -g @google/gemini-cli" in answer["problems"][0]
    if diagnostics:
        assert answer["diagnostics"]["geminiOnPath"] is False
        assert "backend" not in answer["diagnostics"]
        assert "geminiVersion" not in answer["diagnostics"]


@pytest.mark.parametrize("diagnostics", [False, True], ids=["short", "with diagnostics"])
def test_missing_authentication_degrades(parts: HealthParts, diagnostics: bool) -> None:
    answer = ask(with_environ(parts, GEMINI_API_KEY=""), diagnostics=diagnostics)

    assert answer["status"] == "degraded"
    assert "not authenticated" in answer["problems"][0]
    if diagnostics:
        assert answer["diagnostics"]["authConfigured"] is False
        assert answer["diagnostics"]["authMethod"] == "none"


@pytest.mark.parametrize("diagnostics", [False, True], ids=["short", "with diagnostics"])
def test_settings_that_allow_no_attempt_degrade(parts: HealthParts, diagnostics: bool) -> None:
    def retry() -> RetryConfig:
        return RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": "0"})

    answer = ask(replace(parts, retry=retry), diagnostics=diagnostics)

    assert answer["status"] == "degraded"
    assert "GEMINI_RETRY_MAX_ATTEMPTS" in answer["problems"][0]


def test_authentication_that_cannot_be_known_is_left_out_and_warned_about(parts: HealthParts) -> None:
    answer = ask(with_environ(parts, GEMINI_API_KEY="", CLOUD_SHELL="true", GEMINI_CLI_USE_COMPUTE_ADC="true"))

    assert answer["status"] == "ok"
    assert "authConfigured" not in answer["diagnostics"]
    assert answer["diagnostics"]["authMethod"] == "compute_adc"


def test_short_form_runs_nothing(parts: HealthParts) -> None:
    async def unexpected(*_: object) -> Any:
        raise AssertionError

    still = replace(parts, find=unexpected, held=unexpected, store=unexpected)

    assert ask(still, diagnostics=False)["status"] == "ok"


def test_program_that_cannot_be_used_degrades(parts: HealthParts) -> None:
    async def find() -> ProgramFound:
        raise ToolError("it is too old: it has no stream-json", code="GEMINI_CLI_ERROR")

    answer = ask(replace(parts, find=find))

    assert answer["status"] == "degraded"
    assert answer["problems"] == ["it is too old: it has no stream-json"]
    assert "version" not in answer["diagnostics"]["backend"]
    assert "readOnlyModeEnforced" not in answer["diagnostics"]


def test_program_that_is_used_in_place_of_the_first_is_the_one_that_is_told_of(parts: HealthParts) -> None:
    async def find() -> ProgramFound:
        return Program("/opt/agy", "agy", "1.1.22")

    answer = ask(replace(with_environ(parts, GEMINI_API_KEY=""), find=find, held=_yes))

    assert answer["status"] == "ok"
    assert answer["diagnostics"]["backend"] == {"name": "agy", "program": "/opt/agy", "version": "1.1.22"}
    assert answer["diagnostics"]["geminiOnPath"] is True
    assert "geminiVersion" not in answer["diagnostics"]
    assert "gitIgnoreRespected" not in answer["diagnostics"]
    assert "run `agy` once" in answer["diagnostics"]["warnings"][0]


async def _yes(_program: ProgramFound) -> Held:
    return Held(True)


def test_read_only_mode_that_cannot_be_enforced_degrades(parts: HealthParts) -> None:
    async def no(_program: ProgramFound) -> Held:
        return Held(False, ("an administrator allows more",))

    answer = ask(replace(parts, held=no))

    assert answer["status"] == "degraded"
    assert answer["diagnostics"]["readOnlyModeEnforced"] is False
    assert answer["diagnostics"]["warnings"][-1] == "an administrator allows more"


def test_what_holds_a_program_that_is_not_known_is_left_out(parts: HealthParts) -> None:
    async def unknown(_program: ProgramFound) -> Held:
        return Held(None, ("it promises to",))

    diagnostics = ask(replace(parts, held=unknown))["diagnostics"]

    assert "readOnlyModeEnforced" not in diagnostics
    assert diagnostics["warnings"][-1] == "it promises to"


def test_store_that_does_not_answer_degrades(parts: HealthParts) -> None:
    async def store() -> StoreHealth:
        return StoreHealth(kind="redis", is_reachable=False)

    answer = ask(replace(parts, store=store))

    assert answer["status"] == "degraded"
    assert "redis store" in answer["problems"][0]
    assert answer["diagnostics"]["store"] == {"kind": "redis", "reachable": False}


def test_store_says_itself_what_is_wrong_with_it(parts: HealthParts) -> None:
    async def store() -> StoreHealth:
        return StoreHealth(kind="redis", is_reachable=False, problem="WORKBENCH_STORE: redis://host refuses")

    assert ask(replace(parts, store=store))["problems"] == ["WORKBENCH_STORE: redis://host refuses"]


@pytest.mark.parametrize("name", ["find", "held", "store"])
def test_check_that_breaks_is_an_error_without_its_text(
    parts: HealthParts, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> Any:
        raise OSError(f"redis://:{SECRET}@host")

    changes: dict[str, Any] = {name: broken}
    with caplog.at_level(logging.CRITICAL):
        answer = ask(replace(parts, **changes))

    assert answer["status"] == "error"
    assert "log" in answer["problems"][0]
    assert answer["diagnostics"]["retry"]


@pytest.mark.parametrize("name", ["find", "held", "store"])
def test_check_that_hangs_is_given_up(parts: HealthParts, name: str) -> None:
    async def hangs(*_: object) -> Any:
        await asyncio.Event().wait()

    changes: dict[str, Any] = {name: hangs}
    answer = ask(replace(parts, check_s=0.05, probe_s=0.05, **changes))

    assert answer["status"] == "error"
    assert "took longer than 0.05 s" in answer["problems"][0]


def test_timeout_inside_of_a_check_is_a_failure_of_that_check(
    parts: HealthParts, caplog: pytest.LogCaptureFixture
) -> None:
    async def store() -> StoreHealth:
        raise TimeoutError

    with caplog.at_level(logging.CRITICAL):
        answer = ask(replace(parts, store=store))

    assert "took longer" not in answer["problems"][0]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda parts: parts, "ok"),
        (lambda parts: with_environ(parts, PATH=""), "degraded"),
        (lambda parts: with_environ(parts, GEMINI_API_KEY=""), "degraded"),
    ],
    ids=["healthy", "no program", "no authentication"],
)
def test_short_and_long_form_agree(
    parts: HealthParts, change: Callable[[HealthParts], HealthParts], status: str
) -> None:
    changed = change(parts)

    assert [ask(changed, diagnostics=each)["status"] for each in (False, True)] == [status, status]
