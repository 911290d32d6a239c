"""Base class of a running program: the destinations of its streams, its input, and its end.

Invariants of the concurrent code:

1. Only the thread of the event loop changes the state of a `RunningProcess`; callbacks of transports run there too.
2. `_finished` is set once the program itself has ended or is no longer awaited. `_closed` is set once every
   piped stream is at its end, which is when the last process with the other end of a pipe has closed it.
3. `end` follows every start, also a failed one; `_release` may run twice.
4. `OutputFile.follow` reads `is_complete` before the file: bytes written before `is_complete` was set are read.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import anyio
from toolmason_runtime.programs.launcher_client import Execution

Sink = Callable[[bytes], None] | asyncio.StreamReader | None
"""Destination of a stream: a callback for its bytes, a reader with flow control, or the null device."""

LINGER_S: Final = 1.0
"""Seconds that other processes may still write to the streams after the program ended."""

_DRAIN_S: Final = 0.5
"""Seconds to read the rest of the pipes after all processes were ended; those that cannot be ended keep them open."""
_PIECE: Final = 256 * 1024
_FILE_POLL_S: Final = 0.05


class RunningProcess(ABC):
    """A program and the destinations of its streams.

    With `stdout_file`, the program writes to this new file, and `stdout` receives its content while it grows: Node
    loses output that a full pipe does not accept at its exit. A program that writes more than `max_bytes` to a stream
    is no longer awaited (None: no limit). The owner must always call `end`.
    """

    def __init__(
        self, stdout: Sink, stderr: Sink = None, *, stdout_file: Path | None = None, max_bytes: int | None = None
    ) -> None:
        self._sinks = {1: stdout, 2: stderr}
        self._piped = {1, 2} - {stream for stream, sink in self._sinks.items() if sink is None}
        self._file = None if stdout_file is None else OutputFile(stdout_file)
        if self._file is not None:
            self._piped.discard(1)
        self._max_bytes = max_bytes
        self._sizes = {1: 0, 2: 0}
        self._finished = asyncio.Event()
        self._is_left = False
        self._open = set(self._piped)
        self._closed = asyncio.Event()
        self._tail: asyncio.Task[None] | None = None
        self.has_written_too_much = False
        """Whether a stream has exceeded `max_bytes`."""
        self.stdin: asyncio.StreamWriter | None = None
        """Standard input, if it was started with `stdin=None`."""

    @property
    @abstractmethod
    def exit_code(self) -> int | None:
        """The exit code, the negative number of the signal that ended it, or None while it runs."""

    async def start(self, execution: Execution, stdin: bytes | None = b"") -> None:
        """Start the program. `stdin` is written while it runs; with None, the caller writes to `self.stdin`.

        Raises:
            OSError: it could not be started.
        """
        if not self._piped:
            self._closed.set()
        if self._file is not None:
            self._file.open()
            self._tail = asyncio.create_task(self._file.follow(self._receive_file))
        await self._start(execution, stdin)
        if self.stdin is not None and stdin is not None:
            self.stdin.write(stdin)
            self.stdin.close()

    async def finished(self) -> None:
        """Wait until the program ends, and at most `LINGER_S` for other writers to its streams."""
        await self._finished.wait()
        if self._is_left:
            return
        with anyio.move_on_after(LINGER_S):
            await self._closed.wait()

    def stop_waiting(self, within_s: float = 0.0) -> None:
        """Make `finished` return after this time, even if the program still runs."""

        def leave() -> None:
            self._is_left = self._is_left or self.exit_code is None
            self._finished.set()

        asyncio.get_running_loop().call_later(within_s, leave)

    async def end(self, *, at_once: bool = False) -> None:
        """End all processes, with SIGTERM first unless `at_once`, read the rest, and release the resources."""
        try:
            if self._is_alive():
                await self._stop(at_once=at_once)
            with anyio.move_on_after(0.0 if at_once else _DRAIN_S):
                await self._closed.wait()
            if self._file is not None and self._tail is not None:
                self._file.is_complete = True
                await self._tail
        finally:
            # A transport with unsent data would wait for the reader forever; without, `close` is safe to repeat.
            if self.stdin is not None and self.stdin.transport.get_write_buffer_size():
                self.stdin.transport.abort()
            elif self.stdin is not None:
                self.stdin.close()
            if self._file is not None:
                self._file.close()
            self._release()

    @abstractmethod
    async def _start(self, execution: Execution, stdin: bytes | None) -> None:
        """Start the program, and connect its streams."""

    @abstractmethod
    def _is_alive(self) -> bool:
        """Whether a process of the program runs."""

    @abstractmethod
    async def _stop(self, *, at_once: bool) -> None:
        """End all processes."""

    @abstractmethod
    def _release(self) -> None:
        """Release the resources of this process. It may be called twice."""

    def _receive(self, stream: int, data: bytes) -> None:
        sink = self._sinks[stream]
        if isinstance(sink, asyncio.StreamReader):
            sink.feed_data(data)
        elif sink is not None:
            sink(data)
        self._sizes[stream] += len(data)
        if self._max_bytes is not None and self._sizes[stream] > self._max_bytes:
            self.has_written_too_much = self._is_left = True
            self._finished.set()

    def _receive_file(self, data: bytes) -> None:
        if not self.has_written_too_much:
            self._receive(1, data)

    def _note_end_of(self, stream: int) -> None:
        sink = self._sinks[stream]
        if isinstance(sink, asyncio.StreamReader) and stream in self._open:
            sink.feed_eof()
        self._open.discard(stream)
        if not self._open:
            self._closed.set()

    def _connect(self, stream: int, transport: asyncio.BaseTransport | None) -> None:
        """Allow a reader to pause the transport of its stream."""
        sink = self._sinks[stream]
        if isinstance(sink, asyncio.StreamReader) and transport is not None:
            sink.set_transport(transport)

    async def _open_stdin(self, pipe: IO[bytes]) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)


class OutputFile:
    """A new file that a program writes to, read while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: IO[bytes] | None = None
        self.descriptor = -1
        """Descriptor for the program, once the file is open."""
        self.is_complete = False
        """Whether the program has ended."""

    def open(self) -> None:
        """Create the file, for this user alone."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        self.descriptor = os.open(self._path, flags, 0o600)
        self._reader = self._path.open("rb", buffering=0)

    async def follow(self, receive: Callable[[bytes], None]) -> None:
        """Pass on written bytes until the program has ended and the file is read."""
        while self._reader is not None:
            is_complete = self.is_complete
            if data := self._reader.read(_PIECE):
                receive(data)
            elif is_complete:
                return
            await asyncio.sleep(0 if data else _FILE_POLL_S)

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            os.close(self.descriptor)
            self._reader.close()
            self._reader = None
