"""A running program: its streams, and the end of all its processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import anyio
from toolmason_runtime.programs.launcher_client import Child, Execution, launch
from toolmason_runtime.transports.shutdown import before_leaving

Sink = Callable[[bytes], None] | asyncio.StreamReader | None
"""Destination of a stream: a callback for its bytes, a reader with flow control, or the null device."""

GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL. A server that is told to end leaves after two."""
LINGER_S: Final = 1.0
"""Seconds that what a program left behind may still write after its end."""

_POLL_S: Final = 0.02
_DRAIN_S: Final = 0.5
"""Seconds to read what is left in the pipes: only processes that could not be ended still hold them open."""
_KILL_S: Final = 1.0
"""Seconds after SIGKILL: it works at once, unless a process waits for a device."""
_PIECE: Final = 256 * 1024
_FILE_POLL_S: Final = 0.05


class RunningProcess(ABC):
    """A program and the destinations of its streams.

    With `stdout_file`, the program writes to this new file, and `stdout` receives its content while it grows: Node
    drops what a full pipe does not take when it exits. A program that writes more than `max_bytes` to a stream is not
    waited for (None: no limit). The owner calls `end` whatever happens.
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
        """Whether there is more on a stream than `max_bytes`."""
        self.stdin: asyncio.StreamWriter | None = None
        """Its input, if it was started with `stdin=None`."""

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
        """Wait for its end, and for a short time for other writers to its streams."""
        await self._finished.wait()
        if self._is_left:
            return
        with anyio.move_on_after(LINGER_S):
            await self._closed.wait()

    async def wait(self) -> int:
        """Wait for its end, and return the exit code."""
        await self._finished.wait()
        return self.exit_code or 0

    def stop_waiting(self, within_s: float = 0.0) -> None:
        """Let `finished` return after this time, even if the program still runs."""

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
            # Without unsent data it is closed, or about to be, and must not be closed again.
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
        """Close what belongs to this process alone. It may be called twice."""

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
        """Let a reader pause the transport of its stream."""
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
        """Pass on what is written, until the file is complete."""
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


class _Pipe(asyncio.Protocol):
    """Passes on what arrives in a pipe."""

    def __init__(self, receive: Callable[[bytes], None], close: Callable[[], None]) -> None:
        self._receive, self._close = receive, close

    def data_received(self, data: bytes) -> None:
        self._receive(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        self._close()


class LaunchedProcess(RunningProcess):
    """A program in the care of the launcher, which ends all descendants of it."""

    _child: Child | None = None
    _transports: tuple[asyncio.BaseTransport, ...] = ()

    @property
    def exit_code(self) -> int | None:
        """As in the base class."""
        return None if self._child is None else self._child.exit_code

    async def _start(self, execution: Execution, stdin: bytes | None) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        theirs = [null, null, null]
        ours: dict[int, IO[bytes]] = {}
        try:
            if stdin != b"":
                theirs[0], writer = os.pipe()
                ours[0] = os.fdopen(writer, "wb", 0)
            for stream in self._piped:
                reader, theirs[stream] = os.pipe()
                ours[stream] = os.fdopen(reader, "rb", 0)
            streams = [*theirs]
            if self._file is not None:
                streams[1] = self._file.descriptor
            self._child = launch(execution, streams)
            self._child.on_exit(self._finished.set)
            for stream in self._piped:
                await self._open_reader(stream, ours.pop(stream))
            if 0 in ours:
                await self._open_stdin(ours.pop(0))
        finally:
            for descriptor in {null, *theirs}:
                os.close(descriptor)
            for file in ours.values():
                file.close()
        await self._child.started()

    async def _open_reader(self, stream: int, pipe: IO[bytes]) -> None:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: _Pipe(lambda data: self._receive(stream, data), lambda: self._note_end_of(stream)), pipe
        )
        self._transports += (transport,)
        self._connect(stream, transport)

    def _is_alive(self) -> bool:
        return self._child is not None and not self._child.gone.is_set()

    async def _stop(self, *, at_once: bool) -> None:
        if self._child is None:
            return
        if at_once:
            self._child.kill()
        else:
            self._child.end()
        with anyio.move_on_after(_KILL_S + (0.0 if at_once else GRACE_S)):
            await self._child.gone.wait()

    def _release(self) -> None:
        for transport in self._transports:
            transport.close()
        if self._child is not None:
            self._child.close()


_running: set[SpawnedProcess] = set()
"""What was started and not yet ended."""


class SpawnedProcess(RunningProcess, asyncio.SubprocessProtocol):
    """A program that this process starts itself, where there is no launcher. Limits and sandbox do not apply.

    It has a group of its own, by which its children are found, unless they have left it.
    """

    _transport: asyncio.SubprocessTransport | None = None

    @property
    def exit_code(self) -> int | None:
        """As in the base class."""
        return self._transport.get_returncode() if self._transport else None

    async def _start(self, execution: Execution, stdin: bytes | None) -> None:
        theirs, ours = (subprocess.DEVNULL, None) if stdin == b"" else _input_ends()
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *execution.argv,
                executable=execution.executable,
                stdin=theirs,
                stdout=self._target(1),
                stderr=self._target(2),
                cwd=execution.cwd or None,
                env=execution.env,
                umask=execution.umask,
                **apart(),
            )
        except BaseException:
            if ours is not None:
                ours.close()
            raise
        finally:
            if ours is not None:
                os.close(theirs)
        if ours is not None:
            await self._open_stdin(ours)
        elif stdin != b"" and self._transport is not None:
            pipe = self._transport.get_pipe_transport(0)
            if isinstance(pipe, asyncio.WriteTransport):
                protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
                self.stdin = asyncio.StreamWriter(pipe, protocol, None, asyncio.get_running_loop())

    def _target(self, stream: int) -> int:
        if stream == 1 and self._file is not None:
            return self._file.descriptor
        return subprocess.PIPE if stream in self._piped else subprocess.DEVNULL

    def kill(self) -> None:
        """Kill all that runs, now. Any thread may do so."""
        self._send("SIGKILL")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the program, which runs by now."""
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport
            for stream in self._piped:
                self._connect(stream, transport.get_pipe_transport(stream))
            _running.add(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass on what it wrote."""
        self._receive(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        """Note that nothing more comes on a stream."""
        if fd in self._sinks:
            self._note_end_of(fd)

    def process_exited(self) -> None:
        """Note that the program itself has ended, whatever else runs on."""
        self._finished.set()

    async def _stop(self, *, at_once: bool) -> None:
        try:
            if not at_once:
                self._send("SIGTERM")
                await self._gone(GRACE_S)
        finally:
            self._send("SIGKILL")
        await self._gone(_KILL_S, again="SIGKILL")

    def _release(self) -> None:
        if self._transport is not None:
            self._transport.close()
        _running.discard(self)

    async def _gone(self, seconds: float, *, again: str = "") -> None:
        """Wait until nothing runs any more; what is forked meanwhile gets the signal `again` too."""
        with anyio.move_on_after(seconds):
            while self._is_alive():
                if again:
                    self._send(again)
                await anyio.sleep(_POLL_S)

    def _is_alive(self) -> bool:
        if self._transport is None:
            return False
        return self._transport.get_returncode() is None or _has_group(self._transport.get_pid())

    def _send(self, name: str) -> None:
        """Send a signal to the group. Windows knows only the hard one."""
        if self._transport is None or not self._is_alive():
            return
        leader = self._transport.get_pid()
        if sys.platform == "win32":
            if name == "SIGKILL":
                program = Path(os.environ["SYSTEMROOT"], "System32", "taskkill.exe")
                subprocess.run([program, "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)  # noqa: S603
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.Signals[name])


if sys.platform == "linux":
    Process = LaunchedProcess
else:
    Process = SpawnedProcess


def _has_group(leader: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _input_ends() -> tuple[int, IO[bytes] | None]:
    """Give what the program reads from and what we write to; Windows makes both when the program starts.

    asyncio would make a socket of it up to Python 3.11, which no program can open as `/dev/stdin`.
    """
    if sys.platform == "win32":
        return subprocess.PIPE, None
    theirs, ours = os.pipe()
    return theirs, os.fdopen(ours, "wb", 0)


def apart() -> dict[str, Any]:
    """Give what sets a program apart from the server: no terminal, no signals of it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def kill_running() -> None:
    """Kill the programs that this process started itself; called by any thread before the process leaves.

    Those of the launcher need no call: it ends them when this process is gone.
    """
    for process in list(_running):
        process.kill()


before_leaving.append(kill_running)
