"""Reserve the standard streams for the protocol, so that the output of handlers and programs cannot damage it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def reserved_streams() -> Iterator[tuple[int, int]]:
    """Reserve standard input and output for the protocol; yield their descriptors.

    Handlers and the programs that they start get an empty standard input, and their output goes to standard error.
    """
    source, sink = os.dup(0), os.dup(1)
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.dup2(2, 1)
    os.close(null_device)
    try:
        yield source, sink
    finally:
        # Buffered output of handlers must not go to the restored stream. `sys.stdout` is None without a stream.
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os.dup2(sink, 1)
