"""How a server ends: quickly, silently and with status 0, whether its input ends or it is told to by a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

GRACE_S = 2.0
"""Seconds after which work that does not let itself be cancelled is abandoned."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Ending:
    """Takes over the signals that end a process.

    They are handled outside of the event loop, which a handler may block. The first one asks what is served to stop,
    a second one does not wait for it.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self.has_begun = False
        """Whether the end was asked for."""

    def install(self) -> None:
        """Handle the signals from now on. Until something is served, they end the process at once.

        A hang-up that is ignored stays ignored, as `nohup` wants it.
        """
        for number in SIGNALS:
            if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def serve(self, stop: Callable[[], None]) -> None:
        """Have `stop` called when the end is asked for; a signal does so between any two instructions."""
        self._stop = stop

    def stop(self) -> None:
        """Ask what is served to stop, and allow `GRACE_S`: what hangs must not keep the process."""
        if self.has_begun or self._stop is None:
            return
        self.has_begun = True
        watch = threading.Timer(GRACE_S, leave)
        watch.daemon = True
        watch.start()
        self._stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  as signal.signal calls it
        if self.has_begun or self._stop is None:
            leave()
        self.stop()


def leave() -> NoReturn:
    """End the process now, without a word."""
    sys.stderr.flush()
    os._exit(0)
