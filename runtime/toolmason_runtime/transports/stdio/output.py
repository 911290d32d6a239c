"""The output of the lean engine: the event loop writes lines while the client reads; otherwise a thread does."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from toolmason_runtime.transports.stdio.descriptors import write_all

MAX_QUEUED_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of output that wait for a slow client while new calls are started."""
MAX_BYTES_WITH_NOTICES: Final = 4 * 1024 * 1024
"""Maximum bytes of output that wait for a slow client while progress and log messages are not dropped."""
MAX_UNREAD_BYTES: Final = 32 * 1024 * 1024
"""Maximum bytes of output that wait while input is read. Only a client that never reads exceeds it."""

_PIPE_BYTES: Final = getattr(select, "PIPE_BUF", 0)
"""Bytes that do not block a write after `poll` has reported the descriptor as ready; 0 where there is no `poll`."""
_MAX_TURN_BYTES: Final = 65_536
"""Maximum bytes that the event loop writes in one turn, the capacity of a pipe; a longer result would delay others."""
_MAX_WRITE_BYTES: Final = 1_048_576
"""Bytes that the thread takes from the queue at once: all of a long result would be a second copy of it."""
_log = logging.getLogger(__package__)


class Output:
    """The output of a server. Only `wait_until_read` is called outside the event loop.

    The lines of one turn of the event loop are written at its end, in pieces that do not block. If the client does not
    read, a thread writes the rest, which may block, and the event loop writes again after that.

    Invariant: the lines are written in order, by one of the two at a time; `_bytes` is the size of the unwritten ones.
    """

    def __init__(self, sink: int, on_closed: Callable[[], None]) -> None:
        self.on_room: list[Callable[[], None]] = []
        """Called when there is room again after `has_room` or `is_read` has returned False."""
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._on_closed = on_closed
        self._lines: deque[bytes] = deque()
        self._unique: set[bytes] = set()
        """Lines of `write_once` that wait."""
        self._bytes = 0
        self._is_closed = False
        self._is_awaited = False
        self._is_scheduled = False
        """Whether the event loop will write the lines."""
        self._has_thread = False
        """Whether the thread writes the lines."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._written = asyncio.Event()
        self._poll = _writable(sink)

    def write(self, line: bytes) -> None:
        """Queue a line, which is never dropped."""
        with self._lock:
            if self._is_closed:
                return
            self._lines.append(line)
            self._bytes += len(line)
            if not (self._is_scheduled or self._has_thread):
                self._is_scheduled = True
                self._loop.call_soon(self._write_ready)

    def write_once(self, line: bytes) -> None:
        """Queue a line unless the same one waits already, so that a slow client cannot make the queue grow."""
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

    def is_read(self) -> bool:
        """Return whether the client has read enough for more input."""
        return self._is_below(MAX_UNREAD_BYTES)

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
        with self._lock:
            if self._bytes <= limit:
                return True
            self._is_awaited = True
            return False

    def _write_ready(self) -> None:
        """Write as much as the client reads now; leave the rest to the thread."""
        data = memoryview(self._take(_MAX_TURN_BYTES))
        end = min(len(data), _MAX_TURN_BYTES)
        written = 0
        is_open = True
        while is_open and written < end and self._poll is not None and self._poll.poll(0):
            try:
                written += os.write(self._sink, data[written : written + _PIPE_BYTES])
            except OSError:
                is_open = False
        rest = bytes(data[written:])
        with self._changed:
            self._is_scheduled = False
            self._has_thread = is_open and bool(rest or self._lines)
        self._note_written(written, is_open=is_open)
        if self._has_thread:
            threading.Thread(target=self._write_all, args=(rest,), name="stdio writer", daemon=True).start()

    def _write_all(self, data: bytes) -> None:
        """Write `data`, which may block, and the lines that are queued meanwhile."""
        is_open = True
        while is_open and self._has_thread:
            is_open = write_all(self._sink, data)
            self._note_written(len(data), is_open=is_open)
            with self._changed:
                data = self._take(_MAX_WRITE_BYTES)
                self._has_thread = bool(data)

    def _take(self, enough: int) -> bytes:
        """Take the first lines from the queue, until they have `enough` bytes."""
        with self._changed:
            taken, size = [], 0
            while self._lines and size < enough:
                taken.append(self._lines.popleft())
                size += len(taken[-1])
            self._unique.difference_update(taken)
            return b"".join(taken)

    def _note_written(self, count: int, *, is_open: bool) -> None:
        with self._changed:
            self._bytes -= count
            if not is_open:
                self._is_closed, self._bytes = True, 0
                self._lines.clear()
            self._changed.notify_all()
            must_wake, self._is_awaited = self._is_awaited, False
        if must_wake:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake)
        if not is_open:
            self._on_closed()

    def _wake(self) -> None:
        self._written.set()
        for call in self.on_room:
            call()


def _writable(sink: int) -> select.poll | None:
    """Return a check whether `sink` accepts `_PIPE_BYTES` without blocking; None if the system has no such check."""
    if not _PIPE_BYTES:
        return None
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    return poll
