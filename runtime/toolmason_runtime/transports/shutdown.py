"""How a server ends: quickly, silently and with status 0, whether its input ends or it is told to by a signal."""

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
"""Seconds after which work that does not let itself be cancelled is abandoned."""
BUSY_GRACE_S = GRACE_S + 3
"""Seconds after a signal in which some Python code must have run."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


before_leaving: list[Callable[[], None]] = []
"""What is done before the process ends itself, in whichever thread that happens: no more than must be."""


class Ending:
    """Takes over the signals that end a process.

    A thread of its own answers them: Python runs handlers in the main thread, which a tool may block, and a signal that
    comes just before it blocks would wait as long as it does. The first one asks what is served to stop, a second one
    does not wait for it.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self.has_begun = False
        """Whether the end was asked for."""

    def install(self) -> None:
        """Answer the signals from now on. Until something is served, they end the process at once.

        A hang-up that is ignored stays ignored, as `nohup` wants it.
        """
        # Sockets, since Windows takes nothing else here.
        heard, told = socket.socketpair()
        told.setblocking(False)
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _arm_watchdog)
        threading.Thread(target=self._listen, args=(heard, told), daemon=True).start()

    def serve(self, stop: Callable[[], None]) -> None:
        """Have `stop` called, in another thread, when the end is asked for."""
        self._stop = stop

    def stop(self) -> None:
        """Ask what is served to stop, and allow `GRACE_S`: what hangs must not keep the process."""
        with self._lock:
            if self.has_begun or self._stop is None:
                return
            self.has_begun = True
        watch = threading.Timer(GRACE_S, leave)
        watch.daemon = True
        watch.start()
        self._stop()

    def leave(self) -> NoReturn:
        """End the process once what was served has ended, with status 0 and within the time that `stop` allows.

        The rest of the interpreter is not torn down, which takes half a second after an import of the SDK: clients
        send SIGKILL sooner. So `atexit` hooks do not run; the lifespan of a server is the place to close things.
        """
        self.stop()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        leave()

    def _listen(self, heard: socket.socket, told: socket.socket) -> None:
        """Answer signals. `told` is held here, lest the descriptor that Python writes to be closed."""
        with heard, told:
            while numbers := heard.recv(16):
                for number in numbers:
                    if number in SIGNALS:
                        self._on_signal()

    def _on_signal(self) -> None:
        if self.has_begun or self._stop is None:
            leave()
        self.stop()


def _arm_watchdog(_number: int, _frame: FrameType | None) -> None:
    """Arm the watchdog; the listening thread handles the signal itself.

    That thread cannot run while another thread holds the interpreter's lock.
    """
    end_in(BUSY_GRACE_S)


def leave() -> NoReturn:
    """End the process now, without a word, and what it would leave behind.

    Nothing is flushed: whatever the signal interrupted may hold the stream, or wait for a client that does not read.
    """
    try:
        for each in before_leaving:
            with suppress(Exception):
                each()
    finally:
        os._exit(0)
