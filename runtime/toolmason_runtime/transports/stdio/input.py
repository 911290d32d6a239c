"""The input of the lean engine: the event loop reads pipes and sockets, a thread reads everything else."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from toolmason_runtime.transports.messages import CHUNK_BYTES, LineBuffer, MalformedError, Wire, decode

if TYPE_CHECKING:
    from toolmason_runtime.transports.stdio.output import Output

MAX_BATCHES: Final = 16
"""Maximum number of batches of messages that wait for the event loop, each of at most one chunk or message."""
BLOCKED_S: Final = 2.0
"""Seconds without a turn of the event loop after which a handler blocks it, if the client has closed the input."""
_HANGUP: Final = getattr(select, "POLLRDHUP", 0)
"""The event of a socket whose other end is closed for writing; a pipe reports this event without a request."""

Received = tuple[Wire | MalformedError, int]
"""A message or the error for it, and the size of its line in bytes."""


def start_reader(
    source: int,
    deliver: Callable[[Received], None],
    on_end: Callable[[], None],
    output: Output,
    *,
    first: Iterable[bytes],
    buffer: LineBuffer,
) -> None:
    """Decode the lines of `source`, deliver them in the event loop, and call `on_end` at the end of input.

    Nothing is read while too much of `output` waits for the client. `first` are lines that were read before, and
    `buffer` contains the beginning of the next one.
    """
    reader = _Reader(source, deliver, on_end, output, buffer)
    reader.deliver_all(_decoded(first))
    try:
        reader.loop.add_reader(source, reader.read)
    except (NotImplementedError, OSError):
        # Windows, or a file: it cannot be watched.
        _start_thread(reader)
    else:
        output.on_room.append(reader.resume)
        threading.Thread(target=_watch_end, args=(reader,), name="stdio end of input", daemon=True).start()


class _Reader:
    """Reads in the event loop whenever there is input."""

    def __init__(
        self,
        source: int,
        deliver: Callable[[Received], None],
        on_end: Callable[[], None],
        output: Output,
        buffer: LineBuffer,
    ) -> None:
        self.source = source
        self.deliver = deliver
        self.on_end = on_end
        self.output = output
        self.buffer = buffer
        self.has_ended = threading.Event()
        self.loop = asyncio.get_running_loop()
        self._is_paused = False

    def deliver_all(self, batch: Iterable[Received]) -> None:
        """Deliver messages."""
        for received in batch:
            self.deliver(received)

    def read(self) -> None:
        """Read one chunk, which is available."""
        try:
            chunk = os.read(self.source, CHUNK_BYTES)
        except OSError:
            chunk = b""
        self.deliver_all(_decoded(self.buffer.feed(chunk or b"\n")))
        if not chunk:
            self.loop.remove_reader(self.source)
            self.has_ended.set()
            self.on_end()
        elif not self.output.is_read():
            self._is_paused = True
            self.loop.remove_reader(self.source)

    def resume(self) -> None:
        """Read again if the client has read enough."""
        if self._is_paused and self.output.is_read():
            self._is_paused = False
            self.loop.add_reader(self.source, self.read)


def _watch_end(reader: _Reader) -> None:
    """End the server if the client has closed the input while a handler blocks the event loop.

    A thread, which sleeps until the client closes the input and does not keep the process alive.
    """
    poll = select.poll()
    poll.register(reader.source, _HANGUP)
    poll.poll()
    with suppress(RuntimeError):  # the loop is closed
        while not reader.has_ended.is_set():
            turn = threading.Event()
            reader.loop.call_soon_threadsafe(turn.set)
            if not turn.wait(BLOCKED_S):
                reader.on_end()
                return
            reader.has_ended.wait(BLOCKED_S)


def _start_thread(reader: _Reader) -> None:
    """Read in a thread, which does not keep the process alive. All messages of one chunk are delivered together."""
    room = threading.Semaphore(MAX_BATCHES)

    def deliver(batch: list[Received]) -> None:
        room.release()
        reader.deliver_all(batch)

    def hand_over(lines: Iterable[bytes]) -> None:
        if batch := list(_decoded(lines)):
            room.acquire()
            reader.output.wait_until_read()
            reader.loop.call_soon_threadsafe(deliver, batch)

    def work() -> None:
        # The loop is closed if the server ended first, because of a signal or a closed output.
        with suppress(OSError, RuntimeError):
            while chunk := os.read(reader.source, CHUNK_BYTES):
                hand_over(reader.buffer.feed(chunk))
            hand_over(reader.buffer.feed(b"\n"))
        reader.on_end()

    threading.Thread(target=work, name="stdio reader", daemon=True).start()


def _decoded(lines: Iterable[bytes]) -> Iterator[Received]:
    for line in lines:
        try:
            yield decode(line), len(line)
        except MalformedError as malformed:
            yield malformed, len(line)
