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
    garbage,
    half_an_answer,
    no_model,
    quota,
    silent,
    unauthenticated,
)
from gemini_api import GeminiApi, Refuse, Say
from toolmason_runtime import ToolError

from workbench_handlers.model_backends.adapter import Program
from workbench_handlers.model_backends.asking import ask, ask_with_retries
from workbench_handlers.model_backends.failure_kinds import AttemptError
from workbench_handlers.model_backends.gemini import Gemini
from workbench_handlers.model_backends.probing import features_of
from workbench_handlers.model_backends.question import Answer, Question
from workbench_handlers.model_backends.retrying import RetryConfig, RetryStatistics

MakeFake = Callable[..., Fake]

TIERS = ("flash-3", "flash-2.5", "")
KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"

QUOTA = AttemptError("", status=429)
BUSY = AttemptError("", status=503)
GONE = AttemptError("", status=404)
SLOW = AttemptError("", timed_out=True)
LOST = AttemptError("fetch failed", exit_code=1)
BAD_KEY = AttemptError("API key not valid", status=400)
DAY = AttemptError("Quota exceeded for requests per day", status=429)


@dataclass
class Asked:
    """One question, and all that came of it."""

    models: tuple[str, ...] = TIERS
    retry: RetryConfig = field(default_factory=lambda: RetryConfig(jitter=False))
    statistics: RetryStatistics = field(default_factory=RetryStatistics)
    tried: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def outcome(self, *fates: Exception | str) -> Answer:
        """Let the attempts meet these fates, one each: an error, or an answer."""

        async def attempt(model: str) -> Answer:
            self.tried.append(model)
            fate = fates[len(self.tried) - 1]
            if isinstance(fate, Exception):
                raise fate
            return Answer(text=fate, model=model or "chosen", latency_ms=1, warnings=("its own",))

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        async def report(text: str) -> None:
            self.told.append(text)

        question = Question(prompt=f"why? {KEY}", folder=Path("/"), models=self.models)
        how: dict[str, Any] = {"retry": self.retry, "statistics": self.statistics, "report": report, "sleep": sleep}
        return asyncio.run(ask_with_retries(question, attempt, program="gemini", **how))

    def error(self, *fates: Exception | str) -> ToolError:
        """Let the attempts meet these fates, and give the error that they end in."""
        with pytest.raises(ToolError) as raised:
            self.outcome(*fates)
        return raised.value


@pytest.fixture
def question() -> Asked:
    return Asked()


def test_the_first_answer_is_the_answer(question: Asked) -> None:
    answer = question.outcome("because")

    assert (answer.text, answer.model, answer.attempts, answer.warnings) == ("because", "flash-3", 1, ("its own",))
    assert (question.waits, question.told) == ([], [])
    assert question.statistics.to_dict()["success_rate"] == 1.0


@pytest.mark.parametrize("error", [QUOTA, BUSY, GONE, DAY], ids=["quota", "busy", "gone", "day"])
def test_a_model_without_quota_or_capacity_or_existence_gives_way_to_the_next_at_once(
    question: Asked, error: AttemptError
) -> None:
    answer = question.outcome(error, error, "because")

    assert question.tried == list(TIERS)
    assert question.waits == []
    assert answer.attempts == 3
    assert [warning.split(" was skipped: ")[0] for warning in answer.warnings] == ["flash-3", "flash-2.5", "its own"]
    assert "HTTP 4" in answer.warnings[0] or "HTTP 503" in answer.warnings[0] or "per day" in answer.warnings[0]
    assert question.statistics.total_retries == 0


def test_who_waits_is_told_of_the_fallback_in_the_words_of_the_specification(question: Asked) -> None:
    question.outcome(QUOTA, GONE, "because")

    assert question.told == [
        "Gemini API quota exceeded. Retrying with fallback model flash-2.5...",
        "The model is not available. Retrying with fallback model auto...",
    ]


@pytest.mark.parametrize("error", [QUOTA, BUSY], ids=["quota", "busy"])
def test_the_last_model_is_waited_for(question: Asked, error: AttemptError) -> None:
    answer = question.outcome(error, error, error, error, "because")

    assert question.tried == [*TIERS, "", ""]
    assert question.waits == [1.0, 2.0]
    assert answer.attempts == 5
    assert question.statistics.total_retries == 2


@pytest.mark.parametrize("error", [SLOW, LOST], ids=["slow", "lost"])
def test_what_is_not_the_models_fault_is_tried_again_with_the_same_model(question: Asked, error: AttemptError) -> None:
    answer = question.outcome(error, "because")

    assert question.tried == ["flash-3", "flash-3"]
    assert question.waits == [1.0]
    assert (answer.attempts, answer.warnings) == (2, ("its own",))


def test_retries_are_counted_over_all_models(question: Asked) -> None:
    error = question.error(LOST, QUOTA, LOST, QUOTA, LOST)

    assert question.tried == ["flash-3", "flash-3", "flash-2.5", "flash-2.5", ""]
    assert question.waits == [1.0, 2.0]
    assert error.code == "GEMINI_CLI_ERROR"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BAD_KEY, "AUTH_MISSING"),
        (AttemptError("", exit_code=41), "AUTH_MISSING"),
        (AttemptError("odd", exit_code=1), "GEMINI_CLI_ERROR"),
        (AttemptError("400 bad request", exit_code=1), "GEMINI_CLI_ERROR"),
        (AttemptError("", exit_code=127), "GEMINI_CLI_ERROR"),
        (AttemptError("", exit_code=-9), "GEMINI_CLI_ERROR"),
    ],
)
def test_anything_else_fails_at_once(question: Asked, error: AttemptError, code: str) -> None:
    assert question.error(error).code == code
    assert question.tried == ["flash-3"]
    assert question.waits == []
    assert question.statistics.by_error_type == {"non_retryable": 1}


def test_quota_that_is_gone_everywhere_is_said_after_the_last_retry(question: Asked) -> None:
    error = question.error(*[QUOTA] * 5)

    assert error.code == "QUOTA_EXCEEDED"
    assert "flash-3, flash-2.5, the automatic choice" in error.message
    assert error.details["attempts"] == 5
    assert question.statistics.by_error_type == {"max_retries_exceeded": 1}
    assert question.statistics.total_calls == 1


def test_the_quota_of_a_day_is_not_waited_for(question: Asked) -> None:
    assert question.error(DAY, DAY, DAY).code == "QUOTA_EXCEEDED"
    assert question.waits == []


def test_a_last_model_that_does_not_exist_does_not_hide_the_quota_of_the_first() -> None:
    assert Asked(models=("pro", "nonesuch")).error(QUOTA, GONE).code == "QUOTA_EXCEEDED"
    assert Asked(models=("nonesuch",)).error(GONE).code == "GEMINI_CLI_ERROR"


def test_it_is_waited_as_long_as_the_service_asks() -> None:
    question = Asked(models=("pro",))
    question.outcome(AttemptError("", status=429, retry_after_s=34.5), "because")

    assert question.waits == [34.5]


def test_a_longer_wait_than_allowed_is_an_error_that_says_how_long() -> None:
    question = Asked(models=("pro",))
    error = question.error(AttemptError("Please retry in 2h", status=429))

    assert question.waits == []
    assert error.details["retryAfterSeconds"] == 7_200
    assert "2 hours" in error.message


def test_without_retries_models_are_still_fallen_back_to() -> None:
    question = Asked(retry=RetryConfig(enabled=False))

    assert question.outcome(QUOTA, "because").model == "flash-2.5"
    assert Asked(retry=RetryConfig(enabled=False)).error(LOST).code == "GEMINI_CLI_ERROR"


@pytest.mark.parametrize("code", ["NOT_INSTALLED", "NOT_EXECUTABLE"])
def test_a_program_that_went_away_is_not_found(question: Asked, code: str) -> None:
    error = question.error(ToolError("it is gone", code=code))

    assert (error.code, error.message) == ("GEMINI_CLI_NOT_FOUND", "it is gone")


def test_what_the_adapter_refuses_is_passed_on(question: Asked) -> None:
    error = ToolError("too long", code="INVALID_ARGUMENT")

    assert question.error(error) is error
    assert question.statistics.total_failures == 1


def test_a_bug_is_no_tool_error_and_is_counted(question: Asked) -> None:
    with pytest.raises(ZeroDivisionError):
        question.outcome(ZeroDivisionError())

    assert question.statistics.by_error_type == {"unexpected": 1}


@pytest.mark.parametrize("stage", ["attempt", "wait"])
def test_cancellation_passes_through_and_is_not_counted(stage: str) -> None:
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
        question = Question(prompt="why?", folder=Path("/"))
        how: dict[str, Any] = {"retry": RetryConfig(), "statistics": statistics, "report": report, "sleep": hang}
        task = asyncio.create_task(ask_with_retries(question, attempt, program="gemini", **how))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())

    assert statistics.total_calls == 0


def test_neither_prompt_nor_secret_is_in_what_is_told(question: Asked) -> None:
    error = question.error(AttemptError(f"oh {KEY}", exit_code=1))

    assert KEY not in json.dumps([error.message, error.details, question.told])


class Deaf:
    """Somebody who is gone."""

    async def __call__(self, text: str) -> None:
        raise ConnectionError(text)


def test_an_answer_comes_although_nobody_listens_any_more() -> None:
    async def attempt(model: str) -> Answer:
        if model:
            raise QUOTA
        return Answer(text="because", model="chosen")

    question = Question(prompt="why?", folder=Path("/"), models=("flash", ""))
    how: dict[str, Any] = {"retry": RetryConfig(), "statistics": RetryStatistics(), "report": Deaf()}

    assert asyncio.run(ask_with_retries(question, attempt, program="gemini", **how)).text == "because"


ENVIRON = {"PATH": "/usr/bin:/bin", "GEMINI_API_KEY": "a-key-without-a-form"}


def run(
    path: Path | str,
    folder: Path,
    models: tuple[str, ...],
    statistics: RetryStatistics,
    environ: Mapping[str, str] = ENVIRON,
) -> Answer:
    """Ask a program that is really run."""

    async def report(_: str) -> None:
        pass

    program = Program(path=str(path), name="gemini", version="0.61.0", features=features_of(GEMINI_HELP))
    question = Question(prompt="why?", folder=folder, models=models, timeout_s=60)
    retry = RetryConfig(initial_delay=0.0)
    how: dict[str, Any] = {"retry": retry, "statistics": statistics, "report": report, "environ": environ}
    return asyncio.run(ask(question, adapter=Gemini(), program=program, **how))


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
        (garbage(), "GEMINI_CLI_ERROR"),
        (silent(), "GEMINI_CLI_ERROR"),
        (half_an_answer(), "GEMINI_CLI_ERROR"),
        (failed(52, "bad settings: a-key-without-a-form"), "GEMINI_CLI_ERROR"),
    ],
    ids=["unauthenticated", "garbage", "silent", "killed", "settings"],
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
    refusals = {
        "gemini-a": Refuse(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "gemini-b": Refuse(404, "NOT_FOUND", "models/gemini-b is not found for API version v1beta"),
    }
    api.decides(lambda request: [refusals.get(request.model, Say("because"))])
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


def test_the_real_program_without_an_account_says_how_to_get_one(gemini: str, gemini_home: Any, project: Path) -> None:
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
