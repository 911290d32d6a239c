"""MCP progress of long calls, with a heartbeat for clients that would time out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolmason_runtime import ToolCall

if TYPE_CHECKING:
    from workbench_research.backends.question import Report

HEARTBEAT_INTERVAL_S: Final = 25.0
"""Seconds without progress after which a client receives a heartbeat; clients time out after 60."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def progress_reporter(call: ToolCall, *, interval_s: float = HEARTBEAT_INTERVAL_S) -> AsyncIterator[Report]:
    """Return a function that sends progress of one call; a heartbeat is sent after `interval_s` seconds without any.

    Progress must increase in MCP, and its total is unknown: it counts seconds.
    """
    reporter = _ProgressReporter(call)
    heartbeats = asyncio.create_task(reporter.send_heartbeats(interval_s))
    try:
        yield reporter.report
    finally:
        heartbeats.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([heartbeats])


class _ProgressReporter:
    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self._began = time.monotonic()
        self._sent = -1.0
        self._last = self._began
        self._turn = asyncio.Lock()

    async def report(self, text: str) -> None:
        async with self._turn:
            self._last = time.monotonic()
            # A clock may not advance between two messages, and progress must increase.
            self._sent = max(round(self._last - self._began, 3), round(self._sent + 0.001, 3))
            await self._call.progress(self._sent, None, text)

    async def send_heartbeats(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(max(0.0, self._last + interval_s - time.monotonic()))
            if time.monotonic() - self._last < interval_s:
                continue
            try:
                await self.report(f"still working, {time.monotonic() - self._began:.0f} s so far")
            except Exception as error:  # noqa: BLE001  the client is disconnected, and its call is cancelled elsewhere
                _log.debug("heartbeat failed: %s", type(error).__name__)
                return
