"""Protect the memory and environment of this process from other processes of the same user."""

from __future__ import annotations

import os
import sys

_PR_SET_DUMPABLE = 4


def protect_memory() -> None:
    """Disable `/proc/PID/environ`, `/proc/PID/mem`, debuggers and core dumps for this process. Linux only.

    The programs that a server runs could read its secrets there.

    Raises:
        OSError: the kernel does not allow it.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def try_to_protect_memory() -> None:
    """Protect this process if the kernel allows it."""
    try:
        protect_memory()
    except OSError:
        return


def _prctl(option: int, value: int) -> int:
    import ctypes

    result: int = ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
