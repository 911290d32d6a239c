from __future__ import annotations

import asyncio
import logging
import math
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.model_backends.failures import AttemptError
from workbench_handlers.model_backends.retrying import (
    NonRetryableError,
    RetryableError,
    RetryConfig,
    RetryStatistics,
    pause,
    retry_async,
)

AT_ONCE = RetryConfig(initial_delay=0.0)
LOGGER = "workbench_handlers.model_backends.retrying"
numbers = st.floats(allow_nan=True, allow_infinity=True)
seeds = st.integers(0, 2**32)


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """Give a function that raises these and then gives an answer, and the list of its calls."""
    calls: list[int] = []

    async def func() -> str:
        calls.append(len(calls))
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return "answer"

    return func, calls


class Kept(logging.Handler):
    """Keeps level and text of what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.levelname, record.getMessage()))


@pytest.fixture
def logged() -> Iterator[list[tuple[str, str]]]:
    """Collect what is logged, whatever the handlers of the server do."""
    logger, kept = logging.getLogger(LOGGER), Kept()
    logger.addHandler(kept)
    logger.setLevel(logging.DEBUG)
    yield kept.records
    logger.removeHandler(kept)
    logger.setLevel(logging.NOTSET)


def test_the_defaults_are_those_of_the_specification() -> None:
    config = RetryConfig()

    assert (config.max_attempts, config.initial_delay, config.max_delay) == (3, 1.0, 60.0)
    assert (config.exponential_base, config.jitter, config.jitter_range, config.enabled) == (2.0, True, 0.2, True)


def test_delays_grow_as_in_the_examples_of_the_specification() -> None:
    config = RetryConfig(jitter=False)

    assert [config.calculate_delay(attempt) for attempt in (0, 1, 2)] == [1.0, 2.0, 4.0]
    assert config.calculate_delay(10) == 60.0
    assert config.calculate_delay(100_000) == 60.0


@given(st.integers(0, 8), st.integers(0, 2**32))
def test_jitter_moves_a_delay_by_no_more_than_its_range(attempt: int, seed: int) -> None:
    delay = RetryConfig(max_delay=1e9).calculate_delay(attempt, random.Random(seed))

    assert 0.8 * 2**attempt <= delay <= 1.2 * 2**attempt


@given(st.builds(RetryConfig, st.integers(), *[numbers] * 3, st.booleans(), numbers), st.integers(0, 10_000), seeds)
def test_no_delay_is_negative_or_longer_than_the_longest(config: RetryConfig, attempt: int, seed: int) -> None:
    most = 0.0 if math.isnan(config.max_delay) else max(0.0, config.max_delay)

    assert 0.0 <= config.calculate_delay(attempt, random.Random(seed)) <= most


@given(st.integers(0, 5), st.integers(-1, 5), numbers, st.none() | st.floats(0, 1e6), st.integers(0, 2**32))
def test_a_pause_is_within_bounds_and_never_shorter_than_asked_for(
    retries: int, attempts: int, most: float, asked: float | None, seed: int
) -> None:
    wait = pause(RetryConfig(max_attempts=attempts, max_delay=most), retries, asked, random.Random(seed))

    if wait is not None:
        assert (asked or 0.0) <= wait <= max(0.0, most)
        assert retries + 1 < attempts


def test_what_asks_for_longer_than_the_longest_delay_is_not_waited_for() -> None:
    assert pause(RetryConfig(max_delay=60.0), 0, 61.0) is None
    assert pause(RetryConfig(max_delay=60.0), 0, 60.0) == 60.0


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit exceeded",
        "quota",
        "Connection lost",
        "request timed out",
        "HTTP 502",
        "503 Service Unavailable",
        "Error 504",
        "429 Too Many Requests at gaxios.js:404:11",
        "503 … id 1404xyz",
        "timed out; see log line 400",
        "RESOURCE_EXHAUSTED",
        "ECONNRESET",
        "model overloaded",
        "error in chunk-404.js: 429",
        "503 while reading pages/404.tsx",
        "Connection error while reading handlers/not_found.py",
        "getaddrinfo ENOTFOUND host",
        "Internal error encountered.",
    ],
)
def test_messages_of_errors_that_pass_are_retryable(text: str) -> None:
    assert RetryConfig().is_retryable(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid API key",
        "Authentication failed",
        "401 Unauthorized",
        "HTTP 403",
        "404 Not Found",
        "Bad request: rate limit is not a number",
        "Permission denied",
        "something else",
        "",
        "took 503 ms at worker.py:502",
        "cannot parse pages/429.tsx",
    ],
)
def test_messages_of_errors_that_stay_and_unknown_ones_are_not(text: str) -> None:
    assert not RetryConfig().is_retryable(text)


def test_patterns_can_be_given() -> None:
    config = RetryConfig(retryable_error_patterns=["flaky"], non_retryable_error_patterns=["very flaky"])

    assert config.is_retryable("It is Flaky.")
    assert not config.is_retryable("very flaky")
    assert not config.is_retryable("timeout")


def test_the_environment_configures() -> None:
    config = RetryConfig.from_environ(
        {
            "GEMINI_RETRY_ENABLED": "false",
            "GEMINI_RETRY_MAX_ATTEMPTS": "5",
            "GEMINI_RETRY_INITIAL_DELAY": "0.5",
            "GEMINI_RETRY_MAX_DELAY": "9",
            "GEMINI_RETRY_BASE": "3",
        }
    )

    assert config == RetryConfig(5, 0.5, 9.0, 3.0, enabled=False)
    assert RetryConfig.from_environ({}) == RetryConfig()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GEMINI_RETRY_MAX_ATTEMPTS", "three"),
        ("GEMINI_RETRY_MAX_ATTEMPTS", "2.5"),
        ("GEMINI_RETRY_INITIAL_DELAY", "1s"),
        ("GEMINI_RETRY_MAX_DELAY", "inf"),
        ("GEMINI_RETRY_BASE", "nan"),
        ("GEMINI_RETRY_ENABLED", "perhaps"),
    ],
)
def test_a_bad_value_is_warned_of_once_and_stands_for_the_default(
    logged: list[tuple[str, str]], name: str, value: str
) -> None:
    assert RetryConfig.from_environ({name: value}) == RetryConfig()

    [(level, text)] = logged
    assert level == "WARNING"
    assert name in text


@pytest.mark.parametrize("digits", [300, 4_000, 5_000])
@pytest.mark.parametrize("name", ["MAX_ATTEMPTS", "MAX_DELAY", "ENABLED"])
def test_no_long_value_is_logged_whole(logged: list[tuple[str, str]], name: str, digits: int) -> None:
    RetryConfig.from_environ({f"GEMINI_RETRY_{name}": "9" * digits})

    assert all("9" * 20 in text and len(text) < 200 for _, text in logged)
    assert len(logged) == (0 if (name, digits) in (("MAX_ATTEMPTS", 300), ("MAX_DELAY", 300)) else 1)


@pytest.mark.parametrize("said", ["0", "-1"])
def test_a_setting_that_allows_no_attempt_is_no_failure_of_the_program(said: str) -> None:
    with pytest.raises(ToolError, match="GEMINI_RETRY_MAX_ATTEMPTS to 1 or more") as raised:
        RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": said})

    assert raised.value.code == "INTERNAL"
    assert raised.value.details == {"setting": "GEMINI_RETRY_MAX_ATTEMPTS"}
    assert RetryConfig.from_environ({"GEMINI_RETRY_MAX_ATTEMPTS": said, "GEMINI_RETRY_ENABLED": "0"}).enabled is False


def test_a_call_that_succeeds_is_made_once() -> None:
    func, calls = failing()

    assert asyncio.run(retry_async(func)) == "answer"
    assert len(calls) == 1


def test_arguments_are_passed_on() -> None:
    async def func(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    assert asyncio.run(retry_async(func, 1, config=AT_ONCE, operation_name="x", word="a")) == ((1,), {"word": "a"})


def test_whatever_gives_something_to_await_may_be_tried() -> None:
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
def test_an_error_that_passes_is_tried_again(error: Exception, logged: list[tuple[str, str]]) -> None:
    func, calls = failing(error)

    assert asyncio.run(retry_async(func, config=AT_ONCE, operation_name="asking")) == "answer"

    assert len(calls) == 2
    assert [level for level, _ in logged] == ["DEBUG", "WARNING", "DEBUG", "INFO"]
    assert "Retrying in 0.00 s" in logged[1][1]
    assert "asking: succeeded after 1 retries" in logged[3][1]


def test_attempts_end_with_what_happened_last(logged: list[tuple[str, str]]) -> None:
    last = RuntimeError("503 at last")
    func, calls = failing(RuntimeError("503"), RuntimeError("timeout"), last)

    with pytest.raises(RetryableError) as raised:
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert str(raised.value) == "Operation failed after 3 attempts. Last error: 503 at last"
    assert raised.value.__cause__ is last
    assert len(calls) == 3
    assert [level for level, _ in logged] == ["DEBUG", "WARNING", "DEBUG", "WARNING", "DEBUG", "ERROR"]


@pytest.mark.parametrize("error", [RuntimeError("401"), RuntimeError("odd"), NonRetryableError("503"), ValueError()])
def test_an_error_that_stays_ends_it_at_once(error: Exception, logged: list[tuple[str, str]]) -> None:
    func, calls = failing(error)

    with pytest.raises(NonRetryableError) as raised:
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert raised.value.__cause__ is error
    assert len(calls) == 1
    assert [level for level, _ in logged] == ["DEBUG", "ERROR"]


def test_with_retries_switched_off_errors_are_raised_as_they_are() -> None:
    error = RuntimeError("503")
    func, calls = failing(error)

    with pytest.raises(RuntimeError) as raised:
        asyncio.run(retry_async(func, config=RetryConfig(enabled=False)))

    assert raised.value is error
    assert len(calls) == 1


@pytest.mark.parametrize("attempts", [0, -1])
def test_no_attempts_fail_without_a_call(attempts: int) -> None:
    func, calls = failing()

    with pytest.raises(RetryableError, match="Operation failed after"):
        asyncio.run(retry_async(func, config=RetryConfig(max_attempts=attempts)))

    assert calls == []


def test_what_asks_for_a_longer_wait_than_allowed_ends_it() -> None:
    func, calls = failing(RuntimeError("429. Please retry in 61s."))

    with pytest.raises(RetryableError, match="after 1 attempts"):
        asyncio.run(retry_async(func))

    assert len(calls) == 1


def test_no_secret_is_logged_or_raised(logged: list[tuple[str, str]]) -> None:
    key = "AIzaSyD-0123456789abcdefghijklmnopqrstu"
    func, _ = failing(RuntimeError(f"503 {key}"), RuntimeError(f"401 {key}"))

    with pytest.raises(NonRetryableError) as raised:
        asyncio.run(retry_async(func, config=AT_ONCE))

    assert key not in f"{logged} {raised.value}"


def test_cancellation_passes_through_an_attempt() -> None:
    async def test() -> None:
        begun = asyncio.Event()
        calls = 0

        async def func() -> None:
            nonlocal calls
            calls += 1
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(retry_async(func, config=AT_ONCE))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert calls == 1

    asyncio.run(test())


def test_cancellation_passes_through_a_wait() -> None:
    async def test() -> None:
        failed = asyncio.Event()

        async def func() -> None:
            failed.set()
            raise TimeoutError

        task = asyncio.create_task(retry_async(func, config=RetryConfig(initial_delay=60.0)))
        await failed.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())


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


def test_tenacity_is_not_imported_before_something_is_tried() -> None:
    code = "import sys, workbench_handlers.model_backends.asking, workbench_handlers.model_backends.retrying; sys.exit('tenacity' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
