"""The launcher process of this server, started at the first request or before it. Linux only.

This module does not import asyncio: a call starts the launcher before it imports its other modules.
"""

from __future__ import annotations

import atexit
import errno
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Final

_SCRIPT: Final = os.path.join(os.path.dirname(__file__), "launcher.py")  # noqa: PTH118, PTH120  pathlib is large
_SOCKET: Final = 3
"""Number of the socket's descriptor in the launcher."""


class _Launcher:
    """Starts the launcher at most once, and again after it was killed.

    Any thread may call `start`; only the thread of the event loop may call `send`.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._pid = 0
        self._starting = Lock()

    def start(self) -> socket.socket:
        """Start the launcher unless it runs, and return its socket.

        Raises:
            OSError: it cannot be started.
        """
        with self._starting:
            if self._socket is None:
                self._socket = self._start()
            return self._socket

    def send(self, descriptors: Sequence[int]) -> None:
        """Send the descriptors of a request; start the launcher first if none runs.

        Raises:
            OSError: it cannot be started.
        """
        for _ in range(2):
            with suppress(BrokenPipeError, ConnectionResetError):  # the launcher was killed: start a new one
                socket.send_fds(self.start(), [b"r"], list(descriptors))
                return
            self._forget()
        raise OSError(errno.EPIPE, "the launcher process ended")

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _SCRIPT, str(_SOCKET)],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), _SOCKET),
                    *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)),
                ],
                setsigmask=[],
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def _forget(self) -> None:
        with self._starting, suppress(ChildProcessError):  # else another thread could start the one that is waited for
            self.close()
            os.waitpid(self._pid, 0)

    def close(self) -> None:
        """Close the socket: the launcher ends when no program is left."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_launcher: Final = _Launcher()
atexit.register(_launcher.close)
send: Final = _launcher.send


def start_ahead() -> None:
    """Start the launcher before the call that needs it sends its request. Elsewhere than on Linux there is none."""
    if sys.platform == "linux":
        with suppress(OSError):  # the call will report it
            _launcher.start()
