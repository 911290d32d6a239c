"""Several processes that serve one address over HTTP: a supervisor starts them and replaces those that end.

The workers accept connections from one socket, so connections that wait when a worker is killed go to the others. Each
worker runs the command line of the supervisor, in an interpreter of its own.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.transports.shutdown import Shutdown

WORKER: Final = "TOOLMASON_WORKER"
"""Environment variable of a worker: its number, and the descriptors of the socket and of the supervisor's pipe."""
_USAGE_ERROR: Final = 2
"""Exit code of a worker whose settings are invalid: it is not started again."""
_SHORT_S: Final = 2.0
"""A worker that ends earlier has ended while it started."""
_MAX_SHORT_LIVES: Final = 5
"""Workers in a row that may end while they start; then the supervisor gives up."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """This process, started by a supervisor."""

    number: int
    listener: socket.socket
    life: int
    """End of a pipe whose other end closes with the supervisor, however that ends."""

    def end_with_supervisor(self) -> None:
        """Shut down as by a signal when the supervisor has ended."""

        def wait() -> None:
            os.read(self.life, 1)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=wait, daemon=True).start()


def is_worker() -> bool:
    """Return whether a supervisor started this process, which runs the startup check itself."""
    return WORKER in os.environ


def this_worker() -> Worker | None:
    """Return this process as a worker; None if no supervisor started it."""
    setting = os.environ.pop(WORKER, "")
    if not setting:
        return None
    number, listener, life = map(int, setting.split(","))
    # As in `listen`: asyncio sets TCP_NODELAY only for an explicit protocol.
    with socket.socket(fileno=listener) as inherited:
        family = inherited.family
        inherited.detach()
    os.set_inheritable(listener, False)
    os.set_inheritable(life, False)
    return Worker(number, socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener), life)


def run_workers(count: int, listener: socket.socket, shutdown: Shutdown, *, state_key_variable: str) -> int:
    """Run workers until a signal arrives; return the exit code, 0 after a signal.

    Workers without a state key in `state_key_variable` share one that is created here.
    """
    key = os.environ.get(state_key_variable) or secrets.token_hex(32)
    supervisor = _Supervisor(count, listener, {**os.environ, state_key_variable: key})
    shutdown.serve(supervisor.stop)
    return supervisor.run()


class _Supervisor:
    def __init__(self, count: int, listener: socket.socket, environment: Mapping[str, str]) -> None:
        self._count = count
        self._listener = listener
        self._environment = environment
        self._life, self._own_end = os.pipe()
        self._lock = threading.Lock()
        self._workers: dict[int, tuple[int, float]] = {}
        """By process id: the number of the worker, and when it was started."""
        self._is_stopping = threading.Event()
        self._short_lives = 0

    def run(self) -> int:
        for number in range(self._count):
            self._start(number)
        code = 0
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return code
            with self._lock:
                number, started_at = self._workers.pop(pid, (-1, 0.0))
            if number < 0 or self._is_stopping.is_set():
                continue
            code = self._replace(number, os.waitstatus_to_exitcode(status), time.monotonic() - started_at)

    def stop(self) -> None:
        """End all workers, from any thread."""
        self._is_stopping.set()
        with self._lock:
            for pid in self._workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def _replace(self, number: int, code: int, lived_s: float) -> int:
        """Start another worker; stop all, and return the exit code, if that is useless."""
        self._short_lives = self._short_lives + 1 if lived_s < _SHORT_S else 0
        if code == _USAGE_ERROR or self._short_lives >= _MAX_SHORT_LIVES:
            _log.error("workers end during their start, with exit code %d", code)
            self.stop()
            return code if code > 0 else 1
        _log.warning("worker %d ended with exit code %d after %.0f s and is started again", number, code, lived_s)
        self._start(number)
        return 0

    def _start(self, number: int) -> None:
        descriptors = (self._listener.fileno(), self._life)
        setting = f"{number},{descriptors[0]},{descriptors[1]}"
        with self._lock:
            if self._is_stopping.is_set():
                return
            process = subprocess.Popen(  # noqa: S603  the command line of this process
                [sys.executable, *sys.orig_argv[1:]],
                pass_fds=descriptors,
                env={**self._environment, WORKER: setting},
            )
            process.returncode = 0  # it is awaited in `run`
            self._workers[process.pid] = (number, time.monotonic())
