"""Return unused memory to the system: glibc keeps the freed memory of a thread for its next allocations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def release_unused() -> None:
    """Return the unused memory of this process; without glibc, do nothing."""
    if (trim := _malloc_trim()) is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    import ctypes

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return None
    trim.argtypes = [ctypes.c_size_t]
    return trim  # type: ignore[no-any-return,unused-ignore]
