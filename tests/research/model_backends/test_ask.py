from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_cli import (
    GEMINI_HELP,
    Fake,
    Script,
    answered,
    failed,
    half_an_answer,
    invalid_output,
    no_model,
    quota,
    silent,
    unauthenticated,
)
from gemini_api import GeminiApi, Refuse, Say
from toolmason_runtime import ToolError

from workbench_research.backends.ask import ask_with_retries
from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.question import Answer, Question
from workbench_research.backends.retry import RetryConfig, RetryStatistics
from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.ask import ask_model
from workbench_research.model_backends.detect import parse_features
from workbench_research.model_backends.gemini import GeminiAdapter

MakeFake = Callable[..., Fake]

TIERS = ("flash-3", "flash-2.5", "")
KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"

QUOTA = AttemptError("", status=429)
BUSY = AttemptError("", status=503)
GONE = AttemptError("", status=404)
SLOW = AttemptError("", timed_out=True)
LOST = AttemptError("fetch failed", exit_code=1)
DAY = AttemptError("Quota exceeded for requests per day", status=429)
WAIT_34 = AttemptError("", status=429, retry_after_s=34.5)
WAIT_LONG = AttemptError("Please retry in 2h", status=429)
OFF = RetryConfig(enabled=False)


@dataclass
class Asked:
    """One question, its attempts, waits and reports."""

    models: tuple[str, ...] = TIERS
    retry: RetryConfig = field(default_factory=lambda: RetryConfig(jitter=False))
    statistics: RetryStatistics = field(default_factory=RetryStatistics)
    tried: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    def outcome(self, *results: Exception | str) -> Answer:
        """Return the answer if the attempts have these results, one each: an error, or the text of an answer."""

        async def attempt(model: str) -> Answer:
            self.tried.append(model)
            result = results[len(self.tried) - 1]
            if isinstance(result, Exception):
                raise result
            return Answer(text=result, model=model or "chosen", latency_ms=1, warnings=("its own",))

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        async def report(text: str) -> None:
            self.reports.append(text)
            raise ConnectionError  # the client is gone

        question = Question(prompt=f"why? {KEY}", directory=Path("/"), models=self.models)
        how: dict[str, Any] = {"retry": self.retry, "statistics": self.statistics, "report": report, "sleep": sleep}
        return asyncio.run(ask_with_retries(question, attempt, program="gemini", **how))

    def error(self, *results: Exception | str) -> ToolError:
        """Return the error if the attempts have these results."""
        with pytest.raises(ToolError) as raised:
            self.outcome(*results)
        return raised.value


@pytest.mark.parametrize(
    ("results", "tried", "waits"),
    [
        pytest.param([], ["flash-3"], [], id="answer"),
        *(pytest.param([error] * 2, TIERS, [], id=repr(error)) for error in (QUOTA, BUSY, GONE, DAY)),
        *(pytest.param([error] * 4, [*TIERS, "", ""], [1.0, 2.0], id=f"last {error!r}") for error in (QUOTA, BUSY)),
        *(pytest.param([error], ["flash-3", "flash-3"], [1.0], id=repr(error)) for error in (SLOW, LOST)),
        pytest.param([QUOTA, GONE, WAIT_34], [*TIERS, ""], [34.5], id="stated wait"),
    ],
)
def test_a_question_goes_to_the_next_model_at_once_or_to_the_same_after_a_wait(
    results: list[Exception], tried: list[str], waits: list[float]
) -> None:
    question = Asked()
    answer = question.outcome(*results, "because")

    assert (answer.text, answer.attempts) == ("because", len(results) + 1)
    assert (question.tried, question.waits) == (list(tried), waits)
    skipped = [model or "auto" for model in dict.fromkeys(tried)][:-1]
    assert [warning.split(" was skipped: ")[0] for warning in answer.warnings] == [*skipped, "its own"]
    assert question.statistics.to_dict() | {"average_retries": 0} == {
        "total_calls": 1,
        "total_retries": len(waits),
        "total_successes": 1,
        "total_failures": 0,
        "success_rate": 1.0,
        "average_retries": 0,
        "errors_by_type": {},
    }


@pytest.mark.parametrize(
    ("question", "results", "code", "tried", "error_type"),
    [
        (Asked(), [LOST, QUOTA, LOST, QUOTA, LOST], "GEMINI_CLI_ERROR", 5, "max_retries_exceeded"),
        (Asked(), [QUOTA] * 5, "QUOTA_EXCEEDED", 5, "max_retries_exceeded"),
        (Asked(), [DAY] * 3, "QUOTA_EXCEEDED", 3, "non_retryable"),
        (Asked(models=("pro", "nonesuch")), [QUOTA, GONE], "QUOTA_EXCEEDED", 2, "non_retryable"),
        (Asked(models=("nonesuch",)), [GONE], "GEMINI_CLI_ERROR", 1, "non_retryable"),
        (Asked(models=("pro",)), [WAIT_LONG], "QUOTA_EXCEEDED", 1, "max_retries_exceeded"),
        (Asked(retry=OFF), [QUOTA, LOST], "GEMINI_CLI_ERROR", 2, "max_retries_exceeded"),
        (Asked(), [AttemptError("API key not valid", status=400)], "AUTH_MISSING", 1, "non_retryable"),
        (Asked(), [AttemptError("", exit_code=41)], "AUTH_MISSING", 1, "non_retryable"),
        (Asked(), [AttemptError("odd", exit_code=1)], "GEMINI_CLI_ERROR", 1, "non_retryable"),
        (Asked(), [AttemptError("", exit_code=-9)], "GEMINI_CLI_ERROR", 1, "non_retryable"),
        (Asked(), [ToolError("it is gone", code="NOT_INSTALLED")], "GEMINI_CLI_NOT_FOUND", 1, "non_retryable"),
        (Asked(), [ToolError("it is gone", code="NOT_EXECUTABLE")], "GEMINI_CLI_ERROR", 1, "non_retryable"),
        (Asked(), [ToolError("too long: timeout", code="INVALID_ARGUMENT")], "INVALID_ARGUMENT", 1, "non_retryable"),
    ],
)
def test_a_question_without_an_answer_has_the_code_of_its_failure(
    question: Asked, results: list[Exception], code: str, tried: int, error_type: str
) -> None:
    error = question.error(*results)

    assert error.code == code
    assert len(question.tried) == tried
    assert (question.statistics.total_calls, question.statistics.by_error_type) == (1, {error_type: 1})


def test_progress_names_fallbacks_and_waits_in_the_words_of_the_specification() -> None:
    question = Asked()
    question.outcome(QUOTA, GONE, WAIT_34, "because")

    assert question.reports == [
        "Gemini API quota exceeded. Retrying with fallback model flash-2.5...",
        "The model is not available. Retrying with fallback model auto...",
        "No answer yet (HTTP 429), trying again in 34 s",
    ]


def test_a_final_error_names_models_attempts_and_the_stated_wait() -> None:
    error = Asked().error(*[QUOTA] * 5)
    long = Asked(models=("pro",)).error(WAIT_LONG)

    assert "flash-3, flash-2.5, the automatic choice" in error.message
    assert error.details["attempts"] == 5
    assert "2 hours" in long.message
    assert long.details["retryAfterSeconds"] == 7_200


def test_a_bug_is_counted_and_not_a_tool_error() -> None:
    question = Asked()
    with pytest.raises(ZeroDivisionError):
        question.outcome(ZeroDivisionError())

    assert question.statistics.by_error_type == {"unexpected": 1}


@pytest.mark.parametrize("stage", ["attempt", "wait"])
def test_a_cancelled_question_is_not_counted(stage: str) -> None:
    statistics = RetryStatistics()

    async def test() -> None:
        reached = asyncio.Event()

        async def hang(_: Any) -> Any:
            reached.set()
            await asyncio.Event().wait()

        async def fail(_: str) -> Answer:
            raise LOST

        async def report(_: str) -> None:
            pass

        attempt: Callable[[str], Any] = hang if stage == "attempt" else fail
        question = Question(prompt="why?", directory=Path("/"))
        how: dict[str, Any] = {"retry": RetryConfig(), "statistics": statistics, "report": report, "sleep": hang}
        task = asyncio.create_task(ask_with_retries(question, attempt, program="gemini", **how))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())

    assert statistics.total_calls == 0


def test_errors_and_progress_contain_no_prompt_and_no_secret() -> None:
    question = Asked()
    error = question.error(AttemptError(f"oh {KEY}", exit_code=1))

    assert KEY not in json.dumps([error.message, error.details, question.reports])


ENVIRON = {"PATH": "/usr/bin:/bin", "GEMINI_API_KEY": "a-key-without-a-form"}


def run(
    path: Path | str,
    directory: Path,
    models: tuple[str, ...],
    statistics: RetryStatistics,
    environ: Mapping[str, str] = ENVIRON,
) -> Answer:
    """Ask a program that is really run."""

    async def report(_: str) -> None:
        pass

    program = Program(path=str(path), name="gemini", version="0.61.0", features=parse_features(GEMINI_HELP))
    question = Question(prompt="why?", directory=directory, models=models, timeout_s=60)
    retry = RetryConfig(initial_delay=0.0)
    how: dict[str, Any] = {"retry": retry, "statistics": statistics, "report": report, "environ": environ}
    return asyncio.run(ask_model(question, adapter=GeminiAdapter(), program=program, **how))


def test_a_program_that_meets_a_429_is_ended_and_another_model_answers(fake: MakeFake, project: Path) -> None:
    cli, statistics = fake("gemini", quota(), no_model("flash-2.5"), answered("because")), RetryStatistics()
    answer = run(cli.path, project, TIERS, statistics)

    assert (answer.text, answer.attempts) == ("because", 3)
    assert [warning.partition(" (")[0] for warning in answer.warnings] == [
        "flash-3 was skipped: its quota is exceeded",
        "flash-2.5 was skipped: it is not available",
    ]
    assert ["-m" in each.argv for each in cli.runs] == [True, True, False]
    assert statistics.to_dict()["total_calls"] == 1


def test_a_program_that_loses_its_connection_is_asked_again(fake: MakeFake, project: Path) -> None:
    lost = failed(1, "TypeError: fetch failed\n    at chunk-A.js:404:12 { code: 'ECONNRESET' }\n")
    cli, statistics = fake("gemini", lost, answered("because")), RetryStatistics()

    assert run(cli.path, project, TIERS, statistics).attempts == 2
    assert len(cli.runs) == 2
    assert statistics.total_retries == 1


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (unauthenticated(), "AUTH_MISSING"),
        (invalid_output(), "GEMINI_CLI_ERROR"),
        (silent(), "GEMINI_CLI_ERROR"),
        (half_an_answer(), "GEMINI_CLI_ERROR"),
        (failed(52, "bad settings: a-key-without-a-form"), "GEMINI_CLI_ERROR"),
    ],
    ids=["unauthenticated", "invalid_output", "silent", "killed", "settings"],
)
def test_what_does_not_pass_is_asked_once(fake: MakeFake, project: Path, script: Script, code: str) -> None:
    cli = fake("gemini", script)
    with pytest.raises(ToolError) as raised:
        run(cli.path, project, TIERS, RetryStatistics())

    assert raised.value.code == code
    assert len(cli.runs) == 1
    assert "a-key-without-a-form" not in json.dumps([raised.value.message, raised.value.details])


def test_the_real_program_falls_back_from_a_quota_and_from_a_model_that_is_gone(
    gemini: str, gemini_home: Any, api: GeminiApi, project: Path
) -> None:
    access_warnings = {
        "gemini-a": Refuse(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "gemini-b": Refuse(404, "NOT_FOUND", "models/gemini-b is not found for API version v1beta"),
    }
    api.decides(lambda request: [access_warnings.get(request.model, Say("because"))])
    answer = run(gemini, project, ("gemini-a", "gemini-b", "gemini-c"), RetryStatistics(), gemini_home.environ)

    assert (answer.text, answer.attempts) == ("because", 3)
    assert [each.model for each in api.streamed] == ["gemini-a", "gemini-b", "gemini-c"]
    assert [each.split(" was skipped: ")[1].split(" (")[0] for each in answer.warnings[:2]] == [
        "its quota is exceeded",
        "it is not available",
    ]


def test_the_real_program_with_a_bad_key_is_asked_once(
    gemini: str, gemini_home: Any, api: GeminiApi, project: Path
) -> None:
    api.always(Refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."))
    with pytest.raises(ToolError) as raised:
        run(gemini, project, TIERS, RetryStatistics(), gemini_home.environ)

    assert raised.value.code == "AUTH_MISSING"
    assert raised.value.details["attempts"] == 1
    assert gemini_home.environ["GEMINI_API_KEY"] not in json.dumps([raised.value.message, raised.value.details])


def test_the_error_of_the_real_program_without_an_account_names_the_fix(
    gemini: str, gemini_home: Any, project: Path
) -> None:
    with pytest.raises(ToolError) as raised:
        run(gemini, project, TIERS, RetryStatistics(), gemini_home.without("GEMINI_API_KEY"))

    assert raised.value.code == "AUTH_MISSING"
    assert "set GEMINI_API_KEY" in raised.value.message


def test_whoever_named_another_address_and_no_method_is_told_what_is_missing(fake: MakeFake, project: Path) -> None:
    cli = fake("gemini", unauthenticated())
    environ = {"PATH": os.environ["PATH"], "HOME": str(project), "GEMINI_API_KEY": KEY}
    with pytest.raises(ToolError) as raised:
        run(cli.path, project, TIERS, RetryStatistics(), environ | {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"})

    assert raised.value.code == "AUTH_MISSING"
    assert "selectedType" in raised.value.message
    assert KEY not in raised.value.message


def test_the_real_program_asks_again_when_the_service_is_overloaded(
    gemini: str, gemini_home: Any, api: GeminiApi, project: Path
) -> None:
    api.will(Refuse(503, "UNAVAILABLE", "The model is overloaded. Please try again later."))
    api.always(Say("because"))
    statistics = RetryStatistics()

    assert run(gemini, project, ("gemini-a",), statistics, gemini_home.environ).attempts == 2
    assert statistics.total_retries == 1
