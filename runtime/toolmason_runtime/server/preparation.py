"""Import the tool that a search found first, while the model still reads the answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.protocol.selection import is_enabled

DELAY_S: Final = 0.05
"""Default seconds until the import begins; the answer has been sent by then."""


class Preparation:
    """Imports tools in a daemon thread, one of each category.

    Args:
        load: imports a tool, from its name and entry. It runs in the thread.
        delay_s: seconds until it is called; None for never.
    """

    def __init__(self, load: Callable[[str, ToolEntry], object], delay_s: float | None) -> None:
        self._load = load
        self._delay_s = delay_s
        self._categories: set[str] = set()

    def expect(self, entry: ToolEntry) -> None:
        """Import a tool soon, unless it is disabled or one of its category was expected before."""
        if self._delay_s is None or entry["category"] in self._categories or not is_enabled(entry):
            return
        self._categories.add(entry["category"])
        from threading import Timer

        timer = Timer(self._delay_s, self._prepare, (entry,))
        timer.daemon = True  # the exit of the process does not wait for it
        timer.start()

    def _prepare(self, entry: ToolEntry) -> None:
        with suppress(Exception):  # the call of the tool will report it
            self._load(entry["tool"]["name"], entry)
