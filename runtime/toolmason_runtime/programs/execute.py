"""Runs a command line: no shell, little environment, an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from toolmason_runtime.programs.access import isolation, with_program
from toolmason_runtime.programs.executable import check_folder, located, unstarted
from toolmason_runtime.programs.launcher_client import Execution, Limits
from toolmason_runtime.programs.output_buffer import MAX_IN_FILE, MAX_IN_MEMORY, Capture
from toolmason_runtime.programs.process_group import Process, apart
from toolmason_runtime.programs.running_process import RunningProcess
from toolmason_runtime.programs.sandbox import Access, wrap
from toolmason_runtime.programs.search_path import SearchPath, working_directory
from toolmason_runtime.programs.spec import Invocation
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.transports.shutdown import before_leaving

Environ = Mapping[str, str]

_NEEDED: Final = {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME"}
_NEEDED_BY_WINDOWS: Final = {
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES"),
    *("PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
}
_CLEANING_S: Final = 5.0
"""Seconds that a command which ends another one has."""

MAX_PROGRAMS: Final = "TOOLMASON_MAX_PROGRAMS"
"""Environment variable with the number of programs that run at the same time."""
DEFAULT_MAX_PROGRAMS: Final = 8

Result = TypeVar("Result")

_running: set[asyncio.Task[Any]] = set()
"""What runs: an event loop alone would forget it."""


_killable: dict[int, Command] = {}
"""What runs where no signal of ours reaches it, by identity."""

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is started for an invocation, `stdin` and `env` being all it is given.

    `kill` is a command line to run at once when it must end before its time, and `remove` one for when it is gone and
    `kill` did not succeed; empty where ending the processes is all there is to do. `access` is the sandbox (None: it
    runs without one). `projects` are as in `Invocation`, and a negative `umask` keeps the server's.
    """

    argv: tuple[str, ...]
    env: Environ = field(repr=False)
    cwd: str = ""
    stdin: str | None = None
    timeout_s: float = 30.0
    kill: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    access: Access | None = None
    projects: tuple[str, ...] = ()
    umask: int = -1

    def execution(self, executable: str, env: Environ) -> Execution:
        """Return what the launcher needs to know, with the file that `argv[0]` was found at.

        A program that is confined gets what it cannot run without.
        """
        argv, access, how = self.argv, None, isolation() if self.access else ""
        if self.access is not None and how:
            access = with_program(self.access, executable, lambda name: located(name, env))
        if access is not None and how == "bwrap":
            argv, access = tuple(wrap(access, [executable, *argv[1:]])), None
            executable = argv[0]
        return Execution(
            argv=argv,
            executable=executable,
            env=env,
            cwd=self.cwd,
            limits=self.limits,
            access=access,
            umask=self.umask,
        )


Executor = Callable[[Invocation, Environ], Command]
"""Says what to start for an invocation; the second argument is the server's environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended and what it wrote, to be closed by who has it.

    `exit_code` is None if it was ended before its end: its time was up, or it had written too much (`is_cut`).
    """

    stdout: Capture
    stderr: Capture
    exit_code: int | None
    timeout_s: float
    is_cut: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether it was ended since its time was up."""
        return self.exit_code is None and not self.is_cut

    @property
    def is_failure(self) -> bool:
        """Whether it ended otherwise than with 0."""
        return self.exit_code != 0

    def close(self) -> None:
        """Let go of what it wrote."""
        self.stdout.close()
        self.stderr.close()


def local(invocation: Invocation, environ: Environ) -> Command:
    """Run on this machine, with the least of the environment and what the program declares."""
    return Command(
        argv=invocation.argv,
        env={**base_environment(environ), **declared(invocation, environ)},
        cwd=invocation.cwd,
        stdin=invocation.stdin,
        timeout_s=invocation.timeout_s,
        limits=Limits.above(invocation.timeout_s, memory_mb=invocation.memory_mb),
        access=invocation.access,
        projects=invocation.projects,
    )


def base_environment(environ: Environ) -> dict[str, str]:
    """Give what any program needs to run, of the server's environment."""
    if sys.platform == "win32":
        return {name: value for name, value in environ.items() if name.upper() in _NEEDED_BY_WINDOWS}
    return {"TERM": "dumb"} | {
        name: value for name, value in environ.items() if name in _NEEDED or name.startswith("LC_")
    }


def declared(invocation: Invocation, environ: Environ) -> dict[str, str]:
    """Give what the program is given by name: variables handed on from the server, and those set for it.

    An empty variable counts as not set: clients send one for each that they know by name and the user has not set.
    """
    passed = {name: value for name in invocation.pass_env if (value := environ.get(name))}
    return {**passed, **invocation.env}


async def run(
    invocation: Invocation,
    *,
    executor: Executor = local,
    environ: Environ | None = None,
    most_in_memory: int = MAX_IN_MEMORY,
    most_in_file: int = MAX_IN_FILE,
    most_written: int | None = None,
) -> Outcome:
    """Run a command line to its end, or until its time is up or the caller is cancelled.

    When it returns, or is cancelled, no process of it runs any more. Only a number of programs run at the same time
    (`TOOLMASON_MAX_PROGRAMS`); the others wait, no longer than their own timeout, which begins when they start.
    `environ` is the server's environment (None: that of this process); the limits are in bytes of each stream. What
    writes more than `most_written` to one is ended (None: it may write on, and what has no room is counted).

    Raises:
        ToolError: it could not be started, or others ran all the time (`BUSY`).
    """
    command = executor(invocation, os.environ if environ is None else environ)
    captures = (
        Capture(most_in_memory=most_in_memory, most_in_file=most_in_file),
        Capture(most_in_memory=most_in_memory, most_in_file=most_in_file),
    )
    return await ended_whole(
        lambda scope: _carried_out(command, scope, most_written, *captures), let_go=lambda outcome: outcome.close()
    )


async def ended_whole(
    work: Callable[[anyio.CancelScope], Coroutine[Any, Any, Result]],
    *,
    let_go: Callable[[Result], None] = lambda _: None,
) -> Result:
    """Do `work`, which starts a program and ends it when the scope it is given is cancelled.

    A caller who is cancelled waits for that end. A result that comes nevertheless goes to `let_go`.
    """
    scope = anyio.CancelScope()
    # A task of its own: a caller who is cancelled twice, or while it starts, must not leave half of it running.
    task = asyncio.create_task(work(scope))
    _running.add(task)
    task.add_done_callback(_running.discard)

    def forget(done: asyncio.Task[Result]) -> None:
        if not done.cancelled() and done.exception() is None:
            let_go(done.result())

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(forget)
        scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        raise


async def _carried_out(
    command: Command, scope: anyio.CancelScope, most_written: int | None, stdout: Capture, stderr: Capture
) -> Outcome:
    process = Process(stdout.feed, stderr.feed, max_bytes=most_written)
    code = None
    try:
        with scope:
            async with _slot(command.timeout_s):
                code = await follow(process, command)
    except BaseException:
        stdout.close()
        stderr.close()
        raise
    is_cut = code is None and process.has_written_too_much
    return Outcome(stdout=stdout, stderr=stderr, exit_code=code, timeout_s=command.timeout_s, is_cut=is_cut)


async def follow(process: RunningProcess, command: Command) -> int | None:
    """Start a command and wait for its end, at most `timeout_s`; then end whatever still runs.

    Returns the exit code; None if it still ran, because the time was up or `process` was not to be waited for.

    Raises:
        ToolError: it could not be started.
    """
    try:
        if command.kill:
            _killable[id(command)] = command
        with anyio.move_on_after(command.timeout_s):
            await _started(process, command)
            await process.finished()
    finally:
        code = process.exit_code
        with anyio.CancelScope(shield=True):
            await _ended(process, command)
        _killable.pop(id(command), None)
    return code


@asynccontextmanager
async def _slot(wait_s: float) -> AsyncIterator[None]:
    """Hold one of the slots for running programs, after waiting for it.

    Raises:
        ToolError: none was free in time.
    """
    most = max_programs(os.environ)
    semaphore = _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(most))
    try:
        async with asyncio.timeout(wait_s):
            await semaphore.acquire()
    except TimeoutError:
        message = f"{most} programs were running all the time for {wait_s:g}s: send fewer calls at once, and this again"
        raise ToolError(message, code="BUSY") from None
    try:
        yield
    finally:
        semaphore.release()


def max_programs(environ: Environ) -> int:
    """Return the number of programs that run at the same time; the default for an invalid value."""
    value = environ.get(MAX_PROGRAMS, "")
    return int(value) if value.isdecimal() and int(value) > 0 else DEFAULT_MAX_PROGRAMS


async def _started(process: RunningProcess, command: Command) -> None:
    # In a thread, because a file system that does not respond must not block the server.
    execution = await anyio.to_thread.run_sync(_located, command, abandon_on_cancel=True)
    try:
        await process.start(execution, (command.stdin or "").encode("utf-8", "replace"))
    except OSError as error:
        raise unstarted(command.argv, error) from error


def _located(command: Command) -> Execution:
    if command.cwd:
        check_folder(command.cwd)
    path = SearchPath.of(command.env, (*command.projects, *filter(None, [command.cwd]), *working_directory()))
    env = path.narrow(command.env) if "PATH" in command.env else command.env
    return command.execution(located(command.argv[0], env, skipped=path.skipped), env)


async def _ended(process: RunningProcess, command: Command) -> None:
    has_ended_itself = process.exit_code is not None and process.exit_code >= 0
    if has_ended_itself or not command.kill:
        await process.end()
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.end)
        is_killed = await _succeeds(command.kill, command.env)
    if not is_killed:
        await _succeeds(command.remove, command.env)


async def _succeeds(argv: tuple[str, ...], env: Environ) -> bool:
    """Run a cleanup command, and return whether it ended with 0 in time."""
    command = Command(argv=argv, env=env, timeout_s=_CLEANING_S, limits=Limits(memory_mb=0))
    try:
        return await follow(Process(None), command) == 0
    except ToolError:
        return False


def _kill_apart() -> None:
    """Have what runs elsewhere be killed, by commands that outlive this process. Called by any thread."""
    for command in list(_killable.values()):
        with suppress(OSError):
            subprocess.Popen(  # noqa: S603  argv of our own
                command.kill,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=command.env,
                **apart(),
            )


before_leaving.append(_kill_apart)
