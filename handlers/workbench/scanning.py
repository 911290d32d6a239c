"""Long blocking work in a thread that can be stopped, has a deadline, and tells how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from toolwright_runtime import ToolCall

Result = TypeVar("Result")

SCAN_SECONDS: Final = 30.0
"""How long one scan of a tree may take; what was found until then is answered."""

PROGRESS_SECONDS: Final = 1.0
"""How often progress is told."""


class ScanStoppedError(Exception):
    """Nobody waits for the scan any more."""


class Scan:
    """One scan: `seen` counts entries, `is_over` says that its time has run out."""

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


async def in_thread(work: Callable[[Scan], Result], call: ToolCall, *, every: float = PROGRESS_SECONDS) -> Result:
    """Run `work` in a thread and tell its progress `every` so many seconds; if this is cancelled, so is the work."""
    scan = Scan()
    running = asyncio.ensure_future(asyncio.to_thread(work, scan))
    told = 0
    try:
        while True:
            done, _ = await asyncio.wait({running}, timeout=every)
            if done:
                return running.result()
            if scan.seen > told:
                told = scan.seen
                await call.progress(told, None, f"{told:,} entries looked at")
    finally:
        scan.stop()
        running.add_done_callback(_forget)


def _forget(running: asyncio.Future[Result]) -> None:
    """Take note of the outcome of work that nobody waits for, so that it is not reported as lost."""
    if not running.cancelled():
        running.exception()
