"""The descriptors of the standard streams."""

from __future__ import annotations

import os


def open_standard_streams() -> None:
    """Open the null device for closed standard streams; otherwise files and sockets would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def write_all(sink: int, data: bytes) -> bool:
    """Write all of `data`, which may block; return False if the client has closed the stream."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(sink, rest) :]
    except OSError:
        return False
    return True
