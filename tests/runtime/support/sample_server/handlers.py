"""What the `text` tools do, and the state of the server."""

# ruff: noqa: ARG001, T201  a handler is given what it may not need; tests read what is printed

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from toolmason_runtime import ToolCall, ToolError

from sample_server.text.models import CountWordsParams, CountWordsResult, ShoutParams


@dataclass
class Notebook:
    """What the lifespan makes."""

    options: Mapping[str, str | tuple[str, ...]]
    is_open: bool = True


OPENED: list[Notebook] = []
"""All there ever were, for tests to look at."""


@asynccontextmanager
async def lifespan(options: Mapping[str, str | tuple[str, ...]]) -> AsyncIterator[Sequence[object]]:
    notebook = Notebook(options)
    OPENED.append(notebook)
    # A task group must be left in the task that entered it.
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        try:
            yield [notebook]
        finally:
            notebook.is_open = False
            tasks.cancel_scope.cancel()
            if options.get("farewell"):
                print(options["farewell"], file=sys.stderr, flush=True)


@asynccontextmanager
async def choosy_lifespan(options: Mapping[str, str | tuple[str, ...]]) -> AsyncIterator[Sequence[object]]:
    if not options["key"]:
        raise ToolError("set a key")
    yield [options["key"]]


async def count_words(params: CountWordsParams, call: ToolCall) -> CountWordsResult:
    words = params.text.split()
    longest = max(words, key=len, default=None)
    return CountWordsResult(words=len(words), longest=longest, shortest=min(words, key=len, default=None))


async def shout(params: ShoutParams, call: ToolCall) -> str:
    return params.text.upper()
