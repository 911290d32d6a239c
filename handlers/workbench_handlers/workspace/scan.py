"""Long blocking work in a thread that can be stopped, has a deadline, and tells how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event
from typing import Final, TypeVar

from toolmason_runtime import ToolCall

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


async def in_thread(
    work: Callable[[Scan], Result],
    call: ToolCall | None = None,
    *,
    seconds: float = SCAN_SECONDS,
    every: float = PROGRESS_SECONDS,
) -> Result:
    """Run `work` in a thread that is over after `seconds`; if this is cancelled, so is the work.

    Its progress is told to `call`, if there is one, `every` so many seconds.
    """
    scan = Scan(seconds)
    running = asyncio.ensure_future(asyncio.to_thread(work, scan))
    try:
        if call is None:
            return await asyncio.shield(running)
        return await telling(running, call, lambda: (scan.seen, f"{scan.seen:,} entries looked at"), every=every)
    finally:
        scan.stop()
        running.add_done_callback(_forget)


async def telling(
    running: asyncio.Future[Result],
    call: ToolCall,
    progress: Callable[[], tuple[float, str]],
    *,
    every: float = PROGRESS_SECONDS,
) -> Result:
    """Wait for `running` and tell its `progress`, where that grew, `every` so many seconds. Does not cancel it."""
    told = 0.0
    while True:
        done, _ = await asyncio.wait({running}, timeout=every)
        if done:
            return running.result()
        reached, message = progress()
        if reached > told:
            told = reached
            await call.progress(told, None, message)


def _forget(running: asyncio.Future[Result]) -> None:
    """Take note of the outcome of work that nobody waits for, so that it is not reported as lost."""
    if not running.cancelled():
        running.exception()
