"""Programs with their descendants: started by the launcher on Linux, by this process elsewhere.

Invariants of the concurrent code:

1. Every descriptor that `_start` opens has one owner at any time: `ours` and `theirs` until a transport takes it over
   (`ours.pop`). The `finally` closes the rest, so a cancelled start leaks none.
2. The server keeps no copy of the program's ends of the pipes. A pipe is at its end when the program's processes are.
3. A `SpawnedProcess` is in `_running` while its program may run, until `_release`. `kill_running` runs in any thread
   and only sends signals; it iterates over a copy.
4. A process group id is not reused while the group has a process, and `_send` checks that before each signal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import anyio
from toolmason_runtime.programs.launcher_client import Child, Execution, launch
from toolmason_runtime.programs.running_process import RunningProcess
from toolmason_runtime.transports.shutdown import exit_hooks

GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL. Less than the two seconds that a server has to shut down."""

_POLL_S: Final = 0.02
_KILL_S: Final = 1.0
"""Seconds to wait after SIGKILL, which only a process that waits for a device delays."""


class _Pipe(asyncio.Protocol):
    """Passes on the bytes of a pipe."""

    def __init__(self, receive: Callable[[bytes], None], close: Callable[[], None]) -> None:
        self._receive, self._close = receive, close

    def data_received(self, data: bytes) -> None:
        self._receive(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        self._close()


class LaunchedProcess(RunningProcess):
    """A program of the launcher, which ends all of its descendants."""

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
"""Programs that were started and not released."""


class SpawnedProcess(RunningProcess, asyncio.SubprocessProtocol):
    """A program that this process starts itself, on systems without the launcher and without limits or sandbox.

    It has its own process group; descendants that leave the group are not ended.
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
                **new_session_options(),
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
        """Kill all processes. Any thread may call this."""
        self._send("SIGKILL")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect the streams of the program, which runs."""
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport
            for stream in self._piped:
                self._connect(stream, transport.get_pipe_transport(stream))
            _running.add(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass on output."""
        self._receive(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        """Note the end of a stream."""
        if fd in self._sinks:
            self._note_end_of(fd)

    def process_exited(self) -> None:
        """Note that the program itself has ended; its descendants may run."""
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
        """Wait until no process runs; repeat the signal `again` for processes that are forked meanwhile."""
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
        """Send a signal to the group. On Windows only SIGKILL has an effect."""
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
    """Return the program's end and our end of standard input; on Windows, asyncio creates both at the start.

    Elsewhere asyncio creates a socket (until Python 3.11), which a program cannot open as `/dev/stdin`.
    """
    if sys.platform == "win32":
        return subprocess.PIPE, None
    theirs, ours = os.pipe()
    return theirs, os.fdopen(ours, "wb", 0)


def new_session_options() -> dict[str, Any]:
    """Return the options of `Popen` for a new session: without a terminal and without the server's signals."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def kill_running() -> None:
    """Kill the programs that this process started itself, before it exits. Any thread may call this.

    The launcher ends its programs when this process ends.
    """
    for process in list(_running):
        process.kill()


exit_hooks.append(kill_running)
