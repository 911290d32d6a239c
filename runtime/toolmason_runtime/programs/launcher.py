"""The launcher process: starts the programs of one server, and ends all their descendants.

Run as `python -I -S launcher.py FD`, with the standard library alone. FD is a Unix socket (SOCK_SEQPACKET) to the
server. Each packet on it is one request: a byte, and the descriptors of `Descriptors`. The launcher forks *guardians*.
One is always idle: it takes the next request from the socket and starts the program, while the launcher forks another:

    server -> launcher -> guardian -> program -> its children

Invariants:

1. The launcher and its guardians have one thread, so Python code may run after a fork.
2. A guardian is a child subreaper. A descendant of its program cannot leave its tree, not even by a double fork with
   `setsid`: an orphan becomes a child of the guardian. So the descendants of a guardian are the processes of one
   command, and a guardian without children (ECHILD) has no process left to end.
3. Only the server holds the other end of a guardian's control socket. The kernel closes it when the server ends, even
   by SIGKILL; the guardian then ends its descendants.
4. Only the guardian receives the descriptors of a request. It closes those of the program once the program runs, so a
   pipe closes when the last process of the command has closed it.
5. The launcher is a subreaper as well. It adopts the processes of a killed guardian, and kills them. A program can
   signal its guardian, so the launcher kills a guardian that is stopped.

Control socket, guardian to server: `marshal` of ("started", pid), ("failed", errno, stage) or ("exited", code), then
end of file when no process of the command is left. Server to guardian: b"k" kills all processes; on end of file the
guardian sends them SIGTERM, then SIGKILL after a grace period.
"""

from __future__ import annotations

import ctypes
import gc
import marshal
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple

GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL."""
KILL_TIMEOUT_S: Final = 5.0
"""Seconds of repeated SIGKILL before a guardian gives up: a process may belong to another user."""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_SCAN_S: Final = 0.02
_PID_BYTES: Final = 8
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that a launcher or guardian ignores: only end of file ends it."""
_DEFAULT: Final = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
"""Signals that Python or this module handles; a program starts with their default action."""


class Descriptors(NamedTuple):
    """The descriptors of one request, in the order of the packet."""

    control: int
    request: int
    cwd: int
    stdin: int
    stdout: int
    stderr: int

    @property
    def program(self) -> tuple[int, ...]:
        """The descriptors of the program."""
        return self.cwd, self.stdin, self.stdout, self.stderr


class Request(NamedTuple):
    """One program to start, as `marshal` in the file `Descriptors.request`.

    `access` has the fields of `sandbox.Access`; None means no sandbox. `limits` has pairs of a resource and its limit.
    A negative `umask` keeps the server's.
    """

    argv: tuple[str, ...]
    executable: str
    env: dict[str, str]
    umask: int
    limits: tuple[tuple[int, int], ...]
    access: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], bool, bool] | None


def main(descriptor: int) -> None:
    """Serve requests until the server closes its end and no guardian is left."""
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))  # inheritable descriptors of the server
    server = socket.socket(fileno=descriptor)
    server.set_inheritable(False)
    os.setsid()
    os.chdir("/")
    _become_subreaper()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Otherwise a program could read the environments of other programs in the memory of this process.
    _prctl(_PR_SET_DUMPABLE, 0)
    gc.freeze()
    _serve(server, _ChildEvents())


def _serve(server: socket.socket, events: _ChildEvents) -> None:
    reader, writer = os.pipe()
    guardians: set[int] = set()
    idle: set[int] = set()
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(events.fileno(), select.POLLIN)
    is_open, strays_until = True, 0.0
    if not select.select([server], [], [], 0)[0]:  # `start_ahead` started this process
        _prepare_sandbox()
    # At most one guardian is idle, and only an idle one reads from `server`: requests are never read twice.
    while is_open or guardians or strays_until:
        if is_open and not idle:
            pid = _fork_guardian(server, writer)
            guardians.add(pid)
            idle.add(pid)
            _prepare_sandbox()
        ready = {descriptor for descriptor, _ in poll.poll(_SCAN_S * 1000 if strays_until else None)}
        if reader in ready:
            pid = int.from_bytes(os.read(reader, _PID_BYTES), "little")
            is_open = is_open and pid != 0
            idle.discard(pid)
        events.clear()
        for pid, status in _reap(os.WUNTRACED):
            if os.WIFSTOPPED(status):
                _send_to([pid], signal.SIGKILL)
                continue
            # A status other than 0: the guardian was killed or gave up.
            if pid in guardians and status != 0:
                strays_until = time.monotonic() + KILL_TIMEOUT_S
            guardians.discard(pid)
            idle.discard(pid)
        if strays_until:
            strays = _descendants(without=guardians)
            _send_to(strays, signal.SIGKILL)
            if not strays or time.monotonic() > strays_until:
                strays_until = 0.0


def _prepare_sandbox() -> None:
    with suppress(ImportError, OSError):  # the guardian that needs it reports the failure
        _sandbox()


def _fork_guardian(server: socket.socket, launcher: int) -> int:
    """Fork a guardian that waits for the next request, and return its process id.

    The guardian writes its process id to `launcher` when it takes the request, or 0 when the server has closed its end.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _become_subreaper()
            events = _ChildEvents()
            _, received, _, _ = socket.recv_fds(server, 1, len(Descriptors._fields))
            for descriptor in received:  # recv_fds ignores MSG_CMSG_CLOEXEC
                os.set_inheritable(descriptor, False)
            os.write(launcher, (os.getpid() if received else 0).to_bytes(_PID_BYTES, "little"))
            server.close()
            os.close(launcher)
            status = _guard(Descriptors(*received), events) if received else 0
        finally:
            os._exit(status)
    return pid


def _guard(descriptors: Descriptors, events: _ChildEvents) -> int:
    """Start the program, report its end, and end its descendants. Return 0 if none of them is left."""
    control = socket.socket(fileno=descriptors.control)
    if select.select([control], [], [], 0)[0]:  # the caller was cancelled in the meantime
        return 0
    try:
        program = _start(_read_request(descriptors.request), descriptors)
    except StartError as error:
        _report(control, ("failed", *error.args))
        return 0
    for descriptor in descriptors.program:
        os.close(descriptor)
    _report(control, ("started", program))
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(events.fileno(), select.POLLIN)
    kill_at = give_up_at = float("inf")
    while True:
        for pid, status in (reaped := _reap()):
            if pid == program:
                _report(control, ("exited", os.waitstatus_to_exitcode(status)))
        if reaped.is_last:
            return 0
        now = time.monotonic()
        if now >= give_up_at:
            return 1
        if now >= kill_at:
            give_up_at = min(give_up_at, now + KILL_TIMEOUT_S)
            _send_to(_descendants(), signal.SIGKILL)
        wait_s = _SCAN_S if now >= kill_at else kill_at - now
        ready = {descriptor for descriptor, _ in poll.poll(None if wait_s == float("inf") else wait_s * 1000)}
        events.clear()
        if control.fileno() in ready:
            if _receive(control):
                kill_at = 0.0
                continue
            poll.unregister(control)
            _send_to(_descendants(), signal.SIGTERM)
            kill_at = min(kill_at, time.monotonic() + GRACE_S)


def _receive(control: socket.socket) -> bytes:
    try:
        return control.recv(1)
    except ConnectionResetError:  # the server ended with messages that it had not read
        return b""


def _read_request(descriptor: int) -> Request:
    """Read a request and close its file."""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return Request(*marshal.load(file))  # noqa: S302  written by the server, which starts this process


@cache
def _sandbox() -> ModuleType:
    """Return the module `sandbox` beside this file, prepared for later forks."""
    import sandbox  # type: ignore[import-not-found,unused-ignore]  # found by the path below

    sandbox.supported()
    return sandbox  # type: ignore[no-any-return,unused-ignore]


def _start(request: Request, descriptors: Descriptors) -> int:
    """Start the program and return its process id.

    The guardian applies directory, limits and sandbox to itself; the program inherits them.

    Raises:
        StartError: a step failed.
    """
    streams = enumerate((descriptors.stdin, descriptors.stdout, descriptors.stderr))
    with _stage("start"):
        os.fchdir(descriptors.cwd)
        if request.umask >= 0:
            os.umask(request.umask)
    with _stage("sandbox"):
        if request.access is not None:
            sandbox = _sandbox()
            sandbox.restrict(sandbox.Access(*request.access))
    with _stage("limits"):
        for kind, limit in request.limits:
            _limit(kind, limit)
    with _stage("start"):
        return os.posix_spawn(
            request.executable,
            request.argv,
            request.env,
            file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, target) for target, descriptor in streams],
            setsid=True,
            setsigdef=_DEFAULT,
        )


class StartError(Exception):
    """A program was not started. Arguments: errno, stage."""


@contextmanager
def _stage(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(error.errno or 0, name) from error


def _limit(kind: int, limit: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (value, value))


class _Reaped(list[tuple[int, int]]):
    """Process ids and statuses of ended children, with WUNTRACED also of stopped ones.

    `is_last` is true if no child is left.
    """

    is_last = False


def _reap(options: int = 0) -> _Reaped:
    reaped = _Reaped()
    try:
        while (ended := os.waitpid(-1, os.WNOHANG | options))[0]:
            reaped.append(ended)
    except ChildProcessError:
        reaped.is_last = True
    return reaped


def _descendants(without: set[int] | frozenset[int] = frozenset()) -> list[int]:
    """Return the descendants of this process, except the processes in `without` and their descendants.

    Zombies are included: a zombie whose first thread has ended may have other threads.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  pathlib is not imported
        if not name.isdecimal():
            continue
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  pathlib is not imported
            # The program's name, in parentheses, may contain anything.
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    descendants: list[int] = []
    pending = [os.getpid()]
    while pending:
        for pid in children.get(pending.pop(), ()):
            if pid not in without:
                descendants.append(pid)
                pending.append(pid)
    return descendants


def _send_to(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def _report(control: socket.socket, message: tuple[Any, ...]) -> None:
    with suppress(OSError):  # the server is gone
        control.send(marshal.dumps(message))


class _ChildEvents:
    """A pipe that becomes readable when a child ends.

    It is cleared before `waitpid`, so a child that ends in between makes it readable again and is not missed.
    """

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        for descriptor in (self._reader, writer):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._reader

    def clear(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                pass


def _become_subreaper() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  pathlib is not imported
    main(int(sys.argv[1]))
