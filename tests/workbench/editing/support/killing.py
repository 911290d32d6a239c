"""Kill a process before a chosen line of its code, or a chosen change of the disk."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection
from types import FrameType
from typing import Any


def killed_at(number: int, traced: Collection[str | None]) -> Any:
    """Return a trace function that kills the process before the given line of the files `traced`."""
    remaining = number

    def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG001  as `sys.settrace` calls it
        nonlocal remaining
        if frame.f_code.co_filename not in traced:
            return None
        if event == "line":
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


CHANGES = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir")


def kill_before_change(number: int) -> None:
    """Kill this process before it changes the disk for the given time: between two changes, every kill is alike."""
    remaining = number

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal remaining
        writes = event == "open" and isinstance(flags := arguments[2], int) and flags & (os.O_WRONLY | os.O_RDWR)
        if writes or event in CHANGES:
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
