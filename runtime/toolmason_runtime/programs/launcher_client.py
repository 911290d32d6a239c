"""Client of the launcher process: starts a program and follows it until all its descendants have ended. Linux only.

Invariants of the concurrent code:

1. The event loop's thread owns a `Child`; only `kill` may be called by other threads: `send` on a socket is atomic.
2. The control socket reports the start once ("started" or "failed"), then "exited", then its end. `_receive` accepts
   the end at any time, if the launcher was killed, and then completes `_started`, `exit_code`, `gone`.
3. `close` removes the reader before it closes the descriptor, so a reused number never calls `_receive`.
4. Only this process has our end of the control socket (close-on-exec). If this process ends, even by SIGKILL, the
   guardian reads the end of file and ends the program.
"""

from __future__ import annotations

import asyncio
import errno
import marshal
import math
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolmason_runtime.programs.launcher_process import send

if TYPE_CHECKING:
    from toolmason_runtime.programs.sandbox import Access

DEFAULT_MEMORY_MB: Final = 1024
MAX_FILE_BYTES: Final = 4 * 1024**3
"""Largest file that a program may write."""
CPU_MARGIN_S: Final = 10
"""Seconds of processor time added to the timeout times the number of processors."""

_PROCESSES: Final = "/proc/self/stat"
"""A file that is readable where the launcher can find the descendants of a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of each process of a command; 0 means none."""

    memory_mb: int = DEFAULT_MEMORY_MB
    """Mebibytes of private memory (RLIMIT_DATA). Address space is not limited: Node and Go reserve much of it."""
    cpu_s: float = 0.0
    file_bytes: int = MAX_FILE_BYTES

    @classmethod
    def above(cls, timeout_s: float, *, memory_mb: int = DEFAULT_MEMORY_MB) -> Limits:
        """Return limits that a program reaches only after its timeout, even on all processors."""
        return cls(memory_mb=memory_mb, cpu_s=timeout_s * (os.cpu_count() or 1) + CPU_MARGIN_S)

    def resources(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs for `setrlimit`."""
        import resource

        limits = (
            (resource.RLIMIT_DATA, self.memory_mb * 1024**2),
            (resource.RLIMIT_CPU, math.ceil(self.cpu_s)),
            (resource.RLIMIT_FSIZE, self.file_bytes),
        )
        return (*((kind, limit) for kind, limit in limits if limit), (resource.RLIMIT_CORE, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A program to execute. `executable` is its absolute path; an empty `cwd` means the server's directory.

    `access` is the sandbox (None: no sandbox); a negative `umask` keeps the server's.
    """

    argv: tuple[str, ...]
    executable: str
    env: Mapping[str, str] = field(repr=False)
    cwd: str = ""
    limits: Limits = field(default_factory=Limits)
    access: Access | None = None
    umask: int = -1


class SandboxError(OSError):
    """The program was not started: its sandbox or its limits could not be applied."""


class Child:
    """A program that the launcher started.

    `exit_code` is None while the program runs, and negative if a signal ended it. `gone` is set when its descendants
    have ended too.
    """

    def __init__(self, control: socket.socket) -> None:
        self.pid = 0
        self.exit_code: int | None = None
        self.gone = asyncio.Event()
        self._control = control
        self._on_exit: Callable[[], None] | None = None
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        control.setblocking(False)
        asyncio.get_running_loop().add_reader(control, self._receive)

    def on_exit(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the program itself ends."""
        self._on_exit = callback

    async def started(self) -> None:
        """Wait until the program runs.

        Raises:
            OSError: it could not be started.
        """
        await asyncio.shield(self._started)

    def end(self) -> None:
        """End all processes with SIGTERM, and with SIGKILL after a grace period."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        """Kill all processes. Any thread may call this."""
        with suppress(OSError):
            self._control.send(b"k")

    def close(self) -> None:
        """Stop listening. If processes are left, the launcher ends them."""
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()

    def _receive(self) -> None:
        try:
            data = self._control.recv(256)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        match marshal.loads(data) if data else ():  # noqa: S302  written by our own launcher
            case ("started", pid):
                self.pid = pid
                self._settle(None)
            case ("failed", number, stage):
                self._settle(_error(number, stage))
            case ("exited", code):
                self._has_exited(code)
            case _:
                self.close()
                self._settle(OSError(errno.EPIPE, "the launcher process was ended"))
                self._has_exited(-signal.SIGKILL)
                self.gone.set()

    def _has_exited(self, code: int) -> None:
        if self.exit_code is None:
            self.exit_code = code
            if self._on_exit is not None:
                self._on_exit()

    def _settle(self, error: OSError | None) -> None:
        if self._started.done():
            return
        if error is None:
            self._started.set_result(None)
        else:
            self._started.set_exception(error)
            self._started.exception()  # mark it as retrieved: a cancelled caller does not await it


def _error(number: int, stage: str) -> OSError:
    if stage == "start":
        return OSError(number, os.strerror(number))
    return SandboxError(number, f"its {stage} could not be applied: {os.strerror(number)}")


def launch(execution: Execution, streams: Sequence[int]) -> Child:
    """Start a program in a new session with the three descriptors `streams`, which the caller closes.

    Raises:
        OSError: the directory cannot be entered, the launcher cannot be started, or there is no /proc.
    """
    from toolmason_runtime.programs.launcher import Descriptors, Request

    if not os.access(_PROCESSES, os.R_OK):
        raise SandboxError(errno.ENOSYS, "/proc cannot be read, and no program can be ended without it: mount /proc")
    access = execution.access
    request = Request(
        argv=execution.argv,
        executable=execution.executable,
        env=dict(execution.env),
        umask=execution.umask,
        limits=execution.limits.resources(),
        access=(access.reads, access.writes, access.executes, access.network, access.lists) if access else None,
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with theirs, os.fdopen(os.memfd_create("request"), "wb", 0) as file:
            file.write(marshal.dumps(tuple(request)))
            directory = os.open(execution.cwd or ".", os.O_PATH | os.O_DIRECTORY)
            try:
                send(Descriptors(theirs.fileno(), file.fileno(), directory, *streams))
            finally:
                os.close(directory)
    except BaseException:
        ours.close()
        raise
    return Child(ours)
