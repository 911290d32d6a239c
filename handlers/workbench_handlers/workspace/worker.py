"""The parent's side of `worker_main`: starts the child, asks it, and ends it when its time is up."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Execution, Limits, Process

from workbench_handlers.workspace.packages import require

Ask = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]

_SCRIPT: Final = Path(__file__).with_name("worker_main.py")


class WorkerError(ToolError):
    """The child refused the work, took too long, or died of it."""


@asynccontextmanager
async def worker(setup: Mapping[str, Any], *, seconds: float, modules: Sequence[str] = ()) -> AsyncIterator[Ask]:
    """Start a child for one call and give the function that asks it. All its answers together take `seconds` at most.

    `modules` are the packages it imports beside the standard library.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    folders = list(dict.fromkeys(_folder_of(each) for each in modules))
    arguments = ["-I", "-S", str(_SCRIPT), str(math.ceil(seconds) + 1), *folders]
    execution = Execution(
        argv=(sys.executable, *arguments),
        executable=sys.executable,
        env=bare_environment(),
        limits=Limits.above(seconds),
    )
    reader = asyncio.StreamReader()
    process = Process(reader)

    async def ask(request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            async with asyncio.timeout_at(deadline):
                reply = await _exchange(process.stdin, reader, request)
        except TimeoutError:
            raise WorkerError(f"stopped after {seconds:g} seconds", code="TIMEOUT") from None
        except (asyncio.IncompleteReadError, OSError, ValueError):
            raise WorkerError("it needed more memory or time than allowed", code="LIMIT_EXCEEDED") from None
        if "error" in reply:
            raise WorkerError(reply["error"], code="INVALID_ARGUMENT")
        return reply

    try:
        await process.start(execution, stdin=None)
        await ask(setup)
        yield ask
    finally:
        with anyio.CancelScope(shield=True):
            await process.end(at_once=True)


def bare_environment() -> dict[str, str]:
    """Give the least environment a child starts with: on Windows it needs one variable, elsewhere none."""
    return {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if os.name == "nt" else {}


async def _exchange(
    writer: asyncio.StreamWriter | None, reader: asyncio.StreamReader, request: Mapping[str, Any]
) -> dict[str, Any]:
    if writer is None:
        raise ValueError("the child was not started")
    body = json.dumps(request).encode("ascii")
    writer.write(b"%d\n" % len(body))
    writer.write(body)
    await writer.drain()
    length = int(await reader.readline())
    reply: dict[str, Any] = json.loads(await reader.readexactly(length))
    return reply


def _folder_of(module: str) -> str:
    spec = require(module)
    origin = Path(spec.origin or "")
    return str(origin.parent.parent if spec.submodule_search_locations else origin.parent)
