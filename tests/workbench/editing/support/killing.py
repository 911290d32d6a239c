"""Kill a process before a chosen line of its code, or a chosen change of the disk."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection
from types import FrameType
from typing import Any

CHANGES = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir")


def killed_at(number: int, traced: Collection[str | None]) -> Any:
    """Return a trace function that kills the process before the given line of the files `traced`.

    A line counts the first time, and again if the disk was changed since the last line that counted.
    """
    remaining, seen, is_changed = number, set[tuple[str, int]](), False

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal is_changed
        is_changed = is_changed or _changes_the_disk(event, arguments)

    def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG001  as `sys.settrace` calls it
        nonlocal remaining, is_changed
        if frame.f_code.co_filename not in traced:
            return None
        line = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and (is_changed or line not in seen):
            seen.add(line)
            is_changed = False
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.addaudithook(hook)
    return trace


def kill_before_change(number: int) -> None:
    """Kill this process before it changes the disk for the given time: between two changes, every kill is alike."""
    remaining = number

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal remaining
        if _changes_the_disk(event, arguments):
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _changes_the_disk(event: str, arguments: tuple[object, ...]) -> bool:
    writes = event == "open" and isinstance(flags := arguments[2], int) and flags & (os.O_WRONLY | os.O_RDWR)
    return bool(writes) or event in CHANGES
