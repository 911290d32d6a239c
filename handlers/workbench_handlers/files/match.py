"""Match untrusted regular expressions in a child process.

Python's `re` can take exponential time and cannot be interrupted; the child process can be killed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

MAX_SEARCHED_BYTES: Final = 10_000_000
"""Maximum bytes of a file that is searched."""
MATCH_SECONDS: Final = 20.0
"""Time limit of the expressions of one call, in seconds."""


class Position(NamedTuple):
    """The start of a match: line and character, both 0-based."""

    line: int
    column: int


Match = Callable[[Sequence[str]], Awaitable[list[list[Position]]]]
"""Returns, for each text, the first match in each matching line."""


@asynccontextmanager
async def matcher(
    patterns: Sequence[str], *, ignore_case: bool = False, most: int = 100_000, seconds: float = MATCH_SECONDS
) -> AsyncIterator[Match]:
    """Yield a function that finds the lines matching one of `patterns` (Python syntax), at most `most` per text.

    Raises:
        WorkerError: from that function: an invalid expression, or a timeout.
    """
    from workbench_handlers.workspace.worker import start_child

    request = {"work": "match", "patterns": list(patterns), "ignore_case": ignore_case, "most": most}
    async with start_child({"work": "match"}, seconds=seconds) as ask:

        async def match(texts: Sequence[str]) -> list[list[Position]]:
            reply = await ask({**request, "texts": list(texts)})
            return [[Position(*position) for position in positions] for positions in reply["places"]]

        yield match
