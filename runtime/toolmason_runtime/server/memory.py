"""Protect the memory and environment of this process from other processes of the same user, and limit its growth."""

from __future__ import annotations

import os
import sys

_PR_SET_DUMPABLE = 4
_M_ARENA_MAX = -8
_MAX_ARENAS = 2
"""Maximum arenas of glibc, which has eight for each processor. Python's lock lets few threads allocate at once."""
_SETTINGS = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Variables with which the operator sets the arenas."""


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


def limit_arenas() -> None:
    """Let all threads of this process share two arenas of glibc. To be called before the first thread starts.

    Memory that is freed in one arena cannot be used in another, so a server with many calls in threads would grow.
    """
    if sys.platform != "linux" or any(name in os.environ for name in _SETTINGS):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # musl has no arenas
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def _prctl(option: int, value: int) -> int:
    import ctypes

    result: int = ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
