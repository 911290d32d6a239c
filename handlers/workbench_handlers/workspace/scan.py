"""Run long blocking work in a thread with a deadline, cancellation and progress.

Invariants: the thread shares only its `Scan` with the event loop. The event loop sets `_stopped`; the thread reads it
in each `step` and counts `seen`. Cancelling `in_thread` returns at once; the thread ends at its next `step`, and its
exception is retrieved by a callback.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from toolmason_runtime import ToolCall

Result = TypeVar("Result")

SCAN_SECONDS: Final = 30.0
"""Time limit of one scan, in seconds; entries found before it are returned."""

PROGRESS_SECONDS: Final = 1.0
"""Seconds between progress notifications."""


class ScanStoppedError(Exception):
    """The call of the scan was cancelled."""


class Scan:
    """One scan: the number of entries seen, its deadline and its cancellation."""

    def __init__(self, seconds: float = SCAN_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seen = 0
        self._clock = clock
        self._end = clock() + seconds
        self._stopped = Event()

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self._clock() >= self._end

    def stop(self) -> None:
        """Make the next `step` end the scan."""
        self._stopped.set()

    def step(self) -> None:
        """Count one entry.

        Raises:
            ScanStoppedError: the call was cancelled.
        """
        if self._stopped.is_set():
            raise ScanStoppedError
        self.seen += 1


async def in_thread(
    work: Callable[[Scan], Result],
    call: ToolCall | None = None,
    *,
    seconds: float = SCAN_SECONDS,
    interval_s: float = PROGRESS_SECONDS,
) -> Result:
    """Run `work` in a thread, with a deadline in `seconds`. Cancelling this coroutine stops the work.

    `call` receives progress every `interval_s` seconds.
    """
    scan = Scan(seconds)
    running = asyncio.ensure_future(asyncio.to_thread(work, scan))
    try:
        if call is None:
            return await asyncio.shield(running)
        return await report_progress(
            running, call, lambda: (scan.seen, f"{scan.seen:,} entries examined"), interval_s=interval_s
        )
    finally:
        scan.stop()
        running.add_done_callback(_retrieve_exception)


async def report_progress(
    running: asyncio.Future[Result],
    call: ToolCall,
    progress: Callable[[], tuple[float, str]],
    *,
    interval_s: float = PROGRESS_SECONDS,
) -> Result:
    """Await `running`, and send its `progress` every `interval_s` seconds if it grew. Never cancels it."""
    reported = 0.0
    while True:
        done, _ = await asyncio.wait({running}, timeout=interval_s)
        if done:
            return running.result()
        reached, message = progress()
        if reached > reported:
            reported = reached
            await call.progress(reported, None, message)


def _retrieve_exception(running: asyncio.Future[Result]) -> None:
    """Retrieve the exception of work that nobody awaits, so that asyncio does not log it."""
    if not running.cancelled():
        running.exception()
