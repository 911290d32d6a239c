"""Parent of `worker_main`: starts the child process, sends requests, and ends it at the deadline.

Invariants: one request at a time, each answered before the next is sent, so a reply belongs to the last request. After
a timeout a reply may be half-read, but the deadline has passed and every further request fails too. The `finally` is
shielded, so the child is ended after success, error and cancellation alike.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import anyio
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Execution, Limits, Process

from workbench_handlers.workspace.packages import require


class SendRequest(Protocol):
    """Sends a request, and the rest of `stream` after it; returns the reply."""

    def __call__(  # noqa: D102  see above
        self, request: Mapping[str, Any], stream: BinaryIO | None = None
    ) -> Awaitable[dict[str, Any]]: ...


BLOCK_BYTES: Final = 1 << 18
"""Bytes of a stream in one frame."""

_DIRECTORY: Final = str(Path(__file__).parent)
_CODE: Final = "import sys; sys.path.append(sys.argv.pop(1)); import worker_main; worker_main.main()"
"""Runs `worker_main` from its directory. Python caches the byte code of imported modules, not of scripts."""


class WorkerError(ToolError):
    """The child refused the request, exceeded its time, or died."""


@asynccontextmanager
async def start_child(
    setup: Mapping[str, Any], *, seconds: float, modules: Sequence[str] = ()
) -> AsyncIterator[SendRequest]:
    """Start a child for one call and yield a function that sends it requests. All requests together have `seconds`.

    `modules` are the packages that it imports besides the standard library.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    directories = list(dict.fromkeys(_package_directory(module) for module in modules))
    arguments = ["-I", "-S", *_byte_code_options(), "-c", _CODE, _DIRECTORY, str(math.ceil(seconds) + 1), *directories]
    execution = Execution(
        argv=(sys.executable, *arguments),
        executable=sys.executable,
        env=bare_environment(),
        limits=Limits.above(seconds),
    )
    reader = asyncio.StreamReader()
    process = Process(reader)

    async def ask(request: Mapping[str, Any], stream: BinaryIO | None = None) -> dict[str, Any]:
        try:
            async with asyncio.timeout_at(deadline):
                reply = await _exchange(process.stdin, reader, request, stream)
        except TimeoutError:
            raise WorkerError(f"stopped after {seconds:g} seconds", code="TIMEOUT") from None
        except (asyncio.IncompleteReadError, OSError, ValueError):
            raise WorkerError("it exceeded its memory or time limit", code="LIMIT_EXCEEDED") from None
        if "error" in reply:
            raise WorkerError(reply["error"], code="INVALID_ARGUMENT")
        return reply

    try:
        await process.start(execution, stdin=None)
        anyio.CancelScope()  # the first scope imports the back end of anyio; the child starts meanwhile
        await ask(setup)
        yield ask
    finally:
        with anyio.CancelScope(shield=True):
            await process.end(at_once=True)


def _byte_code_options() -> list[str]:
    """Return options for the same byte code as in this process: with `-I`, a child ignores environment variables."""
    prefix = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    return [*(["-B"] if sys.dont_write_bytecode else []), *prefix]


def bare_environment() -> dict[str, str]:
    """Return the minimal environment of a child: one variable on Windows, elsewhere none."""
    return {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if os.name == "nt" else {}


async def _exchange(
    writer: asyncio.StreamWriter | None,
    reader: asyncio.StreamReader,
    request: Mapping[str, Any],
    stream: BinaryIO | None,
) -> dict[str, Any]:
    if writer is None:
        raise ValueError("the child was not started")
    await _send(writer, json.dumps(request).encode("ascii"))
    if stream is not None:
        while block := await asyncio.to_thread(stream.read, BLOCK_BYTES):
            await _send(writer, block)
        await _send(writer, b"")
    length = int(await reader.readline())
    reply: dict[str, Any] = json.loads(await reader.readexactly(length))
    return reply


async def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(b"%d\n" % len(body))
    writer.write(body)
    await writer.drain()


def _package_directory(module: str) -> str:
    spec = require(module)
    origin = Path(spec.origin or "")
    return str(origin.parent.parent if spec.submodule_search_locations else origin.parent)
