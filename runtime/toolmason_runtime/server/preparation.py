"""Prepare the tool that a search found first, while the model still reads the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

from toolmason_runtime.protocol.binding import IMPORTS
from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.protocol.selection import is_enabled

DELAY_S: Final = 0.05
"""Default seconds until the preparation begins; the answer has been sent by then."""
Step = Callable[[str, ToolEntry], object]
"""A part of the preparation; gets the name and the entry of the tool."""


class Preparation:
    """Prepares tools in a daemon thread, one of each category.

    Steps run one after the other, each with the lock `IMPORTS`, so that a call waits for one step at most. After a step
    that fails the others are left out: the call of the tool will report the error.

    Args:
        steps: import what a call needs.
        delay_s: seconds until the first of them; None for never.
    """

    def __init__(self, steps: Sequence[Step], delay_s: float | None) -> None:
        self._steps = steps
        self._delay_s = delay_s
        self._categories: set[str] = set()

    def expect(self, entry: ToolEntry) -> None:
        """Prepare a tool soon, unless it is disabled or one of its category was expected before."""
        if self._delay_s is None or entry["category"] in self._categories or not is_enabled(entry):
            return
        self._categories.add(entry["category"])
        from threading import Timer

        timer = Timer(self._delay_s, self._prepare, (entry,))
        timer.daemon = True  # the exit of the process does not wait for it
        timer.start()

    def _prepare(self, entry: ToolEntry) -> None:
        with suppress(Exception):
            for step in self._steps:
                with IMPORTS:
                    step(entry["tool"]["name"], entry)


def import_step(module: str) -> Step:
    """Return a step that imports `module`."""

    def step(_name: str, _entry: ToolEntry) -> None:
        import_module(module)

    return step


def warm_up_event_loop(_name: str, _entry: ToolEntry) -> None:
    """Run an event loop of this thread for a moment: that imports everything that the first one of a process does."""
    import anyio

    anyio.run(anyio.sleep, 0)
