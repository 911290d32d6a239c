"""Retries with exponential backoff, on top of `tenacity`.

Names, environment variables, delays and statistics are those of the specification, with four differences: no delay
exceeds `max_delay`, jitter included; a pattern matches whole words, and a number only where it is a status; a delay is
never shorter than the wait that the error states; and the last error is raised as it is, without a wrapper.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolmason_runtime import ToolError

from workbench_research.backends.error_text import retry_after
from workbench_research.backends.failure_kinds import AttemptError, classify
from workbench_research.redaction import excerpt

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
OnRetry = Callable[[Exception, float], Awaitable[None]]
"""Called before the wait that precedes a retry, with the error and the seconds."""

_SWITCHES: Final = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)
_MAX_SETTING_CHARS: Final = 40
_MAX_ERROR_CHARS: Final = 500

_RETRYABLE: Final = (
    *("rate limit", "quota", "timeout", "timed out", "connection", "temporarily unavailable", "service unavailable"),
    *("too many requests", "internal error", "429", "502", "503", "504"),
)
_NON_RETRYABLE: Final = (
    *("authentication", "unauthorized", "invalid api key", "permission denied", "invalid request", "bad request"),
    *("not found", "400", "401", "403", "404"),
)
"""The patterns of the specification."""
_STATUS: Final = r"(?:^|\b(?:http(?:/[\d.]{1,3})?|status|code|error)[\s:=\"'()]{1,4})"
"""What is before a status: `HTTP 502`, `"code": 503`, or the beginning of a text. `worker.py:503` is none."""

logger = logging.getLogger(__name__)


@dataclass
class RetryConfig:
    """Number of attempts, the first one included, and the delays between them in seconds.

    `jitter` changes each delay by up to `jitter_range` of it. The patterns are words of error messages; upper and lower
    case are equal.
    """

    max_attempts: int = 3
    initial_delay: float = 1.0
    max_delay: float = 60.0
    exponential_base: float = 2.0
    jitter: bool = True
    jitter_range: float = 0.2
    retryable_error_patterns: Sequence[str] = _RETRYABLE
    non_retryable_error_patterns: Sequence[str] = _NON_RETRYABLE
    enabled: bool = True

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> RetryConfig:
        """Read `GEMINI_RETRY_*`. An invalid value is logged, and the default used.

        Raises:
            ToolError: the settings allow no attempt.
        """
        config = cls(
            max_attempts=_setting(environ, "GEMINI_RETRY_MAX_ATTEMPTS", int, cls.max_attempts),
            initial_delay=_setting(environ, "GEMINI_RETRY_INITIAL_DELAY", _number, cls.initial_delay),
            max_delay=_setting(environ, "GEMINI_RETRY_MAX_DELAY", _number, cls.max_delay),
            exponential_base=_setting(environ, "GEMINI_RETRY_BASE", _number, cls.exponential_base),
            enabled=_setting(environ, "GEMINI_RETRY_ENABLED", lambda text: _SWITCHES[text.lower()], cls.enabled),
        )
        if config.enabled and config.max_attempts <= 0:
            raise ToolError(
                "This server's settings allow no attempt: set GEMINI_RETRY_MAX_ATTEMPTS to 1 or more",
                code="INTERNAL",
                details={
                    "setting": "GEMINI_RETRY_MAX_ATTEMPTS"
                },  # an INTERNAL error without details is reported as a bug
            )
        return config

    def calculate_delay(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 0; at least 0, at most `max_delay`."""
        try:
            delay = min(self.initial_delay * self.exponential_base**attempt, self.max_delay)
        except OverflowError:
            delay = self.max_delay
        if self.jitter:
            delay += delay * random.uniform(-self.jitter_range, self.jitter_range)  # noqa: S311  no secret
        return max(0.0, min(delay, self.max_delay))

    def is_retryable(self, error_message: str) -> bool:
        """Return whether an error with this message is transient. Unknown errors are not."""
        text = error_message.lower()
        if any(_contains(text, pattern) for pattern in self.non_retryable_error_patterns):
            return False
        return any(_contains(text, pattern) for pattern in self.retryable_error_patterns)


def _contains(text: str, pattern: str) -> bool:
    before = _STATUS if re.fullmatch(r"[45]\d\d", pattern) else r"(?<!\w)"
    return re.search(rf"{before}{re.escape(pattern.lower())}(?!\w)", text) is not None


@dataclass
class RetryStatistics:
    """Results of the calls of this process. `by_error_type` counts failed calls by the way they ended."""

    total_calls: int = 0
    total_retries: int = 0
    total_successes: int = 0
    total_failures: int = 0
    by_error_type: dict[str, int] = field(default_factory=dict)

    @property
    def success_rate(self) -> float:
        """Share of successful calls, 0.0 to 1.0."""
        return self.total_successes / self.total_calls if self.total_calls else 0.0

    @property
    def average_retries(self) -> float:
        """Retries per call."""
        return self.total_retries / self.total_calls if self.total_calls else 0.0

    def record_call(self, success: bool, retries: int, error_type: str | None = None) -> None:
        """Count a finished call."""
        self.total_calls += 1
        self.total_retries += retries
        self.total_successes += success
        self.total_failures += not success
        if error_type and not success:
            self.by_error_type[error_type] = self.by_error_type.get(error_type, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return {
            "total_calls": self.total_calls,
            "total_retries": self.total_retries,
            "total_successes": self.total_successes,
            "total_failures": self.total_failures,
            "success_rate": self.success_rate,
            "average_retries": self.average_retries,
            "errors_by_type": dict(self.by_error_type),
        }


class RetryableError(Exception):
    """A transient error, whatever its text: `retry_async` calls the function again."""


class NonRetryableError(Exception):
    """A permanent error, whatever its text: `retry_async` does not call the function again."""


async def retry_async(
    func: Callable[..., Awaitable[T]],
    *args: Any,
    config: RetryConfig | None = None,
    operation_name: str = "operation",
    on_retry: OnRetry | None = None,
    sleep: Sleep = asyncio.sleep,
    **kwargs: Any,
) -> T:
    """Return the result of `func(*args, **kwargs)`, called again after transient errors.

    An error that states a longer wait than `max_delay` is not retried. With retries disabled, `func` is called once.

    Raises:
        Exception: the last error of `func`, unchanged: it is permanent, or no attempt is left.
        RetryableError: `config` allows no attempt.
    """
    config = config or RetryConfig()
    if not config.enabled:
        return await func(*args, **kwargs)
    if config.max_attempts <= 0:
        raise RetryableError(f"Operation failed after {config.max_attempts} attempts")
    # Its import takes some milliseconds; a server that asks no model does not need it.
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    async def call() -> T:
        return await func(*args, **kwargs)

    def wait(state: RetryCallState) -> float:
        return max(config.calculate_delay(state.attempt_number - 1), _stated_wait(_error_of(state)) or 0.0)

    def log_attempt(state: RetryCallState) -> None:
        logger.debug("%s: attempt %d of %d", operation_name, state.attempt_number, config.max_attempts)

    async def announce(state: RetryCallState) -> None:
        error, seconds = _error_of(state), state.upcoming_sleep
        template = "%s: transient error in attempt %d: %s. Retrying in %.2f s"
        logger.warning(template, operation_name, state.attempt_number, _describe(error), seconds)
        if on_retry is not None and isinstance(error, Exception):
            await on_retry(error, seconds)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(config.max_attempts),
        retry=retry_if_exception(lambda error: _is_transient(config, error) and _is_wait_allowed(config, error)),
        wait=wait,
        before=log_attempt,
        before_sleep=announce,
        sleep=sleep,
        reraise=True,
    )
    try:
        result: T = await retrying(call)
    except Exception as error:
        attempts = retrying.statistics["attempt_number"]
        logger.error("%s: failed after %d attempts: %s", operation_name, attempts, _describe(error))  # noqa: TRY400
        raise
    if retrying.statistics["attempt_number"] > 1:
        logger.info("%s: succeeded after %d retries", operation_name, retrying.statistics["attempt_number"] - 1)
    return result


def _is_transient(config: RetryConfig, error: BaseException) -> bool:
    match error:
        case AttemptError():
            return classify(error).is_retryable
        case RetryableError() | TimeoutError() | ConnectionError():
            return True
        case NonRetryableError() | ToolError():
            return False
    return isinstance(error, Exception) and config.is_retryable(str(error))


def _is_wait_allowed(config: RetryConfig, error: BaseException) -> bool:
    return (_stated_wait(error) or 0.0) <= config.max_delay


def _stated_wait(error: BaseException | None) -> float | None:
    if isinstance(error, AttemptError):
        return error.retry_after_s
    return retry_after(str(error))


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _describe(error: BaseException | None) -> str:
    return excerpt(str(error) or type(error).__name__, os.environ, _MAX_ERROR_CHARS)


def _setting(environ: Mapping[str, str], name: str, parse: Callable[[str], Any], default: Any) -> Any:
    text = environ.get(name, "").strip()
    try:
        return parse(text) if text else default
    except (ValueError, KeyError, OverflowError):
        shown = text if len(text) <= _MAX_SETTING_CHARS else f"{text[:_MAX_SETTING_CHARS]}..."
        logger.warning("%s=%r is invalid; using %s", name, shown, default)
        return default


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
