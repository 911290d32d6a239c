"""Work on large answers in a child process with limits of memory and processor time, so that the event loop is free.

Parsing holds the interpreter's lock, so a thread would stop all other clients. The child ends with the call: at its
time limit, its cancellation, and the end of the server.

Invariants of the concurrent code: a slot is held from before the start of a child until its end, so at most
`MAX_WORKERS` run in one event loop; `run_to_cleanup` ends a child before it passes a cancellation on.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from toolmason_runtime.apis.document import MAX_RESULT_VALUES, Document, Work, perform, shown_text
from toolmason_runtime.programs.execute import Command, base_environment, follow, run_to_cleanup
from toolmason_runtime.programs.launcher_client import Limits
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.programs.process_group import Process
from toolmason_runtime.remote.parse import RemoteDataError
from toolmason_runtime.shared.budget import ANSWER, LARGE_BYTES, Budget

MAX_WORKERS: Final = 2
"""Children at the same time. Each may use ten times the bytes of its answer."""
REFUSED: Final = 3
"""Exit code of a child that refuses its document; the reason is on stderr."""
_TIMEOUT_S: Final = 120.0
"""Seconds of a child that nobody cancels; its processor time is limited as well."""
_MAX_REASON: Final = 300
_SCRIPT: Final = Path(__file__).with_name("worker_main.py")
_PACKAGES: Final = Path(__file__).parents[2]

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
"""The slots of each event loop: a semaphore is bound to one loop."""


async def work_on(body: bytes, work: Work, budget: Budget = ANSWER) -> Document:
    """Return the result of some work on a body.

    Raises:
        RemoteDataError: the body is not JSON, or exceeds the budget.
    """
    if not _is_large(body, work):
        return perform(work, body, budget)
    first, *rest = await _in_child(body, work, budget)
    line, _, text = first.partition("\n")
    page, note = json.loads(line)
    return Document(pieces=(text, *rest), page=page, note=note)


async def text_for_model(body: bytes, work: Work, budget: Budget = ANSWER) -> Sequence[str]:
    """Return the pieces of a body that is text, without secrets and with what it hides made visible.

    Raises:
        RemoteDataError: it exceeds the budget.
    """
    return await _in_child(body, work, budget) if len(body) > LARGE_BYTES else [*shown_text(work, body)]


def _is_large(body: bytes, work: Work) -> bool:
    if len(body) > LARGE_BYTES:
        return True
    # A model is validated value by value, which takes longer than parsing.
    return work.is_structured and sum(body.count(separator) for separator in (b",", b"[", b"{")) > MAX_RESULT_VALUES


async def _in_child(body: bytes, work: Work, budget: Budget) -> list[str]:
    """Return the output of a child, in pieces of at most 256 kB."""
    stdout, stderr = Capture(), Capture()
    command = Command(
        argv=(sys.executable, "-I", "-S", "-X", "utf8", str(_SCRIPT), str(_PACKAGES)),
        env=base_environment(os.environ),
        # Not as an argument, which every user of the machine can read.
        stdin=json.dumps([work.to_json(), budget.bytes, budget.values, budget.depth]).encode() + b"\n" + body,
        timeout_s=_TIMEOUT_S,
        limits=Limits(memory_mb=budget.memory_mb, cpu_s=budget.cpu_s, file_bytes=1),
    )
    process = Process(stdout.write, stderr.write)

    async def run(scope: anyio.CancelScope) -> int | None:
        with scope:
            async with _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_WORKERS)):
                return await follow(process, command)
        return None

    try:
        code = await run_to_cleanup(run)
        if code == 0 and not stdout.dropped_bytes:
            return await anyio.to_thread.run_sync(lambda: list(stdout.texts()))
        if code == REFUSED:
            raise RemoteDataError("".join(stderr.texts()).strip()[:_MAX_REASON])
        limits = f"{budget.memory_mb} MB of memory or {budget.cpu_s:g} s of processor time"
        raise RemoteDataError(f"it needs more than {limits}")
    finally:
        stdout.close()
        stderr.close()
