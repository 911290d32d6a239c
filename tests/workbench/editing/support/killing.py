"""Kill a process before a chosen line of its code."""

from __future__ import annotations

import os
import signal
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
