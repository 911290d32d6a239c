"""Tries again what failed for a reason that passes: how often, after how long, and what became of it.

The configuration, its environment variables, the formula, the statistics and `retry_async` are those of the
specification, on top of `tenacity`, with three differences that are meant: the longest delay is the longest after the
jitter as well, errors are judged by `classify` where no patterns are given, and what an error says of when to try again
counts.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolmason_runtime import ToolError

from workbench_handlers.model_backends.failures import AttemptError, classify
from workbench_handlers.model_backends.messages import plain, retry_after, says
from workbench_handlers.model_backends.redaction import redact

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

T = TypeVar("T")

_SWITCHED_ON: Final = {"true", "1", "yes", "on"}
_SWITCHED_OFF: Final = {"false", "0", "no", "off"}

_MAX_SHOWN: Final = 40
"""Characters of a setting that a warning repeats."""

logger = logging.getLogger(__name__)


@dataclass
class RetryConfig:
    """How often, and after how long, something is tried again. Delays are in seconds.

    `max_attempts` counts the first attempt too. `jitter` moves each delay by up to `jitter_range` of it, so that many
    who failed together do not come back together. The patterns are words of error messages, which are found whole;
    without any, `classify` judges, as it does for a question.
    """

    max_attempts: int = 3
    initial_delay: float = 1.0
    max_delay: float = 60.0
    exponential_base: float = 2.0
    jitter: bool = True
    jitter_range: float = 0.2
    retryable_error_patterns: list[str] | None = None
    non_retryable_error_patterns: list[str] | None = None
    enabled: bool = True

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> RetryConfig:
        """Read `GEMINI_RETRY_*`. A value that cannot be used is warned of once, and the default stands for it.

        Raises:
            ToolError: no attempt is allowed. That is the fault of no argument and of no program.
        """
        default = cls()
        config = cls(
            max_attempts=_number(environ, "GEMINI_RETRY_MAX_ATTEMPTS", int, default.max_attempts),
            initial_delay=_number(environ, "GEMINI_RETRY_INITIAL_DELAY", float, default.initial_delay),
            max_delay=_number(environ, "GEMINI_RETRY_MAX_DELAY", float, default.max_delay),
            exponential_base=_number(environ, "GEMINI_RETRY_BASE", float, default.exponential_base),
            enabled=_switch(environ, "GEMINI_RETRY_ENABLED", default.enabled),
        )
        if config.enabled and config.max_attempts <= 0:
            raise ToolError(
                "This server's settings allow no attempt: set GEMINI_RETRY_MAX_ATTEMPTS to 1 or more",
                code="INTERNAL",
                # An INTERNAL without details is told to be a bug.
                details={"setting": "GEMINI_RETRY_MAX_ATTEMPTS"},
            )
        return config

    def calculate_delay(self, attempt: int, rng: random.Random | None = None) -> float:
        """Give the seconds to wait after an attempt, counted from 0: never less than 0, never more than `max_delay`."""
        most = max(0.0, self.max_delay)
        try:
            delay = self.initial_delay * self.exponential_base**attempt
        except (OverflowError, ZeroDivisionError):
            delay = most
        delay = _within(delay, most)
        if self.jitter:
            spread = (rng or random).uniform(-1.0, 1.0)
            delay += delay * self.jitter_range * spread
        return _within(delay, most)

    def is_retryable(self, error_message: str) -> bool:
        """Tell whether an error with this message passes. An unknown one does not."""
        text = plain(error_message)
        if any(says(pattern, text) for pattern in self.non_retryable_error_patterns or ()):
            return False
        if self.retryable_error_patterns is not None:
            return any(says(pattern, text) for pattern in self.retryable_error_patterns)
        return classify(AttemptError(error_message)).is_repeatable


@dataclass
class RetryStatistics:
    """What became of the calls of this process. `by_error_type` counts the failed ones by why they ended."""

    total_calls: int = 0
    total_retries: int = 0
    total_successes: int = 0
    total_failures: int = 0
    by_error_type: dict[str, int] = field(default_factory=dict)

    @property
    def success_rate(self) -> float:
        """The part of the calls that succeeded, 0.0 to 1.0."""
        return self.total_successes / self.total_calls if self.total_calls else 0.0

    @property
    def average_retries(self) -> float:
        """Retries for each call."""
        return self.total_retries / self.total_calls if self.total_calls else 0.0

    def record_call(self, success: bool, retries: int, error_type: str | None = None) -> None:
        """Count a call that has ended."""
        self.total_calls += 1
        self.total_retries += retries
        if success:
            self.total_successes += 1
            return
        self.total_failures += 1
        if error_type:
            self.by_error_type[error_type] = self.by_error_type.get(error_type, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        """Give the statistics as JSON data."""
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
    """It could have been tried again, and was, as often as allowed."""


class NonRetryableError(Exception):
    """Trying again is of no use."""


Sleep = Callable[[float], Awaitable[None]]


async def retry_async(
    func: Callable[..., Awaitable[T]],
    *args: Any,
    config: RetryConfig | None = None,
    operation_name: str = "operation",
    **kwargs: Any,
) -> T:
    """Await `func(*args, **kwargs)`, again if it fails for a reason that passes, and give its result.

    With retries switched off it is called once and what it raises is raised as it is.

    Raises:
        NonRetryableError: it failed for a reason that stays.
        RetryableError: it failed as often as it may be tried, or may not be tried at all.
    """
    config = config or RetryConfig()
    if not config.enabled:
        return await func(*args, **kwargs)
    if config.max_attempts <= 0:
        raise RetryableError(f"Operation failed after {config.max_attempts} attempts")
    course = _Course(config, operation_name)
    retrying = repeating(course.is_repeated, course.delay, before=course.begun, sleep=asyncio.sleep)

    async def call() -> T:
        return await func(*args, **kwargs)

    try:
        result: T = await retrying(call)
    except Exception as error:
        raise course.ended(error) from error
    course.succeeded()
    return result


def repeating(
    is_repeated: Callable[[BaseException], bool],
    delay: Callable[[], float],
    *,
    before: Callable[[], None] = lambda: None,
    sleep: Sleep = asyncio.sleep,
) -> AsyncRetrying:
    """Give what calls a function until it succeeds or `is_repeated` denies an exception, which is raised as it was.

    `delay` gives the seconds to wait before the next attempt, `before` is called before each. Anything that is no
    `Exception`, as the cancellation of a task, ends it at once.
    """
    # Its import takes some milliseconds, and a server that is never asked anything needs none of it.
    from tenacity import AsyncRetrying, retry_if_exception

    def judged(error: BaseException) -> bool:
        return isinstance(error, Exception) and is_repeated(error)

    def begun(_state: RetryCallState) -> None:
        before()

    def waited(_state: RetryCallState) -> float:
        return delay()

    return AsyncRetrying(retry=retry_if_exception(judged), wait=waited, before=begun, sleep=sleep, reraise=True)


def pause(config: RetryConfig, retries: int, asked_s: float | None, rng: random.Random | None = None) -> float | None:
    """Give the seconds to wait before one more attempt after `retries` of them, or None if that is not worth it.

    It is at least what the error asked for, and what asks for longer than `max_delay` is not waited for.
    """
    if retries + 1 >= config.max_attempts or not config.enabled:
        return None
    if asked_s is not None and not asked_s <= config.max_delay:
        return None
    return max(config.calculate_delay(retries, rng), asked_s or 0.0)


class _Course:
    """One `retry_async`: what has been tried, and what that means."""

    def __init__(self, config: RetryConfig, name: str) -> None:
        self._config, self._name = config, name
        self._attempts = 0
        self._delay_s = 0.0
        self._is_retryable = True

    def begun(self) -> None:
        self._attempts += 1
        logger.debug("%s: attempt %d of %d", self._name, self._attempts, self._config.max_attempts)

    def delay(self) -> float:
        return self._delay_s

    def is_repeated(self, error: BaseException) -> bool:
        self._is_retryable = _passes(self._config, error)
        wait = pause(self._config, self._attempts - 1, _asked_s(error)) if self._is_retryable else None
        if wait is None:
            return False
        self._delay_s = wait
        logger.warning(
            "%s: attempt %d failed for a reason that passes: %s. Retrying in %.2f s",
            *(self._name, self._attempts, _told(error), wait),
        )
        return True

    def succeeded(self) -> None:
        if self._attempts > 1:
            logger.info("%s: succeeded after %d retries", self._name, self._attempts - 1)

    def ended(self, error: Exception) -> RetryableError | NonRetryableError:
        told = _told(error)
        if self._is_retryable:
            logger.error("%s: failed after %d attempts: %s", self._name, self._attempts, told)
            return RetryableError(f"Operation failed after {self._attempts} attempts. Last error: {told}")
        logger.error("%s: attempt %d failed for good: %s", self._name, self._attempts, told)
        return NonRetryableError(f"Non-retryable error: {told}")


def _passes(config: RetryConfig, error: BaseException) -> bool:
    """Tell whether an exception passes: by its type where that says it, else by its message."""
    if isinstance(error, AttemptError):
        return classify(error).is_repeatable
    if isinstance(error, NonRetryableError | RetryableError):
        return isinstance(error, RetryableError)
    return isinstance(error, TimeoutError | ConnectionError) or config.is_retryable(str(error))


def _asked_s(error: BaseException) -> float | None:
    asked = getattr(error, "retry_after_s", None)
    return asked if isinstance(asked, int | float) else retry_after(str(error))


def _told(error: BaseException) -> str:
    return redact(str(error) or type(error).__name__, os.environ)


def _within(delay: float, most: float) -> float:
    return 0.0 if math.isnan(delay) else min(max(0.0, delay), most)


def _number(environ: Mapping[str, str], name: str, kind: Callable[[str], Any], default: Any) -> Any:
    said = environ.get(name, "").strip()
    if not said:
        return default
    try:
        number = kind(said)
        if math.isfinite(number):
            return number
    except (ValueError, OverflowError):
        pass
    logger.warning("%s is not a number that can be used: %r. %s stands for it", name, _short(said), default)
    return default


def _short(said: str) -> str:
    return said if len(said) <= _MAX_SHOWN else f"{said[:_MAX_SHOWN]}..."


def _switch(environ: Mapping[str, str], name: str, default: bool) -> bool:
    said = environ.get(name, "").strip().lower()
    if not said:
        return default
    if said not in _SWITCHED_ON | _SWITCHED_OFF:
        logger.warning("%s is neither true nor false: %r. %s stands for it", name, _short(said), str(default).lower())
        return default
    return said in _SWITCHED_ON
