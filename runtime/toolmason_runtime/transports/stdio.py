"""Serves over standard input and output, where nothing but protocol may appear.

The SDK's own transport cannot be interrupted while it waits for input, and goes through a pool of threads for each
line. Here one daemon thread reads and one writes, which the end of the process need not wait for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress
from queue import SimpleQueue
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from toolmason_runtime.transports.framing import MalformedError, encoded, lines, receive
from toolmason_runtime.transports.shutdown import Ending

MAX_WAITING = 64
"""Answers that wait for a client that reads slowly. What waits here is sent although the server ends."""

_log = logging.getLogger(__name__)
_Incoming = SessionMessage | Exception


def serve(make_server: Callable[[], Server[Any]], ending: Ending) -> None:
    """Serve what `make_server` makes until input ends, the reader of the output is gone, or a signal comes.

    Calls that are in flight then are cancelled.
    """
    with _own_streams() as (source, sink):
        asyncio.run(_serve(make_server(), source, sink, ending))


async def _serve(server: Server[Any], source: int, sink: int, ending: Ending) -> None:
    try:
        async with _streams(source, sink, ending) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except Exception:
        if not ending.has_begun:
            raise
        _log.debug("the end was not orderly", exc_info=True)


@asynccontextmanager
async def _streams(
    source: int, sink: int, ending: Ending
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]]:
    loop = asyncio.get_running_loop()
    received, incoming = anyio.create_memory_object_stream[_Incoming](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](MAX_WAITING)

    def stop() -> None:
        # A signal is taken for the end of input: cancelling the SDK in the middle of a message makes it fail.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(received.close)

    ending.serve(stop)
    writer = _Writer(sink, loop)
    reader = threading.Thread(target=_read, args=(source, received, writer, loop, ending), daemon=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, to_send, writer, received)
        reader.start()
        yield incoming, outgoing


def _read(
    source: int,
    received: MemoryObjectSendStream[_Incoming],
    writer: _Writer,
    loop: asyncio.AbstractEventLoop,
    ending: Ending,
) -> None:
    """Hand over message after message, each when the last was taken, then close the stream.

    What is no message is logged, though not what it says, and answered here. Who waits for it is told as well.
    """

    def wait_for(done: Coroutine[Any, Any, Any]) -> None:
        if asyncio.run_coroutine_threadsafe(done, loop).result() is False:
            raise BrokenPipeError

    def hand_over(line: bytes) -> None:
        try:
            wait_for(received.send(SessionMessage(receive(line).message)))
        except MalformedError as malformed:
            _log.warning("passed over a line of input: %s", malformed)
            if malformed.answer is not None:
                wait_for(writer.write(encoded(malformed.answer) + b"\n"))
            if malformed.outcome is not None:
                wait_for(received.send(SessionMessage(malformed.outcome)))

    # The server may end first, by a signal or because nobody reads what it writes.
    with suppress(RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        for line in lines(source):
            hand_over(line)
    ending.stop()


async def _write(
    to_send: MemoryObjectReceiveStream[SessionMessage], writer: _Writer, received: MemoryObjectSendStream[_Incoming]
) -> None:
    async with to_send:
        async for item in to_send:
            if not await writer.write(encoded(item.message) + b"\n"):
                received.close()
                return


class _Writer:
    """Writes in a thread of its own: who reads may be slow, and the event loop must not wait for that."""

    def __init__(self, sink: int, loop: asyncio.AbstractEventLoop) -> None:
        self._sink = sink
        self._loop = loop
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[bool]]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    async def write(self, data: bytes) -> bool:
        """Write all of `data`; give False if nobody reads any more."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._queue.put((data, done))
        return await done

    def _work(self) -> None:
        while True:
            data, done = self._queue.get()
            is_written = self._written(data)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, done, is_written)

    def _written(self, data: bytes) -> bool:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._sink, rest) :]
        except OSError:
            return False
        return True


def _settle(done: asyncio.Future[bool], is_written: bool) -> None:
    if not done.done():
        done.set_result(is_written)


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Keep standard input and output for the protocol.

    What handlers or the programs they start print goes to standard error, and what they read is empty.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        # What was printed and not yet written out must not follow the protocol into the restored stream. Python has
        # none, but None, where the process was started without one.
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os.dup2(sink, 1)
