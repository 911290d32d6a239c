"""The results of `health_check`: the same in its short and its long form, and bounded if a check hangs or breaks."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.programs.access import SANDBOX, describe_isolation

from workbench_research.backends.retry import RetryConfig
from workbench_research.doctor.health import HealthParts, StoreHealth, health

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
Change = Callable[[HealthParts], HealthParts]


def returning(value: Any) -> Any:
    async def check(*_: object) -> Any:
        return value

    return check


def raising(error: Exception) -> Any:
    async def check(*_: object) -> Any:
        raise error

    return check


async def hanging(*_: object) -> Any:
    await asyncio.Event().wait()


@pytest.fixture
def parts(tmp_path: Path) -> HealthParts:
    """A healthy server: a program on PATH, a key, a store that answers."""
    return HealthParts(
        server_name="workbench",
        server_version="1.2.3",
        project_root=tmp_path,
        version=returning("0.61.0"),
        backend="gemini-cli",
        program="/bin/gemini",
        is_on_path=True,
        auth_method="api_key",
        retry=RetryConfig,
        retry_statistics=lambda: {"total_calls": 3, "total_retries": 1},
        store=returning(StoreHealth(kind="memory", is_reachable=True)),
        models={"flash": ("a", "b", ""), "pro": ("",)},
        operations=({"id": "1", "tool": "quick_query"},),
        backends=lambda: [{"name": "openai", "ready": False}],
    )


def ask(parts: HealthParts, *, diagnostics: bool = True) -> dict[str, Any]:
    answer = asyncio.run(health(include_diagnostics=diagnostics, parts=parts))
    assert SECRET not in json.dumps(answer)
    return answer


def test_a_healthy_server_is_ok_and_its_short_form_runs_nothing(parts: HealthParts) -> None:
    unexpected = raising(AssertionError())

    assert ask(replace(parts, version=unexpected, store=unexpected), diagnostics=False) == {
        "tool": "health_check",
        "status": "ok",
        "server": {"name": "workbench", "version": "1.2.3"},
    }


def test_diagnostics_contain_all_details(parts: HealthParts, tmp_path: Path) -> None:
    answer = ask(parts)

    assert answer["status"] == "ok"
    warnings = answer["diagnostics"].pop("warnings")
    assert answer["diagnostics"] == {
        "projectRoot": str(tmp_path),
        "geminiOnPath": True,
        "geminiVersion": "0.61.0",
        "backend": {"name": "gemini-cli", "program": "/bin/gemini", "version": "0.61.0"},
        "backends": [{"name": "openai", "ready": False}],
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
    (warning,) = warnings
    assert ".gitignore" in warning


def test_programs_that_are_not_isolated_are_named(parts: HealthParts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "off")

    diagnostics = ask(replace(parts, unconfined=("docker", "make")))["diagnostics"]

    assert diagnostics["isolation"].startswith("none, since TOOLMASON_SANDBOX is set: programs are not isolated")
    assert diagnostics["warnings"][1].startswith("Isolation of programs: none")
    assert diagnostics["warnings"][2].endswith("neither files nor network for them: `docker`, `make`.")


def no_attempts() -> RetryConfig:
    return RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": "0"})


ABSENT: Any = object()
DEGRADED: dict[str, tuple[Change, str, dict[str, Any]]] = {
    "nothing to ask": (
        lambda parts: replace(parts, backend="", program="", select_problem="set GEMINI_API_KEY"),
        "set GEMINI_API_KEY",
        {"authConfigured": False, "backend": ABSENT, "geminiVersion": ABSENT, "gitIgnoreRespected": ABSENT},
    ),
    "no attempt": (lambda parts: replace(parts, retry=no_attempts), "GEMINI_RETRY_MAX_ATTEMPTS", {}),
}
DEGRADED_BY_DIAGNOSTICS: dict[str, tuple[Change, str, dict[str, Any]]] = {
    "a broken program": (
        lambda parts: replace(parts, version=raising(ToolError("it cannot be used", code="GEMINI_CLI_ERROR"))),
        "it cannot be used",
        {"geminiVersion": ABSENT},
    ),
    "no store": (
        lambda parts: replace(parts, store=returning(StoreHealth(kind="redis", is_reachable=False))),
        "the redis store",
        {"store": {"kind": "redis", "reachable": False}},
    ),
    "a store with a reason": (
        lambda parts: replace(parts, store=returning(StoreHealth(kind="redis", is_reachable=False, problem="refused"))),
        "refused",
        {},
    ),
}


@pytest.mark.parametrize(("change", "problem", "_"), DEGRADED.values(), ids=DEGRADED.keys())
def test_the_short_form_reports_the_problems_that_need_no_program_to_run(
    parts: HealthParts, change: Change, problem: str, _: dict[str, Any]
) -> None:
    answer = ask(change(parts), diagnostics=False)

    assert answer["status"] == "degraded"
    assert problem in answer["problems"][0]


@pytest.mark.parametrize(
    ("change", "problem", "details"),
    [*DEGRADED.values(), *DEGRADED_BY_DIAGNOSTICS.values()],
    ids=[*DEGRADED, *DEGRADED_BY_DIAGNOSTICS],
)
def test_diagnostics_report_every_problem_and_leave_out_unknown_details(
    parts: HealthParts, change: Change, problem: str, details: dict[str, Any]
) -> None:
    answer = ask(change(parts))

    assert answer["status"] == "degraded"
    assert problem in answer["problems"][0]
    assert {name: answer["diagnostics"].get(name, ABSENT) for name in details} == details


@pytest.mark.parametrize("name", ["version", "store"])
@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (raising(OSError(f"redis://:{SECRET}@host")), "failed; the server's log has the reason"),
        (raising(TimeoutError()), "failed; the server's log has the reason"),
        (hanging, "took longer than 0.05 s"),
    ],
    ids=["an error", "a time-out of its own", "no end"],
)
def test_a_check_that_cannot_be_completed_is_an_error_without_its_text(
    parts: HealthParts, name: str, check: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    changes: dict[str, Any] = {name: check}
    with caplog.at_level(logging.CRITICAL):
        answer = ask(replace(parts, check_timeout_s=0.05, probe_timeout_s=0.05, **changes))

    assert answer["status"] == "error"
    assert problem in answer["problems"][0]
    assert answer["diagnostics"]["retry"]


def test_an_api_needs_no_program(parts: HealthParts) -> None:
    report = ask(replace(parts, backend="anthropic", program="", version=raising(AssertionError())))

    assert report["status"] == "ok"
    assert report["diagnostics"]["backend"] == {"name": "anthropic"}
    assert report["diagnostics"]["warnings"] == []
