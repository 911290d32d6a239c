"""The descriptors of the standard streams."""

from __future__ import annotations

import os
import sys


def open_standard_streams() -> None:
    """Open the null device for closed standard streams; otherwise files and sockets would get their numbers.

    Make input and output blocking: a stream that has nothing to read at the moment would look as if it had ended.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.platform != "win32":
        os.set_blocking(0, True)
        os.set_blocking(1, True)


def write_all(sink: int, data: bytes) -> bool:
    """Write all of `data`, which may block; return False if the client has closed the stream."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(sink, rest) :]
    except OSError:
        return False
    return True
