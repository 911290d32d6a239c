"""The time limit of a run: the commands end on every project, and name the stage that took too long."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

VARIABLE: Final = "TOOLMASON_TIME_LIMIT"
"""Environment variable with the seconds, for runs without `--time-limit`."""
DEFAULT_S: Final = 600.0
"""Seconds of a run: about thirty times as many as a manifest of 10,000 tools needs on a laptop."""
MAX_S: Final = 86_400.0


class TimeLimitError(BaseException):
    """The run exceeds its time limit. Not an `Exception`: no stage may take it for an error of its own."""

    def __init__(self, seconds: float, stage: str) -> None:
        super().__init__(f"stopped after {seconds:g} s while {stage}")
        self.seconds = seconds
        self.stage = stage


class TimeLimit:
    """The limit of one run, and its current stage."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.stage = "starting"
        self.is_over = False
        self._stop: Callable[[], object] = lambda: None

    def enter(self, stage: str) -> None:
        """Note the stage that begins. Writing is not interrupted: it takes the time of its files, and is atomic."""
        self.stage = stage
        if stage == WRITING:
            self._stop()

    def start(self, stop: Callable[[], object]) -> None:
        """Note how the clock is stopped."""
        self._stop = stop


WRITING: Final = "writing"
"""The stage that changes files."""


@contextmanager
def limited_time(seconds: float) -> Iterator[TimeLimit]:
    """Raise `TimeLimitError` in the block after `seconds`; 0 is no limit.

    The error is raised in the main thread, also within a regular expression and a wait for a child process, which its
    owner then ends. In another thread there is no limit, since Python interrupts only the main one.

    Raises:
        TimeLimitError: the block takes longer.
    """
    limit = TimeLimit(seconds)
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield limit
        return
    with _alarm(limit) if hasattr(signal, "setitimer") else _timer(limit):
        yield limit


@contextmanager
def _alarm(limit: TimeLimit) -> Iterator[None]:
    """Interrupt the main thread by a signal."""

    def stop_run(_number: int, _frame: object) -> None:
        raise TimeLimitError(limit.seconds, limit.stage)

    previous = signal.signal(signal.SIGALRM, stop_run)
    signal.setitimer(signal.ITIMER_REAL, limit.seconds)
    limit.start(lambda: signal.alarm(0))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _timer(limit: TimeLimit) -> Iterator[None]:
    """Interrupt the main thread as Ctrl-C does: for Windows, which has no such signal."""

    def stop_run() -> None:
        limit.is_over = True
        _thread.interrupt_main()

    timer = threading.Timer(limit.seconds, stop_run)
    timer.daemon = True
    timer.start()
    limit.start(timer.cancel)
    try:
        yield
    except KeyboardInterrupt:
        if limit.is_over:
            raise TimeLimitError(limit.seconds, limit.stage) from None
        raise
    finally:
        timer.cancel()
