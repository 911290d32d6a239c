"""The two threads of the lean engine: one reads lines, one writes. Neither keeps the process alive."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from toolmason_runtime.transports.messages import CHUNK_BYTES, LineBuffer, MalformedError, Wire, decode
from toolmason_runtime.transports.stdio.descriptors import write_all

MAX_BATCHES: Final = 16
"""Maximum number of batches of messages that wait for the event loop, each of at most one chunk or message."""
MAX_QUEUED_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of output that wait for a slow client while new calls are started."""
MAX_BYTES_WITH_NOTICES: Final = 4 * 1024 * 1024
"""Maximum bytes of output that wait for a slow client while progress and log messages are not dropped."""
MAX_UNREAD_BYTES: Final = 32 * 1024 * 1024
"""Maximum bytes of output that wait while input is read. Only a client that never reads exceeds it."""

Received = tuple[Wire | MalformedError, int]
"""A message or the error for it, and the size of its line in bytes."""
_log = logging.getLogger(__package__)


class Output:
    """The output of a server, written by a thread of its own. Only `wait_until_read` is called outside the event loop.

    Invariant: the thread writes the lines in order; `_bytes` is the size of those that it has not written yet.
    """

    def __init__(self, sink: int, on_closed: Callable[[], None]) -> None:
        self.on_room: Callable[[], None] = _nothing
        """Called when there is room again after `has_room` has returned False."""
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._on_closed = on_closed
        self._lines: deque[bytes] = deque()
        self._unique: set[bytes] = set()
        """Lines of `write_once` that wait."""
        self._bytes = 0
        self._is_closed = False
        self._is_awaited = False
        self._changed = threading.Condition()
        self._written = asyncio.Event()
        threading.Thread(target=self._work, name="stdio writer", daemon=True).start()

    def write(self, line: bytes) -> None:
        """Queue a line, which is never dropped."""
        with self._changed:
            if not self._is_closed:
                self._lines.append(line)
                self._bytes += len(line)
                self._changed.notify_all()

    def write_once(self, line: bytes) -> None:
        """Queue a line unless the same one waits already, so that a slow client cannot make the queue grow."""
        with self._changed:
            if line not in self._unique:
                self._unique.add(line)
                self.write(line)

    def offer(self, line: bytes) -> None:
        """Queue a line, or drop it if the client reads too slowly."""
        if self._bytes <= MAX_BYTES_WITH_NOTICES:
            self.write(line)
        else:
            _log.debug("dropped a notification: the client reads too slowly")

    def has_room(self) -> bool:
        """Return whether new calls may start."""
        return self._is_below(MAX_QUEUED_BYTES)

    def wait_until_read(self) -> None:
        """Block a thread until the client has read enough for more input."""
        with self._changed:
            self._changed.wait_for(lambda: self._bytes <= MAX_UNREAD_BYTES)

    async def flush(self) -> None:
        """Wait until everything is written, or the client has closed the stream."""
        while not self._is_below(0):
            self._written.clear()
            if not self._is_below(0):
                await self._written.wait()

    def _is_below(self, limit: int) -> bool:
        with self._changed:
            self._is_awaited = self._is_awaited or self._bytes > limit
            return self._bytes <= limit

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                data = b"".join(self._lines)
                self._lines.clear()
                self._unique.clear()
            is_open = write_all(self._sink, data)
            with self._changed:
                self._bytes -= len(data)
                if not is_open:
                    self._is_closed, self._bytes = True, 0
                    self._lines.clear()
                self._changed.notify_all()
                must_wake, self._is_awaited = self._is_awaited, False
            if must_wake:
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._wake)
            if not is_open:
                self._on_closed()
                return

    def _wake(self) -> None:
        self._written.set()
        self.on_room()


def _nothing() -> None:
    """Do nothing."""


def start_reader(
    source: int,
    deliver: Callable[[Received], None],
    on_end: Callable[[], None],
    wait: Callable[[], None],
    *,
    first: Iterable[bytes],
    buffer: LineBuffer,
) -> None:
    """Decode the lines of `source` in a thread, deliver them in the event loop, and call `on_end` at the end of input.

    All messages of one chunk are delivered together, after `wait`, which may block. `first` are lines that were read
    before, and `buffer` contains the beginning of the next one.
    """
    loop = asyncio.get_running_loop()
    room = threading.Semaphore(MAX_BATCHES)

    def deliver_all(batch: list[Received]) -> None:
        room.release()
        for received in batch:
            deliver(received)

    def hand_over(lines: Iterable[bytes]) -> None:
        if batch := [(_decoded(line), len(line)) for line in lines]:
            room.acquire()
            wait()
            loop.call_soon_threadsafe(deliver_all, batch)

    def work() -> None:
        # The loop is closed if the server ended first, because of a signal or a closed output.
        with suppress(OSError, RuntimeError):
            hand_over(first)
            while chunk := os.read(source, CHUNK_BYTES):
                hand_over(buffer.feed(chunk))
            hand_over(buffer.feed(b"\n"))
        on_end()

    threading.Thread(target=work, name="stdio reader", daemon=True).start()


def _decoded(line: bytes) -> Wire | MalformedError:
    try:
        return decode(line)
    except MalformedError as malformed:
        return malformed
