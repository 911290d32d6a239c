"""Regular expressions written by a caller, run where they can do no harm.

Python's expressions can take longer than the universe on forty characters and cannot be interrupted, so they run in a
child process that can.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from workbench_handlers.workspace.worker import worker

MATCH_SECONDS: Final = 20.0
"""How long the expressions of one call may run."""


class Place(NamedTuple):
    """Where a match begins: a line and a character in it, both 0-based."""

    line: int
    column: int


Match = Callable[[Sequence[str]], Awaitable[list[list[Place]]]]
"""For each text, the first match in each of its matching lines."""


@asynccontextmanager
async def matcher(
    patterns: Sequence[str], *, ignore_case: bool = False, most: int = 100_000, seconds: float = MATCH_SECONDS
) -> AsyncIterator[Match]:
    """Give a function that finds the lines in which one of `patterns` (Python syntax) is found, `most` a text.

    Raises:
        WorkerError: from that function: no regular expression, or it takes too long.
    """
    request = {"work": "match", "patterns": list(patterns), "ignore_case": ignore_case, "most": most}
    async with worker({"work": "match"}, seconds=seconds) as ask:

        async def match(texts: Sequence[str]) -> list[list[Place]]:
            reply = await ask({**request, "texts": list(texts)})
            return [[Place(*place) for place in places] for places in reply["places"]]

        yield match
