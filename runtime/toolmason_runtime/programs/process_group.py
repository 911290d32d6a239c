"""A program that runs, and the end of it and of all that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import anyio
from toolmason_runtime.programs.launcher_client import Child, Execution, launch
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.transports.shutdown import before_leaving

GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL. A server that is told to end leaves after two."""
LINGER_S: Final = 1.0
"""Seconds that what a program left behind may still write after its end."""

_LOOK_S: Final = 0.02
_DRAIN_S: Final = 0.5
"""Seconds to read what is left in the pipes: only processes that could not be ended still hold them open."""
_LAST_S: Final = 1.0
"""Seconds after SIGKILL: it works at once, unless a process waits for a device."""
_PIECE: Final = 256 * 1024


class RunningProcess(ABC):
    """A program whose streams go to captures.

    `stdout` may be a descriptor that the program writes to itself. `most_written` is the number of bytes on one stream
    after which nobody waits for the program's end (None: no limit).
    """

    def __init__(self, stdout: Capture | int, stderr: Capture, *, most_written: int | None = None) -> None:
        self._stdout = stdout
        self._captures = {2: stderr} if isinstance(stdout, int) else {1: stdout, 2: stderr}
        self._most_written = most_written
        self._finished = asyncio.Event()
        self.has_written_too_much = False
        """Whether there is more on a stream than `most_written` bytes."""
        self._open = set(self._captures)
        self._closed = asyncio.Event()
        self._stdin: asyncio.WriteTransport | None = None

    @property
    @abstractmethod
    def exit_code(self) -> int | None:
        """The exit code, the negative number of the signal that ended it, or None while it runs."""

    @abstractmethod
    async def start(self, execution: Execution, stdin: bytes) -> None:
        """Start it. Its input is written while it runs; nobody waits for that.

        Raises:
            OSError: the system does not start it.
        """

    async def finished(self) -> None:
        """Wait for its end, and for a short time for other writers to its streams."""
        await self._finished.wait()
        if self.has_written_too_much:
            return
        with anyio.move_on_after(LINGER_S):
            await self._closed.wait()

    async def end(self) -> None:
        """End all that still runs, with SIGTERM first, read what it wrote, and release its resources."""
        try:
            if self._is_alive():
                await self._stop()
            with anyio.move_on_after(_DRAIN_S):
                await self._closed.wait()
        finally:
            # Without anything left to write it is closed, or about to be, and must not be again.
            if self._stdin is not None and self._stdin.get_write_buffer_size():
                self._stdin.abort()
            self._release()

    @abstractmethod
    def _is_alive(self) -> bool:
        """Whether a process of the program runs."""

    @abstractmethod
    async def _stop(self) -> None:
        """End all processes."""

    @abstractmethod
    def _release(self) -> None:
        """Close what belongs to this process alone. It may be called twice."""

    def _keep(self, stream: int, data: bytes) -> None:
        self._captures[stream].feed(data)
        if self._most_written is not None and self._captures[stream].size > self._most_written:
            self.has_written_too_much = True
            self._finished.set()

    def _note_end_of(self, stream: int) -> None:
        self._open.discard(stream)
        if not self._open:
            self._closed.set()

    async def _give(self, data: bytes, pipe: IO[bytes]) -> None:
        """Write the input, and close the pipe when all of it is written."""
        self._stdin, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
        self._stdin.write(data)
        self._stdin.close()


class LaunchedProcess(RunningProcess):
    """A program in the care of the launcher, which ends all descendants of it."""

    def __init__(self, stdout: Capture | int, stderr: Capture, *, most_written: int | None = None) -> None:
        super().__init__(stdout, stderr, most_written=most_written)
        self._child: Child | None = None
        self._readers: dict[int, int] = {}

    @property
    def exit_code(self) -> int | None:
        """As in the base class."""
        return None if self._child is None else self._child.exit_code

    async def start(self, execution: Execution, stdin: bytes) -> None:
        """Start it. It runs when this returns."""
        theirs, ours = _input_ends() if stdin else (os.open(os.devnull, os.O_RDONLY), None)
        given = [theirs]
        streams = {0: theirs}
        try:
            for stream in self._captures:
                self._readers[stream], streams[stream] = os.pipe()
                given.append(streams[stream])
            if isinstance(self._stdout, int):
                streams[1] = self._stdout
            self._child = launch(execution, [streams[number] for number in range(3)])
            self._child.on_exit(self._finished.set)
        except BaseException:
            if ours is not None:
                ours.close()
            raise
        finally:
            for descriptor in given:
                os.close(descriptor)
        for stream, reader in self._readers.items():
            os.set_blocking(reader, False)
            asyncio.get_running_loop().add_reader(reader, self._read, stream, reader)
        if ours is not None:
            await self._give(stdin, ours)
        await self._child.started()

    def _read(self, stream: int, reader: int) -> None:
        try:
            data = os.read(reader, _PIECE)
        except BlockingIOError:
            return
        if data:
            self._keep(stream, data)
        else:
            self._close_reader(stream)

    def _close_reader(self, stream: int) -> None:
        if stream in self._readers:
            reader = self._readers.pop(stream)
            asyncio.get_running_loop().remove_reader(reader)
            os.close(reader)
        self._note_end_of(stream)

    def _is_alive(self) -> bool:
        return self._child is not None and not self._child.gone.is_set()

    async def _stop(self) -> None:
        if self._child is not None:
            self._child.end()
            with anyio.move_on_after(GRACE_S + _LAST_S):
                await self._child.gone.wait()

    def _release(self) -> None:
        for stream in list(self._readers):
            self._close_reader(stream)
        if self._child is not None:
            self._child.close()


_running: set[SpawnedProcess] = set()
"""What was started and not yet ended."""


class SpawnedProcess(RunningProcess, asyncio.SubprocessProtocol):
    """A program that this process starts itself, where there is no launcher. Limits and sandbox do not apply.

    It has a group of its own, by which its children are found, unless they have left it.
    """

    def __init__(self, stdout: Capture | int, stderr: Capture, *, most_written: int | None = None) -> None:
        super().__init__(stdout, stderr, most_written=most_written)
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def exit_code(self) -> int | None:
        """As in the base class."""
        return self._transport.get_returncode() if self._transport else None

    async def start(self, execution: Execution, stdin: bytes) -> None:
        """Start it."""
        theirs, ours = _input_ends() if stdin else (subprocess.DEVNULL, None)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *execution.argv,
                executable=execution.executable,
                stdin=theirs,
                stdout=self._stdout if isinstance(self._stdout, int) else subprocess.PIPE,
                stderr=subprocess.PIPE,
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
            await self._give(stdin, ours)
        elif stdin and self._transport is not None:
            pipe = self._transport.get_pipe_transport(0)
            if isinstance(pipe, asyncio.WriteTransport):
                self._stdin = pipe
                pipe.write(stdin)
                pipe.close()

    def kill(self) -> None:
        """Kill all that runs, now. Any thread may do so."""
        self._send("SIGKILL")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the program, which runs by now."""
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport
            _running.add(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what it wrote."""
        self._keep(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        """Note that nothing more comes on a stream."""
        self._note_end_of(fd)

    def process_exited(self) -> None:
        """Note that the program itself has ended, whatever else runs on."""
        self._exited.set()
        self._finished.set()

    async def _stop(self) -> None:
        try:
            self._send("SIGTERM")
            await self._gone(GRACE_S)
        finally:
            self._send("SIGKILL")
        await self._gone(_LAST_S, again="SIGKILL")

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
                await anyio.sleep(_LOOK_S)

    def _is_alive(self) -> bool:
        if self._transport is None:
            return False
        return not self._exited.is_set() or _has_group(self._transport.get_pid())

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
