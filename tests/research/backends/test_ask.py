from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError

from workbench_research.backends.ask import ask_with_retries
from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.failures import BROKEN, SPENT
from workbench_research.backends.question import Answer, Question
from workbench_research.backends.retry import RetryConfig, RetryStatistics

TIERS = ("flash-3", "flash-2.5", "")
KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"

QUOTA = AttemptError("", status=429)
BUSY = AttemptError("", status=503)
GONE = AttemptError("", status=404)
SLOW = AttemptError("", timed_out=True)
LOST = AttemptError("fetch failed", error_type="fetch failed", decided=BROKEN)
DAY = AttemptError("Quota exceeded for requests per day", status=429, decided=SPENT)
WAIT_34 = AttemptError("", status=429, retry_after_s=34.5)
WAIT_LONG = AttemptError("", status=429, retry_after_s=7_200.0)
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
        (Asked(), [AttemptError("API key not valid", status=401)], "AUTH_MISSING", 1, "non_retryable"),
        (Asked(), [AttemptError("", status=403)], "AUTH_MISSING", 1, "non_retryable"),
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
