"""Ask a question, with retries and fallback to other models.

After a failure there are two ways to continue: the next model at once, or the same model after a wait. The table of
failure kinds decides:

1. Quota, capacity or unknown model: the next model, at once and without limit. Asking the same model again would use up
   more of its quota.
2. The same for the last model: a wait, if it can help. A daily quota, a wait longer than `max_delay` and an unknown
   model end the question.
3. Timeout, lost connection or server error: the same model after a wait, because all models are behind the same
   network. Retries are counted over all models: a question has at most `max_attempts`, and one more attempt per further
   model.
4. Any other failure ends the question.

With retries disabled, only the fallback to other models remains.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_research.backends.failure_kinds import AttemptError, Failure, Kind, classify, tool_error
from workbench_research.backends.question import Answer, Question, Report
from workbench_research.backends.retry import RetryConfig, RetryStatistics, Sleep, retry_async
from workbench_research.logs import record

Attempt = Callable[[str], Awaitable[Answer]]
"""Asks the named model once."""
Slot = Callable[[], AbstractAsyncContextManager[None]]
"""Returns a slot for one program; entering it waits until one is free."""

_LAUNCH_ERRORS: Final = {"NOT_INSTALLED", "NOT_EXECUTABLE"}
"""Codes of the runtime for a program that cannot be started."""
_SKIP_REASONS: Final = {
    Kind.QUOTA: ("its quota is exceeded", "{api} quota exceeded."),
    Kind.MODEL: ("it is not available", "The model is not available."),
    Kind.TRANSIENT: ("it has no capacity now", "The model has no capacity now."),
}
"""Reason in the warning and in the progress report."""

logger = logging.getLogger(__name__)


async def ask_with_retries(
    question: Question,
    attempt: Attempt,
    *,
    program: str,
    retry: RetryConfig,
    statistics: RetryStatistics,
    report: Report,
    environ: Mapping[str, str] | None = None,
    sleep: Sleep = asyncio.sleep,
    missing_setup: Callable[[], str] = str,
) -> Answer:
    """Return the answer of the first model that has one. `attempt` asks the named model once.

    `environ` is the server's (None: that of this process), whose secrets are in no message. `missing_setup` returns the
    setting that a refused account lacks, or an empty string; it may block. `attempts`, `latency_ms` and `warnings` of
    the answer cover all attempts. The statistics count the question once; a cancelled question is not counted.

    Raises:
        ToolError: there is no answer; the code is one of the specification's Appendix B.
    """
    state = _FallbackState(question, attempt, program, report)
    started = time.monotonic()
    try:
        answer = await retry_async(
            state.ask_models, config=retry, operation_name=program, on_retry=state.report_retry, sleep=sleep
        )
    except Exception as error:
        statistics.record_call(False, state.retries, _error_type(error))
        final = await state.final_error(error, environ, missing_setup)
        if final is error:
            raise
        raise final from error
    statistics.record_call(True, state.retries)
    return state.finish(answer, round((time.monotonic() - started) * 1000))


class _FallbackState:
    """The current model of a question, and the models that failed."""

    def __init__(self, question: Question, attempt: Attempt, program: str, report: Report) -> None:
        self._question, self._attempt, self._program, self._report = question, attempt, program, report
        self._models = question.models or ("",)
        self._index = 0
        self._skipped: list[Failure] = []
        self._warnings: list[str] = []
        self._attempts = 0
        self.retries = 0

    async def ask_models(self) -> Answer:
        """Ask the current model, and at once the next one if it has no quota, no capacity or does not exist."""
        while True:
            self._attempts += 1
            self._log(logging.DEBUG, "asking", prompt=self._question.prompt)
            try:
                return await self._attempt(self._models[self._index])
            except AttemptError as error:
                failure = classify(error)
                if not failure.try_next_model or self._index + 1 == len(self._models):
                    raise
                await self._next_model(failure)

    async def _next_model(self, failure: Failure) -> None:
        model = self._model_name()
        self._index += 1
        self._skipped.append(failure)
        why, news = _SKIP_REASONS[failure.kind]
        self._warnings.append(f"{model} was skipped: {why} ({failure.reason})")
        self._log(logging.WARNING, "falling back to another model", skipped=model, reason=failure.reason)
        news = news.format(api=failure.error.source or "Gemini API")
        await self._send_report(f"{news} Retrying with fallback model {self._model_name()}...")

    async def report_retry(self, error: Exception, wait_s: float) -> None:
        """Count a retry of the current model, and report it."""
        self.retries += 1
        reason = classify(error).reason if isinstance(error, AttemptError) else type(error).__name__
        await self._send_report(f"No answer yet ({reason}), trying again in {wait_s:.0f} s")

    async def _send_report(self, text: str) -> None:
        with suppress(Exception):  # the client may be gone while others wait for the same answer
            await self._report(text)

    async def final_error(
        self, error: Exception, environ: Mapping[str, str] | None, missing_setup: Callable[[], str]
    ) -> Exception:
        """Return the error to raise. If a skipped model had no quota and the last does not exist, report the quota."""
        if isinstance(error, ToolError) and error.code in _LAUNCH_ERRORS:
            code = "GEMINI_CLI_NOT_FOUND" if error.code == "NOT_INSTALLED" else "GEMINI_CLI_ERROR"
            return ToolError(error.message, code=code, details=error.details)
        if not isinstance(error, AttemptError):
            return error
        failure = classify(error)
        if failure.kind is Kind.MODEL:
            failure = next((skipped for skipped in self._skipped if skipped.kind is Kind.QUOTA), failure)
        elif failure.kind is Kind.AUTH and not failure.hint:
            failure = replace(failure, hint=await asyncio.to_thread(missing_setup))
        models = self._models[: self._index + 1]
        final = tool_error(failure, attempts=self._attempts, models=models, environ=environ)
        self._log(logging.ERROR, "gave up", code=final.code, reason=failure.reason, stderr=error.text)
        return final

    def finish(self, answer: Answer, latency_ms: int) -> Answer:
        """Return the answer with the attempts, time and warnings of all models."""
        self._log(logging.INFO, "answered", latencyMs=latency_ms, tokensUsed=answer.tokens, toolCalls=answer.tool_calls)
        warnings = (*self._warnings, *answer.warnings)
        return replace(answer, attempts=self._attempts, latency_ms=latency_ms, warnings=warnings)

    def _log(self, level: int, message: str, **fields: Any) -> None:
        common = {"program": self._program, "model": self._model_name(), "attempt": self._attempts}
        record(logger, level, message, **common, **fields)

    def _model_name(self) -> str:
        return self._models[self._index] or "auto"


def _error_type(error: Exception) -> str:
    """Return the key of an error in the statistics."""
    if isinstance(error, AttemptError) and classify(error).is_retryable:
        return "max_retries_exceeded"
    return "non_retryable" if isinstance(error, AttemptError | ToolError) else "unexpected"
