"""The handler of interrupts while a command runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handled_interrupt(handler: Any) -> Iterator[None]:
    """Handle SIGINT with `handler`, and then as before. Without effect outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, kept)
