"""Run a command line without a shell, with a minimal environment, and end all of its processes.

Invariants of the concurrent code:

1. `run_to_cleanup` runs each program in a task of its own. The caller awaits it through a shield: cancelling the caller
   cancels the scope, never the task, and the caller waits until the task is done.
2. The scope covers the wait for a slot, the start and the wait for the end. The `finally` of `follow` is outside of
   `move_on_after` and shielded, so processes are ended after success, timeout, error and cancellation alike.
3. A slot is released after `follow` has returned, so at most `max_programs` programs run in one event loop.
4. A command with `kill_argv` is in `_remote_commands` from before its start until after its cleanup. When the server
   exits, a thread without the event loop runs `kill_argv` for each of them.
"""

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
from toolmason_runtime.programs.executable import check_directory, find_executable, start_error
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.launcher_client import Execution, Limits
from toolmason_runtime.programs.output_buffer import MAX_IN_FILE, MAX_IN_MEMORY, Capture
from toolmason_runtime.programs.process_group import Process, new_session_options
from toolmason_runtime.programs.running_process import RunningProcess
from toolmason_runtime.programs.sandbox import Access, wrap
from toolmason_runtime.programs.search_path import SearchPath, working_directory
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.transports.shutdown import exit_hooks

Environ = Mapping[str, str]

_BASE_VARIABLES: Final = {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME"}
_WINDOWS_VARIABLES: Final = {
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES"),
    *("PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
}
_CLEANUP_TIMEOUT_S: Final = 5.0
"""Timeout of a cleanup command, in seconds."""

MAX_PROGRAMS: Final = "TOOLMASON_MAX_PROGRAMS"
"""Environment variable with the maximum number of programs that run at the same time."""
DEFAULT_MAX_PROGRAMS: Final = 8

Result = TypeVar("Result")

_running: set[asyncio.Task[Any]] = set()
"""References to the running tasks: an event loop has only weak ones."""

_remote_commands: dict[int, Command] = {}
"""Running commands whose processes receive no signals of the server, by identity."""

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
"""The slots for running programs of each event loop: a semaphore is bound to one loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The program to start for an invocation, with its complete environment.

    `kill_argv` is a command that ends the program elsewhere, run if it must end early; `cleanup_argv` one that runs
    afterwards if `kill_argv` failed. Both are empty for a local program. `access` is the sandbox (None: no sandbox).
    `projects` are those of `Invocation`. A negative `umask` keeps the server's.
    """

    argv: tuple[str, ...]
    env: Environ = field(repr=False)
    cwd: str = ""
    stdin: str | bytes | None = None
    timeout_s: float = 30.0
    kill_argv: tuple[str, ...] = ()
    cleanup_argv: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    access: Access | None = None
    projects: tuple[str, ...] = ()
    umask: int = -1

    def execution(self, executable: str, env: Environ) -> Execution:
        """Return the request to the launcher. `executable` is the path of `argv[0]`.

        The access of a confined program includes the files that it needs to run.
        """
        argv, access, how = self.argv, None, isolation() if self.access else ""
        if self.access is not None and how:
            access = with_program(self.access, executable, lambda name: find_executable(name, env))
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
"""Returns the command to start for an invocation; the second argument is the server's environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The exit code and the output of a run. The owner closes it.

    `exit_code` is None if the run was ended: by its timeout, or because its output exceeded the limit (`is_cut`).
    """

    stdout: Capture
    stderr: Capture
    exit_code: int | None
    timeout_s: float
    is_cut: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether the timeout ended it."""
        return self.exit_code is None and not self.is_cut

    @property
    def is_failure(self) -> bool:
        """True unless the exit code is 0."""
        return self.exit_code != 0

    def close(self) -> None:
        """Delete the output."""
        self.stdout.close()
        self.stderr.close()


def local(invocation: Invocation, environ: Environ) -> Command:
    """Run on this machine, with the base environment and the declared variables."""
    return Command(
        argv=invocation.argv,
        env={**base_environment(environ), **declared_environment(invocation, environ)},
        cwd=invocation.cwd,
        stdin=invocation.stdin,
        timeout_s=invocation.timeout_s,
        limits=Limits.above(invocation.timeout_s, memory_mb=invocation.memory_mb),
        access=invocation.access,
        projects=invocation.projects,
    )


def base_environment(environ: Environ) -> dict[str, str]:
    """Return the variables of the server's environment that any program needs."""
    if sys.platform == "win32":
        return {name: value for name, value in environ.items() if name.upper() in _WINDOWS_VARIABLES}
    return {"TERM": "dumb"} | {
        name: value for name, value in environ.items() if name in _BASE_VARIABLES or name.startswith("LC_")
    }


def declared_environment(invocation: Invocation, environ: Environ) -> dict[str, str]:
    """Return the declared variables of a program: `pass_env` of the server, and `env`.

    An empty variable of the server counts as unset: some clients pass unset variables as empty ones.
    """
    passed = {name: value for name in invocation.pass_env if (value := environ.get(name))}
    return {**passed, **invocation.env}


async def run(
    invocation: Invocation,
    *,
    executor: Executor = local,
    environ: Environ | None = None,
    max_memory_bytes: int = MAX_IN_MEMORY,
    max_file_bytes: int = MAX_IN_FILE,
    max_output_bytes: int | None = None,
) -> Outcome:
    """Run a command line until it ends, its timeout expires or the caller is cancelled; then end all its processes.

    At most `TOOLMASON_MAX_PROGRAMS` programs run at the same time. The others wait for a slot, at most for their
    timeout, which then starts again.

    Args:
        invocation: The command line.
        executor: Returns the command to start.
        environ: The server's environment (None: that of this process).
        max_memory_bytes: Bytes of each stream in memory.
        max_file_bytes: Further bytes of each stream in a file; the rest is counted and dropped.
        max_output_bytes: Bytes of a stream after which the program is ended (None: no limit).

    Raises:
        ToolError: it did not start, or no slot was free in time (`BUSY`).
    """
    command = executor(invocation, os.environ if environ is None else environ)
    captures = (
        Capture(max_memory_bytes=max_memory_bytes, max_file_bytes=max_file_bytes),
        Capture(max_memory_bytes=max_memory_bytes, max_file_bytes=max_file_bytes),
    )
    return await run_to_cleanup(
        lambda scope: _run_in_slot(command, scope, max_output_bytes, *captures), release=lambda outcome: outcome.close()
    )


async def run_to_cleanup(
    work: Callable[[anyio.CancelScope], Coroutine[Any, Any, Result]],
    *,
    release: Callable[[Result], None] = lambda _: None,
) -> Result:
    """Await `work`, which starts a program and ends it when its scope is cancelled.

    If the caller is cancelled, it waits for that end, and a result that still arrives is passed to `release`.
    """
    scope = anyio.CancelScope()
    # Invariant 1: a caller that is cancelled twice, or during the start, must not leave processes behind.
    task = asyncio.create_task(work(scope))
    _running.add(task)
    task.add_done_callback(_running.discard)

    def release_result(done: asyncio.Task[Result]) -> None:
        if not done.cancelled() and done.exception() is None:
            release(done.result())

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(release_result)
        scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        raise


async def _run_in_slot(
    command: Command, scope: anyio.CancelScope, max_output_bytes: int | None, stdout: Capture, stderr: Capture
) -> Outcome:
    process = Process(stdout.write, stderr.write, max_bytes=max_output_bytes)
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
    """Start a command, wait for its end for at most `timeout_s`, then end its remaining processes.

    Returns the exit code; None if it still ran, after the timeout or `process.stop_waiting`.

    Raises:
        ToolError: it did not start.
    """
    try:
        if command.kill_argv:
            _remote_commands[id(command)] = command
        with anyio.move_on_after(command.timeout_s):
            await _start(process, command)
            await process.finished()
    finally:
        code = process.exit_code
        with anyio.CancelScope(shield=True):
            await _end(process, command)
        _remote_commands.pop(id(command), None)
    return code


@asynccontextmanager
async def _slot(wait_s: float) -> AsyncIterator[None]:
    """Acquire one of the slots for running programs, and release it afterwards.

    Raises:
        ToolError: no slot was free in time.
    """
    limit = max_programs(os.environ)
    semaphore = _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(limit))
    try:
        async with asyncio.timeout(wait_s):
            await semaphore.acquire()
    except TimeoutError:
        message = f"{limit} other programs were running for {wait_s:g}s: send fewer calls at once, and retry this one"
        raise ToolError(message, code="BUSY") from None
    try:
        yield
    finally:
        semaphore.release()


def max_programs(environ: Environ) -> int:
    """Return the number of programs that run at the same time; the default for an invalid value."""
    value = environ.get(MAX_PROGRAMS, "")
    return int(value) if value.isdecimal() and int(value) > 0 else DEFAULT_MAX_PROGRAMS


async def _start(process: RunningProcess, command: Command) -> None:
    stdin = command.stdin or b""
    await start(process, command, stdin.encode("utf-8", "replace") if isinstance(stdin, str) else stdin)


async def start(process: RunningProcess, command: Command, stdin: bytes | None) -> None:
    """Start a command; the caller ends the process. With `stdin=None`, it writes to `process.stdin`.

    Raises:
        ToolError: it did not start.
    """
    # In a thread, because a file system that does not respond must not block the server.
    execution = await anyio.to_thread.run_sync(_resolve_execution, command, abandon_on_cancel=True)
    try:
        await process.start(execution, stdin)
    except OSError as error:
        raise start_error(command.argv, error) from error


def _resolve_execution(command: Command) -> Execution:
    if command.cwd:
        check_directory(command.cwd)
    path = SearchPath.of(command.env, (*command.projects, *filter(None, [command.cwd]), *working_directory()))
    env = path.narrow(command.env) if "PATH" in command.env else command.env
    return command.execution(find_executable(command.argv[0], env, skipped=path.skipped), env)


async def _end(process: RunningProcess, command: Command) -> None:
    has_ended_itself = process.exit_code is not None and process.exit_code >= 0
    if has_ended_itself or not command.kill_argv:
        await process.end()
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.end)
        is_killed = await _run_cleanup(command.kill_argv, command.env)
    if not is_killed:
        await _run_cleanup(command.cleanup_argv, command.env)


async def _run_cleanup(argv: tuple[str, ...], env: Environ) -> bool:
    """Run a cleanup command, and return whether it succeeded in time."""
    command = Command(argv=argv, env=env, timeout_s=_CLEANUP_TIMEOUT_S, limits=Limits(memory_mb=0))
    try:
        return await follow(Process(None), command) == 0
    except ToolError:
        return False


def _kill_remote() -> None:
    """Start `kill_argv` of every remote command, as processes that outlive this one. Any thread may call this."""
    for command in list(_remote_commands.values()):
        with suppress(OSError):
            subprocess.Popen(  # noqa: S603  argv of our own
                command.kill_argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=command.env,
                **new_session_options(),
            )


exit_hooks.append(_kill_remote)
