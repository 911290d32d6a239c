"""Shut a server down quickly, silently and with exit code 0, at the end of its input or on a signal."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from toolmason_runtime.transports.watchdog import end_in

GRACE_S = 2.0
"""Seconds that calls have to end after their cancellation."""
BUSY_GRACE_S = GRACE_S + 3
"""Seconds after a signal until the watchdog ends a process in which no Python code can run."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


exit_hooks: list[Callable[[], None]] = []
"""Functions that run before the process exits, in any thread; they must be short."""


class Shutdown:
    """Handles the signals that end a process.

    A separate thread handles them, because Python runs signal handlers in the main thread, which a tool may block. The
    first signal stops the server; a second one exits at once.

    Invariant: `stop` calls the server's stop function at most once, from any thread.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self.has_begun = False
        """Whether the shutdown has started."""

    def install(self) -> None:
        """Start to handle the signals. Until `serve` is called, they end the process at once.

        An ignored hang-up signal stays ignored, for `nohup`.
        """
        # Sockets, because Windows allows nothing else here.
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _arm_watchdog)
        threading.Thread(target=self._listen, args=(reader, writer), daemon=True).start()

    def serve(self, stop: Callable[[], None]) -> None:
        """Call `stop`, in another thread, when the shutdown starts."""
        self._stop = stop

    def stop(self) -> None:
        """Stop the server; exit after `GRACE_S` if it does not end by then."""
        with self._lock:
            if self.has_begun or self._stop is None:
                return
            self.has_begun = True
        watch = threading.Timer(GRACE_S, leave)
        watch.daemon = True
        watch.start()
        self._stop()

    def exit(self) -> NoReturn:
        """Flush the output and exit with code 0, after the server has ended.

        The interpreter is not torn down, because that takes half a second after an import of the SDK, and clients send
        SIGKILL sooner. So `atexit` hooks do not run; resources are closed by the lifespan of the server.
        """
        self.stop()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        leave()

    def _listen(self, reader: socket.socket, writer: socket.socket) -> None:
        """Handle signals. The reference to `writer` keeps open the descriptor to which Python writes."""
        with reader, writer:
            while numbers := reader.recv(16):
                for number in numbers:
                    if number in SIGNALS:
                        self._on_signal()

    def _on_signal(self) -> None:
        if self.has_begun or self._stop is None:
            leave()
        self.stop()


def _arm_watchdog(_number: int, _frame: FrameType | None) -> None:
    """Arm the watchdog, because the listening thread cannot run while another one holds the interpreter's lock."""
    end_in(BUSY_GRACE_S)


def leave() -> NoReturn:
    """Run the exit hooks and exit at once, without flushing output.

    A flush could wait forever, for a lock of the interrupted code or for a client that does not read.
    """
    try:
        for hook in exit_hooks:
            with suppress(Exception):
                hook()
    finally:
        os._exit(0)
