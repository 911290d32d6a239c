"""Asks one question until it is answered: other models, other attempts, and then the truth.

The specification knows two ways to go on after a failure. Feature 1 (retries) waits and asks the same model again
where the reason passes; section 7.3 (tiers) asks the next model at once where the model has no quota, no capacity or
does not exist, and lets everything else fail fast. A 429 and a 503 are both. They are joined like this:

1. No quota, no capacity, no such model: the next model, at once and for nothing. Waiting would cost the person time
   that another model does not, and asking the same model again uses up more of what has run out.
2. The same on the last model: there is no other way but to wait, so 429 and 503 are retried there; a quota that is
   gone for the day, a wait that is longer than `max_delay` and a model that does not exist are not.
3. A timeout, a lost connection, an error of the server: the same model again, whichever it is, since another model
   stands behind the same network. Retries are counted over all models, so `max_attempts` bounds what a question may
   cost: at most `max_attempts - 1` waits, and one attempt more for each further model.
4. Anything else ends it at once, a bad key first of all.

With retries switched off (3) and (2) fail at once, and (1) remains.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.model_backends.adapter import Adapter, Program
from workbench_handlers.model_backends.failures import AttemptError, Failure, Kind, classify, tool_error
from workbench_handlers.model_backends.logs import record
from workbench_handlers.model_backends.question import Answer, Question, Report
from workbench_handlers.model_backends.retrying import RetryConfig, RetryStatistics, Sleep, pause, repeating
from workbench_handlers.workspace.packages import require_for_questions

Attempt = Callable[[str], Awaitable[Answer]]
"""Asks the model of this name once."""
Place = Callable[[], AbstractAsyncContextManager[None]]
"""Gives what a program may run in: it waits until there is room."""

_GONE: Final = {"NOT_INSTALLED", "NOT_EXECUTABLE"}
"""Codes of the runtime for a program that cannot be started."""

logger = logging.getLogger(__name__)


async def ask(
    question: Question,
    *,
    adapter: Adapter,
    program: Program,
    retry: RetryConfig,
    statistics: RetryStatistics,
    report: Report,
    environ: Mapping[str, str] | None = None,
    place: Place = nullcontext,
) -> Answer:
    """Give the answer of the first model that has one. `environ` is the server's (None: that of this process).

    Each attempt has a `place`, which is free for others while it waits to try again.

    Its `attempts`, `latency_ms` and `warnings` are those of all attempts. The statistics count the question once, and
    not at all if it was cancelled.

    Raises:
        ToolError: there was no answer; the code is one of the specification's Appendix B.
    """
    from workbench_handlers.model_backends.running import attempt

    require_for_questions()

    async def once(model: str) -> Answer:
        async with place():
            return await attempt(adapter, program, question, model, report=report, environ=environ)

    return await asked(
        question, once, program=program.name, retry=retry, statistics=statistics, report=report, environ=environ
    )


async def asked(
    question: Question,
    attempt: Attempt,
    *,
    program: str,
    retry: RetryConfig,
    statistics: RetryStatistics,
    report: Report,
    environ: Mapping[str, str] | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Answer:
    """Do what `ask` does with whatever asks a model once."""
    course = _Course(question, attempt, program, retry, report)
    started = time.monotonic()
    try:
        answer = await course.run(sleep)
    except AttemptError as error:
        statistics.record_call(False, course.retries, course.why)
        raise await course.given_up(error, environ) from error
    except ToolError as error:
        statistics.record_call(False, course.retries, "non_retryable")
        if error.code in _GONE:
            raise ToolError(error.message, code="GEMINI_CLI_NOT_FOUND", details=error.details) from error
        raise
    except Exception:
        statistics.record_call(False, course.retries, "unexpected")
        raise
    statistics.record_call(True, course.retries)
    return course.answered(answer, round((time.monotonic() - started) * 1000))


class _Course:
    """One question: which model is asked now, what has failed, and what comes next."""

    def __init__(self, question: Question, attempt: Attempt, program: str, retry: RetryConfig, report: Report) -> None:
        self._question, self._attempt, self._program = question, attempt, program
        self._retry, self._report = retry, report
        self._models = question.models or ("",)
        self._place = 0
        self._skipped: list[Failure] = []
        self._news = ""
        self._delay_s = 0.0
        self.attempts = 0
        self.retries = 0
        self.warnings: list[str] = []
        self.why = "non_retryable"

    async def run(self, sleep: Sleep) -> Answer:
        """Give the first answer, or raise what the last attempt raised."""
        if self._retry.enabled and self._retry.max_attempts <= 0:
            raise ToolError("GEMINI_RETRY_MAX_ATTEMPTS allows no attempt: set it to 1 or more", code="INTERNAL")

        async def waited(seconds: float) -> None:
            with suppress(Exception):
                # Who listened may be gone, and others may wait for the same answer.
                await self._report(self._news)
            if seconds:
                await sleep(seconds)

        answer: Answer = await repeating(self._goes_on, lambda: self._delay_s, sleep=waited)(self._once)
        return answer

    async def _once(self) -> Answer:
        self.attempts += 1
        model = self._models[self._place]
        self._log(logging.DEBUG, "asking", prompt=self._question.prompt)
        return await self._attempt(model)

    def _goes_on(self, error: BaseException) -> bool:
        """Decide what comes after a failed attempt."""
        if not isinstance(error, AttemptError):
            return False
        failure = classify(error)
        if failure.needs_model and self._place + 1 < len(self._models):
            self._fall(failure)
            return True
        wait = pause(self._retry, self.retries, failure.retry_after_s) if failure.is_repeatable else None
        if wait is None:
            self.why = "max_retries_exceeded" if failure.is_repeatable else "non_retryable"
            return False
        self.retries += 1
        self._delay_s = wait
        self._news = f"No answer yet ({failure.reason}), trying again in {wait:.0f} s"
        self._log(logging.WARNING, "it will be tried again", reason=failure.reason, retryInSeconds=round(wait, 2))
        return True

    def _fall(self, failure: Failure) -> None:
        """Go to the next model."""
        model = self._shown()
        self._place += 1
        self._delay_s = 0.0
        self._skipped.append(failure)
        self.warnings.append(f"{model} was skipped: {_why(failure)} ({failure.reason})")
        self._news = f"{_news(failure)} Retrying with fallback model {self._shown()}..."
        self._log(logging.WARNING, "falling back to another model", skipped=model, reason=failure.reason)

    async def given_up(self, error: AttemptError, environ: Mapping[str, str] | None) -> ToolError:
        """Say what went wrong in the end. Where one model had no quota and the last does not exist, it is the quota."""
        failure = classify(error)
        if failure.kind is Kind.MODEL:
            failure = next((each for each in self._skipped if each.kind is Kind.QUOTA), failure)
        elif failure.kind is Kind.AUTH and not failure.advice:
            failure = replace(failure, advice=await asyncio.to_thread(self._unmet, environ))
        tried = self._models[: self._place + 1]
        told = tool_error(failure, program=self._program, attempts=self.attempts, models=tried, environ=environ)
        self._log(logging.ERROR, "gave up", code=told.code, reason=failure.reason, stderr=error.text)
        return told

    def _unmet(self, environ: Mapping[str, str] | None) -> str:
        """Say what a look at settings and variables shows to be missing; empty if nothing more than an account."""
        from workbench_handlers.doctor.auth import NONE, find_auth

        given = os.environ if environ is None else environ
        auth = find_auth(given, self._question.folder, backend=self._program)
        return auth.hint if auth.configured is False and auth.method != NONE else ""

    def answered(self, answer: Answer, latency_ms: int) -> Answer:
        """Give the answer with what it took in all."""
        self._log(logging.INFO, "answered", latencyMs=latency_ms, tokensUsed=answer.tokens, toolCalls=answer.tool_calls)
        warnings = (*self.warnings, *answer.warnings)
        return replace(answer, attempts=self.attempts, latency_ms=latency_ms, warnings=warnings)

    def _log(self, level: int, message: str, **fields: Any) -> None:
        common = {"program": self._program, "model": self._shown(), "attempt": self.attempts}
        record(logger, level, message, **common, **fields)

    def _shown(self) -> str:
        return self._models[self._place] or "auto"


def _why(failure: Failure) -> str:
    match failure.kind:
        case Kind.QUOTA:
            return "its quota is exceeded"
        case Kind.MODEL:
            return "it is not available"
    return "it has no capacity now"


def _news(failure: Failure) -> str:
    match failure.kind:
        case Kind.QUOTA:
            return "Gemini API quota exceeded."
        case Kind.MODEL:
            return "The model is not available."
    return "The model has no capacity now."
