"""Serve MCP over standard input and output with the SDK.

The SDK's own transport cannot be interrupted while it waits for input, and uses a thread pool for each line. Here one
daemon thread reads and one writes; the exit of the process does not wait for them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from queue import SimpleQueue
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from toolmason_runtime.transports.framing import encode_message, error_message, receive
from toolmason_runtime.transports.messages import MalformedError, lines
from toolmason_runtime.transports.shutdown import Shutdown
from toolmason_runtime.transports.stdio.descriptors import write_all

MAX_QUEUED_MESSAGES = 64
"""Maximum number of messages that wait for a slow client. They are sent even if the server ends."""

_log = logging.getLogger(__package__)
_Incoming = SessionMessage | Exception


def serve(make_server: Callable[[], Server[Any]], shutdown: Shutdown, source: int, sink: int) -> None:
    """Serve until the input ends, the client closes the output, or a signal arrives; then cancel the running calls."""
    asyncio.run(_serve(make_server(), source, sink, shutdown))


async def _serve(server: Server[Any], source: int, sink: int, shutdown: Shutdown) -> None:
    try:
        async with _streams(source, sink, shutdown) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except Exception:
        if not shutdown.has_begun:
            raise
        _log.debug("error during shutdown", exc_info=True)


@asynccontextmanager
async def _streams(
    source: int, sink: int, shutdown: Shutdown
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]]:
    loop = asyncio.get_running_loop()
    received, incoming = anyio.create_memory_object_stream[_Incoming](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](MAX_QUEUED_MESSAGES)

    def stop() -> None:
        # A signal is treated like the end of input, because a cancellation in the middle of a message breaks the SDK.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(received.close)

    shutdown.serve(stop)
    writer = _Writer(sink, loop)
    reader = threading.Thread(target=_read, args=(source, received, writer, loop, shutdown), daemon=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, to_send, writer, received)
        reader.start()
        yield incoming, outgoing


def _read(
    source: int,
    received: MemoryObjectSendStream[_Incoming],
    writer: _Writer,
    loop: asyncio.AbstractEventLoop,
    shutdown: Shutdown,
) -> None:
    """Send the messages of `source` to the event loop one by one, then stop the server.

    A malformed line is logged without its content, and gets an error response; a server call that waits for it fails.
    """

    def wait_for(done: Coroutine[Any, Any, Any]) -> None:
        if asyncio.run_coroutine_threadsafe(done, loop).result() is False:
            raise BrokenPipeError

    def forward(line: bytes) -> None:
        try:
            wait_for(received.send(SessionMessage(receive(line).message)))
        except MalformedError as malformed:
            _log.warning("ignored invalid input line: %s", malformed)
            if malformed.answer is not None:
                wait_for(writer.write(json.dumps(malformed.answer).encode() + b"\n"))
            if malformed.response_error is not None:
                wait_for(received.send(SessionMessage(error_message(malformed.response_error))))

    # The server may end first, because of a signal or a closed output.
    with suppress(RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        for line in lines(source):
            forward(line)
    shutdown.stop()


async def _write(
    to_send: MemoryObjectReceiveStream[SessionMessage], writer: _Writer, received: MemoryObjectSendStream[_Incoming]
) -> None:
    async with to_send:
        async for item in to_send:
            if not await writer.write(encode_message(item.message) + b"\n"):
                received.close()
                return


class _Writer:
    """Writes in a separate thread, so that a slow client does not block the event loop.

    Invariant: the thread writes the data of the queue in order and completes each future in the event loop.
    """

    def __init__(self, sink: int, loop: asyncio.AbstractEventLoop) -> None:
        self._sink = sink
        self._loop = loop
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[bool]]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    async def write(self, data: bytes) -> bool:
        """Write all of `data`; return False if the client has closed the stream."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._queue.put((data, done))
        return await done

    def _work(self) -> None:
        while True:
            data, done = self._queue.get()
            is_success = write_all(self._sink, data)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, done, is_success)


def _settle(done: asyncio.Future[bool], is_success: bool) -> None:
    if not done.done():
        done.set_result(is_success)
