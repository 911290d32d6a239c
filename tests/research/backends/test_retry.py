from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.retry import (
    NonRetryableError,
    RetryableError,
    RetryConfig,
    RetryStatistics,
    retry_async,
)

AT_ONCE = RetryConfig(initial_delay=0.0)
LOGGER = "workbench_research.backends.retry"
seconds = st.floats(0, 1e9)


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """Return a function that raises these errors and then returns an answer, and the list of its calls."""
    calls: list[int] = []

    async def func() -> str:
        calls.append(len(calls))
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return "answer"

    return func, calls


class Records(logging.Handler):
    """Level and text of every record."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.levelname, record.getMessage()))


@pytest.fixture
def logged() -> Iterator[list[tuple[str, str]]]:
    logger, handler = logging.getLogger(LOGGER), Records()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler.records
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_defaults_and_delays_are_those_of_the_specification() -> None:
    config = RetryConfig()
    exact = RetryConfig(jitter=False)

    assert (config.max_attempts, config.initial_delay, config.max_delay) == (3, 1.0, 60.0)
    assert (config.exponential_base, config.jitter, config.jitter_range, config.enabled) == (2.0, True, 0.2, True)
    assert [exact.calculate_delay(attempt) for attempt in (0, 1, 2, 10, 100_000)] == [1.0, 2.0, 4.0, 60.0, 60.0]


@given(st.integers(0, 8))
def test_jitter_changes_a_delay_by_at_most_its_range(attempt: int) -> None:
    assert 0.8 * 2**attempt <= RetryConfig(max_delay=1e9).calculate_delay(attempt) <= 1.2 * 2**attempt


@given(st.builds(RetryConfig, st.integers(), *[seconds] * 3, st.booleans(), seconds), st.integers(0, 10_000))
def test_no_delay_is_negative_or_exceeds_the_maximum(config: RetryConfig, attempt: int) -> None:
    assert 0.0 <= config.calculate_delay(attempt) <= config.max_delay


@pytest.mark.parametrize(
    ("text", "is_retryable"),
    [
        *((text, True) for text in ("Rate limit exceeded", "quota", "Connection lost", "request timed out")),
        *((text, True) for text in ("HTTP 502", "503 Service Unavailable", "Error 504", "Internal error encountered.")),
        ("Connection error while reading handlers/not_found.py", True),
        *((text, False) for text in ("Invalid API key", "Authentication failed", "401 Unauthorized", "HTTP 403")),
        *((text, False) for text in ("404 Not Found", "Permission denied", "something else", "")),
        ("Bad request: rate limit is not a number", False),
        ("took 503 ms at worker.py:502", False),
    ],
)
def test_a_message_is_retryable_as_in_the_specification(text: str, is_retryable: bool) -> None:
    assert RetryConfig().is_retryable(text) == is_retryable


def test_patterns_replace_those_of_the_specification() -> None:
    config = RetryConfig(retryable_error_patterns=["flaky"], non_retryable_error_patterns=["very flaky"])

    assert [config.is_retryable(text) for text in ("It is Flaky.", "very flaky", "timeout")] == [True, False, False]


def test_the_environment_configures() -> None:
    values = {"ENABLED": "false", "MAX_ATTEMPTS": "5", "INITIAL_DELAY": "0.5", "MAX_DELAY": "9", "BASE": "3"}
    config = RetryConfig.from_environ({f"GEMINI_RETRY_{name}": value for name, value in values.items()})

    assert config == RetryConfig(5, 0.5, 9.0, 3.0, enabled=False)
    assert RetryConfig.from_environ({}) == RetryConfig()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_ATTEMPTS", "three"),
        ("MAX_ATTEMPTS", "2.5"),
        ("MAX_ATTEMPTS", "9" * 5_000),
        ("INITIAL_DELAY", "1s"),
        ("MAX_DELAY", "inf"),
        ("MAX_DELAY", "9" * 4_000),
        ("BASE", "nan"),
        ("ENABLED", "perhaps"),
    ],
)
def test_an_invalid_setting_is_logged_and_the_default_used(
    logged: list[tuple[str, str]], name: str, value: str
) -> None:
    assert RetryConfig.from_environ({f"GEMINI_RETRY_{name}": value}) == RetryConfig()

    [(level, text)] = logged
    assert (level, name in text, len(text) < 200) == ("WARNING", True, True)


@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_setting_that_allows_no_attempt_is_an_error_of_the_server(number: str) -> None:
    with pytest.raises(ToolError, match="GEMINI_RETRY_MAX_ATTEMPTS to 1 or more") as raised:
        RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": number})

    assert (raised.value.code, raised.value.details) == ("INTERNAL", {"setting": "GEMINI_RETRY_MAX_ATTEMPTS"})
    assert RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": number, "GEMINI_RETRY_ENABLED": "0"}).enabled is False


def test_a_call_that_succeeds_is_made_once_with_its_arguments() -> None:
    calls = []

    async def func(*args: Any, **kwargs: Any) -> str:
        calls.append((args, kwargs))
        return "answer"

    assert asyncio.run(retry_async(func, 1, config=AT_ONCE, operation_name="x", word="a")) == "answer"
    assert calls == [((1,), {"word": "a"})]


def test_a_function_may_return_any_awaitable() -> None:
    async def test() -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        answer.set_result("answer")
        return await retry_async(lambda: answer, config=AT_ONCE)

    assert asyncio.run(test()) == "answer"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("503"),
        TimeoutError(),
        ConnectionResetError(),
        RetryableError("again"),
        AttemptError("", status=503),
        AttemptError("404", timed_out=True),
    ],
)
def test_a_transient_error_is_retried(error: Exception, logged: list[tuple[str, str]]) -> None:
    func, calls = failing(error)

    assert asyncio.run(retry_async(func, config=AT_ONCE, operation_name="asking")) == "answer"

    assert len(calls) == 2
    assert [level for level, _ in logged] == ["DEBUG", "WARNING", "DEBUG", "INFO"]
    assert "Retrying in 0.00 s" in logged[1][1]
    assert "asking: succeeded after 1 retries" in logged[3][1]


def test_the_last_error_is_raised_when_the_attempts_are_used_up(logged: list[tuple[str, str]]) -> None:
    last = RuntimeError("503 at last")
    func, calls = failing(RuntimeError("503"), RuntimeError("timeout"), last)

    with pytest.raises(RuntimeError) as raised:
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert raised.value is last
    assert (last.__cause__, last.__context__) == (None, None)
    assert len(calls) == 3
    assert logged[-1][1] == "operation: failed after 3 attempts: 503 at last"
    assert [level for level, _ in logged] == ["DEBUG", "WARNING", "DEBUG", "WARNING", "DEBUG", "ERROR"]


@pytest.mark.parametrize(
    "error",
    [RuntimeError("401"), RuntimeError("odd"), NonRetryableError("503"), ToolError("503"), ValueError()],
)
def test_a_permanent_error_is_not_retried(error: Exception, logged: list[tuple[str, str]]) -> None:
    func, calls = failing(error)

    with pytest.raises(type(error)) as raised:
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert raised.value is error
    assert len(calls) == 1
    assert [level for level, _ in logged] == ["DEBUG", "ERROR"]


def test_with_retries_disabled_an_error_is_raised_unchanged() -> None:
    error = RuntimeError("503")
    func, calls = failing(error)

    with pytest.raises(RuntimeError) as raised:
        asyncio.run(retry_async(func, config=RetryConfig(enabled=False)))

    assert raised.value is error
    assert len(calls) == 1


@pytest.mark.parametrize("attempts", [0, -1])
def test_without_attempts_nothing_is_called(attempts: int) -> None:
    func, calls = failing()

    with pytest.raises(RetryableError, match="Operation failed after"):
        asyncio.run(retry_async(func, config=RetryConfig(max_attempts=attempts)))

    assert calls == []


def test_the_wait_is_at_least_the_stated_one_and_is_announced() -> None:
    waits: list[float] = []
    announced: list[tuple[str, float]] = []

    async def sleep(delay: float) -> None:
        waits.append(delay)

    async def on_retry(error: Exception, delay: float) -> None:
        announced.append((str(error), delay))

    func, _ = failing(RuntimeError("429. Please retry in 17s."), AttemptError("oh", status=429, retry_after_s=60.0))
    config = RetryConfig(jitter=False)

    assert asyncio.run(retry_async(func, config=config, sleep=sleep, on_retry=on_retry)) == "answer"
    assert waits == [17.0, 60.0]
    assert announced == [("429. Please retry in 17s.", 17.0), ("oh", 60.0)]


def test_a_stated_wait_above_the_maximum_ends_the_retries() -> None:
    func, calls = failing(RuntimeError("429. Please retry in 61s."))

    with pytest.raises(RuntimeError, match="61s"):
        asyncio.run(retry_async(func))

    assert len(calls) == 1


def test_no_secret_is_logged(logged: list[tuple[str, str]]) -> None:
    key = "AIzaSyD-0123456789abcdefghijklmnopqrstu"
    func, _ = failing(RuntimeError(f"503 {key}"), RuntimeError(f"401 {key}"))

    with pytest.raises(RuntimeError):
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert "401" in logged[-1][1]
    assert key not in str(logged)


@pytest.mark.parametrize("stage", ["attempt", "wait"])
def test_cancellation_ends_an_attempt_and_a_wait(stage: str) -> None:
    async def test() -> int:
        reached = asyncio.Event()
        calls = 0

        async def hang(_: float = 0.0) -> None:
            reached.set()
            await asyncio.Event().wait()

        async def func() -> None:
            nonlocal calls
            calls += 1
            if stage == "wait":
                raise TimeoutError
            await hang()

        task = asyncio.create_task(retry_async(func, sleep=hang))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return calls

    assert asyncio.run(test()) == 1


def test_statistics_are_those_of_the_specification() -> None:
    statistics = RetryStatistics()
    assert (statistics.success_rate, statistics.average_retries) == (0.0, 0.0)

    statistics.record_call(True, 0)
    statistics.record_call(True, 2)
    statistics.record_call(False, 2, "max_retries_exceeded")
    statistics.record_call(False, 0)

    assert statistics.to_dict() == {
        "total_calls": 4,
        "total_retries": 4,
        "total_successes": 2,
        "total_failures": 2,
        "success_rate": 0.5,
        "average_retries": 1.0,
        "errors_by_type": {"max_retries_exceeded": 1},
    }


def test_tenacity_is_not_imported_before_the_first_question() -> None:
    modules = "workbench_research.backends.ask, workbench_research.backends.retry"
    code = f"import sys, {modules}; sys.exit('tenacity' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
