"""Start this project's commands as forks of an interpreter that has their packages imported.

Most of the time of `python -m toolmason` is spent on imports. `install` replaces the function behind
`subprocess.Popen`, and so behind `subprocess.run`, asyncio and anyio: a command that is this interpreter with
`-m toolmason`, `-m NAME_server` or `-m uvicorn`, or an installed script of the project, is sent to
`loaded_interpreter.py`, which forks. Any other command starts as usual, and so does one whose start a fork cannot
imitate, for example with options of the interpreter, or with a module in its directory that hides an imported one. The
new process is a child of the process of the tests either way.
"""

from __future__ import annotations

import atexit
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

ZYGOTE: Final = str(Path(__file__).with_name("loaded_interpreter.py"))
PROGRAMS: Final = Path(sys.executable).parent
SCRIPTS: Final = frozenset(str(PROGRAMS / name) for name in ("toolmason", "toolmason-workbench"))
MODULE: Final = re.compile(r"toolmason(\.\w+)*|\w+_server(\.\w+)*|uvicorn")
AT_START: Final = re.compile(r"PYTHON[A-Z]|LC_|LANG$|LANGUAGE$|COV_|COVERAGE_|LD_|MALLOC_|OPENSSL_")
"""The variables that an interpreter or a library reads at its start alone."""
IMITATED: Final = frozenset({"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"})
"""Those of them that a fork applies itself."""
REPLY_S: Final = 60
"""Seconds that the loaded interpreter may take, with its imports."""
LENGTH_BYTES: Final = 8

_really_start: Callable[..., int] = vars(subprocess)["_fork_exec"]
_lock = threading.Lock()
_is_paused = False
_interpreter: _LoadedInterpreter | None = None
_count = 0


class _Start(NamedTuple):
    """The arguments of `_posixsubprocess.fork_exec`, without the last ones, which differ between versions of Python."""

    args: list[Any]
    executables: tuple[bytes, ...]
    close_fds: bool
    fds_to_keep: tuple[int, ...]
    cwd: Any
    env: list[bytes] | None
    p2cread: int
    p2cwrite: int
    c2pread: int
    c2pwrite: int
    errread: int
    errwrite: int
    errpipe_read: int
    errpipe_write: int
    restore_signals: bool
    start_new_session: bool
    process_group: int
    gid: Any
    gids: Any
    uid: Any
    umask: int
    preexec_fn: Any


def install() -> None:
    """Fork from now on. Only Linux has what this needs."""
    if sys.platform == "linux":
        vars(subprocess)["_fork_exec"] = _start


def pause(*, is_paused: bool) -> None:
    """Start every process as usual, or fork again."""
    global _is_paused  # noqa: PLW0603  one for each process, as the function that is replaced
    _is_paused = is_paused


def count() -> int:
    """Return how many processes were forked."""
    return _count


def loaded_interpreter() -> subprocess.Popen[bytes]:
    """Return the process that forked last."""
    assert _interpreter is not None
    return _interpreter.process


@contextmanager
def real_starts() -> Iterator[None]:
    """Start every process as usual inside the block."""
    before = _is_paused
    pause(is_paused=True)
    try:
        yield
    finally:
        pause(is_paused=before)


def _start(*arguments: Any) -> int:
    """Return the pid of a new process."""
    global _count  # noqa: PLW0603  one for each process
    start = _Start(*arguments[: len(_Start._fields)])
    if not _is_paused and _is_ours(start) and (pid := _forked(start)):
        _count += 1
        return pid
    return _really_start(*arguments)


def _is_ours(start: _Start) -> bool:
    program, (name, *options) = _program(start), [os.fsdecode(each) for each in start.args]
    if program == sys.executable == name:
        is_command = options[:1] == ["-m"] and MODULE.fullmatch("".join(options[1:2])) is not None
    else:
        is_command = program in SCRIPTS and Path(program).name == Path(name).name
    is_plain = start.close_fds and start.preexec_fn is start.gid is start.gids is start.uid is None
    return is_command and is_plain and (start.cwd is None or os.access(start.cwd, os.X_OK))


def _program(start: _Start) -> str:
    """Return the path of the program that is started: the first of those on PATH."""
    found = (os.fsdecode(path) for path in start.executables if os.access(path, os.X_OK))
    return next(found, "")


def _forked(start: _Start) -> int:
    """Return the pid of the fork; 0 if this start needs an interpreter of its own."""
    global _interpreter  # noqa: PLW0603  one for each process
    env = _variables(start)
    with _lock:
        for _ in range(2):  # One that has ended is replaced once.
            if _interpreter is None or not _interpreter.is_mine:
                _interpreter = _LoadedInterpreter()
            if at_start(env) != _interpreter.at_start:
                return 0
            try:
                return _interpreter.fork(_request(start, env), _descriptors(start))
            except (OSError, EOFError):
                _end()
            except BaseException:  # an interrupt: the answer that still comes would be taken for the next one
                _end()
                raise
    return 0


def _end() -> None:
    global _interpreter  # noqa: PLW0603  one for each process
    if _interpreter is not None:
        _interpreter.end()
    _interpreter = None


def at_start(env: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the variables that a fork cannot apply."""
    names = {name: os.fsdecode(name) for name in env}
    return {name: env[name] for name, text in names.items() if AT_START.match(text) and text not in IMITATED}


def _variables(start: _Start) -> dict[bytes, bytes]:
    if start.env is None:
        return dict(os.environb)
    return {name: value for name, _, value in (entry.partition(b"=") for entry in start.env)}


def _request(start: _Start, env: Mapping[bytes, bytes]) -> dict[str, Any]:
    return {
        "argv": [os.fsencode(each) for each in (_program(start), *start.args[1:])],
        "env": env,
        "cwd": os.fsencode(Path.cwd() if start.cwd is None else start.cwd),
        "numbers": list(_descriptors(start)),
        "new_session": start.start_new_session,
        "process_group": start.process_group,
        "umask": start.umask if start.umask >= 0 else _umask(),
        "ignored": [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN],
        "blocked": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    }


def _umask() -> int:
    return int(re.search(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[1], 8)  # type: ignore[index]


def _descriptors(start: _Start) -> dict[int, int]:
    """Return the file descriptor of this process for each that the new one has."""
    standard = {0: start.p2cread, 1: start.c2pwrite, 2: start.errwrite}
    given = {number: ours for number, ours in standard.items() if ours >= 0}
    inherited = {number: number for number in standard.keys() - given if _is_inherited(number)}
    passed = {number: number for number in start.fds_to_keep if number > 2 and number != start.errpipe_write}
    return given | inherited | passed


def _is_inherited(descriptor: int) -> bool:
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False  # It is closed.


class _LoadedInterpreter:
    """The process that forks. It ends with this one."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.at_start = at_start(os.environb)
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(REPLY_S)
        env = {name: value for name, value in os.environb.items() if name != b"PYTHONPATH"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, ZYGOTE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        atexit.register(self.end)

    @property
    def is_mine(self) -> bool:
        """False in a fork of the process that started it."""
        return self._pid == os.getpid()

    def fork(self, request: dict[str, Any], descriptors: Mapping[int, int]) -> int:
        """Return the pid of a fork, a child of this process; 0 if the interpreter refuses.

        Raises:
            OSError, EOFError: the interpreter has ended.
        """
        message = pickle.dumps(request)
        length = len(message).to_bytes(LENGTH_BYTES, "big")
        socket.send_fds(self._socket, [length], list(descriptors.values()))
        self._socket.sendall(message)
        if len(reply := self._socket.recv(LENGTH_BYTES)) < LENGTH_BYTES:
            raise EOFError
        return int.from_bytes(reply, "big")

    def end(self) -> None:
        """End the process; its forks go on."""
        self._socket.close()
        if self.is_mine:
            self.process.kill()
            self.process.wait()
