"""A program that runs, and the end of it: of all it started too, unless that has left for a session of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import anyio
from toolwright_runtime.command_line.capture import Capture
from toolwright_runtime.ending import before_leaving

GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL. A server that is told to end leaves after two."""
LINGER_S: Final = 1.0
"""Seconds that what a program left behind may still write after its end."""

_LOOK_S: Final = 0.02
_DRAIN_S: Final = 0.5
"""Seconds to read what is left in the pipes: only what left the session can still hold them open."""
_LAST_S: Final = 1.0
"""Seconds after SIGKILL: it works at once, unless a process waits for a device."""


_running: set[Process] = set()
"""What was started and not yet ended."""


class Process(asyncio.SubprocessProtocol):
    """A program whose two streams go to captures. Its session is its own: so all that belongs to it is found again."""

    def __init__(self, stdout: Capture, stderr: Capture, *, most_written: int | None = None) -> None:
        self._captures = {1: stdout, 2: stderr}
        self._most_written = most_written
        self._finished = asyncio.Event()
        self.has_written_too_much = False
        """Whether there is more on a stream than `most_written` bytes; nobody waits for its end then."""
        self._open = set(self._captures)
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None

    @property
    def exit_code(self) -> int | None:
        """What it ended with, minus the number of a signal if that ended it; None while it runs."""
        return self._transport.get_returncode() if self._transport else None

    async def start(
        self,
        argv: Sequence[str],
        *,
        executable: str,
        cwd: str | None,
        env: Mapping[str, str],
        stdin: bytes,
        access: Any = None,
    ) -> None:
        """Start it. What it reads is written while it reads, and nobody waits for that.

        Raises:
            OSError: the system does not start it.
        """
        theirs, ours = _input_ends() if stdin else (subprocess.DEVNULL, None)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *argv,
                executable=executable,
                stdin=theirs,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                **apart(),
                **(
                    {
                        "preexec_fn": lambda: __import__(
                            "toolwright_runtime.command_line.sandbox", fromlist=["x"]
                        ).restrict(access)
                    }
                    if access
                    else {}
                ),
            )
        except BaseException:
            if ours is not None:
                ours.close()
            raise
        finally:
            if ours is not None:
                os.close(theirs)
        if stdin:
            await self._give(stdin, ours)

    async def finished(self) -> None:
        """Wait for its end, and a little for what else may write to its streams."""
        await self._finished.wait()
        if self.has_written_too_much:
            return
        with anyio.move_on_after(LINGER_S):
            await self._closed.wait()

    async def end(self) -> None:
        """End what still runs, politely first, read what it wrote, and let go of it."""
        if self._transport is None:
            return
        try:
            if self._is_alive():
                await self._stop()
            with anyio.move_on_after(_DRAIN_S):
                await self._closed.wait()
        finally:
            # Without anything left to write it is closed, or about to be, and must not be again.
            if self._stdin is not None and self._stdin.get_write_buffer_size():
                self._stdin.abort()
            self._transport.close()
            _running.discard(self)

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
        self._captures[fd].feed(data)
        if self._most_written is not None and self._captures[fd].size > self._most_written:
            self.has_written_too_much = True
            self._finished.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  asyncio names it
        """Note that nothing more comes on a stream."""
        self._open.discard(fd)
        if not self._open:
            self._closed.set()

    def process_exited(self) -> None:
        """Note that the program itself has ended, whatever else runs on."""
        self._exited.set()
        self._finished.set()

    async def _give(self, data: bytes, pipe: IO[bytes] | None) -> None:
        if pipe is not None:
            self._stdin, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
        elif self._transport is not None:
            stdin = self._transport.get_pipe_transport(0)
            self._stdin = stdin if isinstance(stdin, asyncio.WriteTransport) else None
        if self._stdin is not None:
            self._stdin.write(data)
            self._stdin.close()  # when all is written

    async def _stop(self) -> None:
        try:
            self._send("SIGTERM")
            await self._gone(GRACE_S)
        finally:
            self._send("SIGKILL")
        await self._gone(_LAST_S, again="SIGKILL")

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
        return not self._exited.is_set() or bool(session_members(self._transport.get_pid()))

    def _send(self, name: str) -> None:
        """Send a signal to all that runs. Windows knows only the hard one."""
        if self._transport is None or not self._is_alive():
            return
        leader = self._transport.get_pid()
        if sys.platform == "win32":
            if name == "SIGKILL":
                program = Path(os.environ["SYSTEMROOT"], "System32", "taskkill.exe")
                subprocess.run([program, "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)  # noqa: S603
            return
        number = signal.Signals[name]
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)
        for pid in session_members(leader):
            with suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != leader:
                    os.kill(pid, number)


def session_members(leader: int) -> list[int]:
    """Give the processes of a session that have not ended, also those that formed a group of their own.

    A shell with job control does so, and so does `timeout`. Elsewhere than on Linux it is `leader` for its whole group.
    """
    if sys.platform != "linux":
        return [leader] if _has_group(leader) else []
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal() and _is_in(leader, int(entry.name))]


def _is_in(session: int, pid: int) -> bool:
    try:
        if os.getsid(pid) != session:
            return False
        # The name of a program, in parentheses, may hold anything.
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in {b"Z", b"X"}


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
    """Kill all programs with all they started; called by any thread of a process that is about to leave.

    Nothing of that kind is to be had for a process that is killed itself. PR_SET_PDEATHSIG must be asked for between
    fork and exec, where a process with threads may hang, ends the program and nothing that it started, and does so as
    soon as the thread that started it ends.
    """
    for each in list(_running):
        each.kill()
    # The loop hears of a program some rounds after its start, and may be blocked.
    for leader in _leaders_of_ours():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _leaders_of_ours() -> list[int]:
    """Give the children of this process that lead a session. Elsewhere than on Linux there is no quick way to know."""
    if sys.platform != "linux":
        return []
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal() and _is_leader_of_ours(int(entry.name))]


def _is_leader_of_ours(pid: int) -> bool:
    try:
        parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
        return int(parent) == os.getpid() and os.getsid(pid) == pid
    except OSError:
        return False


before_leaving.append(kill_running)
