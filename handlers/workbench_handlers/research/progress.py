"""Keeps a client that waits for minutes from giving up: what goes on, and a sign of life when nothing does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from toolmason_runtime import ToolCall

from workbench_handlers.model_backends.question import Report

SIGN_OF_LIFE_S: Final = 25.0
"""Seconds of silence after which a client is told that work goes on: clients give up after 60."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def telling(call: ToolCall, *, every_s: float = SIGN_OF_LIFE_S) -> AsyncIterator[Report]:
    """Give what tells the client of one call; it does so by itself whenever `every_s` seconds passed in silence.

    The progress of MCP has to grow, and how much there is to do is not known: it counts seconds.
    """
    told = _Told(call)
    alive = asyncio.create_task(told.keep_alive(every_s))
    try:
        yield told.report
    finally:
        alive.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([alive])


class _Told:
    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self._began = time.monotonic()
        self._sent = -1.0
        self._last = self._began
        self._turn = asyncio.Lock()

    async def report(self, text: str) -> None:
        async with self._turn:
            self._last = time.monotonic()
            # Clocks may stand still between two messages, and equal progress is none.
            self._sent = max(round(self._last - self._began, 3), round(self._sent + 0.001, 3))
            await self._call.progress(self._sent, None, text)

    async def keep_alive(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(max(0.0, self._last + every_s - time.monotonic()))
            if time.monotonic() - self._last < every_s:
                continue
            try:
                await self.report(f"still working, {time.monotonic() - self._began:.0f} s so far")
            except Exception as error:  # noqa: BLE001  a client that has gone: its call is cancelled elsewhere
                _log.debug("no sign of life could be given: %s", type(error).__name__)
                return
