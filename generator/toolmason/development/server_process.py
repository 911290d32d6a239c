"""The server of `toolmason dev`: a process that serves HTTP on loopback and is replaced after each change.

Its libraries take most of the time of a start. Where processes can be forked, each server is a fork of a process that
has imported them, but no file of the project.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from threading import Thread
from typing import TYPE_CHECKING, Final

from toolmason.project import Project

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_END_S: Final = 8.0
"""Seconds until a server that does not end is killed. A server usually ends within five."""
_LIBRARIES: Final = (
    "anyio._backends._asyncio",
    "ctypes",
    "toolmason_runtime.calls.model",
    "toolmason_runtime.server.command",
    "toolmason_runtime.server.http_command",
    "toolmason_runtime.serving",
    "toolmason_runtime.transports.http_sessions",
    "uvicorn.lifespan.off",
)
"""Modules that import the libraries of a server, and libraries that a server imports at its start or first call."""
_CAN_FORK: Final = "forkserver" in multiprocessing.get_all_start_methods()
_SAFE_PATH: Final = "PYTHONSAFEPATH"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

Serve = Callable[[list[str]], object]
"""A function of a module that runs a server with the arguments of `toolmason run`."""


class ServerProcess:
    """At most one running server of a project, on one port."""

    def __init__(self, project: Project, port: int, arguments: Sequence[str], serve: Serve) -> None:
        """Args: `arguments` are further arguments of the server, such as `--classic`."""
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._serve = serve
        self._arguments = [
            *(str(project.manifest), "--http", "--port", str(port), "--log-format", "text"),
            *arguments,
        ]
        self._context = multiprocessing.get_context("forkserver") if _CAN_FORK else multiprocessing.get_context("spawn")
        self._process: BaseProcess | None = None

    def import_libraries(self) -> None:
        """Start to import the libraries of a server in another process."""
        if _CAN_FORK:
            self._context.set_forkserver_preload([self._serve.__module__, *_LIBRARIES])
            resource_tracker.ensure_running()  # Python 3.11 unblocks signals when it starts this process
            with _blocked_signals(), _safe_path():
                forkserver.ensure_running()

    def restart(self) -> None:
        """Stop the server if it runs, and start it with the files as they are now."""
        self.stop()
        process = self._context.Process(
            target=_run, args=(self._serve, self._arguments, _SAFE_PATH in os.environ), name="server"
        )
        with _blocked_signals(), _safe_path():
            process.start()
            self._process = process

    def exit_code(self) -> int | None:
        """Return the exit code of a server that has ended by itself, once; otherwise None."""
        code = self._process.exitcode if self._process else None
        if code is not None:
            self._process = None
        return code

    def stop(self) -> None:
        """Stop the server and wait for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.join(_END_S)
        if process.exitcode is None:
            process.kill()
            process.join()


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Delay an interrupt, which would leave a half-started process.

    Started processes inherit this: while they import, they would print a traceback. `_run` ends it for a server.
    """
    if not _CAN_FORK:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the working directory, often the project, off the import path of a started process."""
    if _SAFE_PATH in os.environ:
        yield
        return
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]


def _run(serve: Serve, arguments: list[str], has_safe_path: bool) -> None:
    """Serve in this process, in the same environment as under `toolmason run`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would print a traceback
    if _CAN_FORK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    if not has_safe_path:
        os.environ.pop(_SAFE_PATH, None)
    multiprocessing.set_start_method(None, force=True)
    # Python uses a compiled file if the module has the same size and second, so two quick edits could run the first.
    sys.dont_write_bytecode = True
    Thread(target=_end_with_parent, daemon=True).start()
    serve(arguments)


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        signal.raise_signal(signal.SIGTERM)
