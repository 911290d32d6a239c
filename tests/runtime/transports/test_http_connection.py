"""Parts of a response that are written in one iteration of the event loop are sent together."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from toolmason_runtime.transports.http_connection import JOIN_BYTES, JoinedWrites

pytestmark = pytest.mark.anyio


class _Ending(asyncio.Protocol):
    """Knows when its connection has ended."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio gives it
        self.ended.set()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[JoinedWrites, socket.socket]]:
    """Return the writes to one end of a connection, and the other end, which never waits."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with theirs:
        transport, protocol = await loop.connect_accepted_socket(_Ending, ours)
        yield JoinedWrites(transport, loop), theirs
        transport.abort()
        await protocol.ended.wait()


async def test_parts_of_one_iteration_are_sent_together() -> None:
    async with connected() as (writes, theirs):
        writes.write(b"head ")
        writes.write(b"body")
        with pytest.raises(BlockingIOError):
            theirs.recv(100)
        await asyncio.sleep(0)

        assert theirs.recv(100) == b"head body"


async def test_large_part_is_sent_at_once_after_the_smaller_ones_before_it() -> None:
    async with connected() as (writes, theirs):
        writes.write(b"head ")
        writes.write(b"x" * JOIN_BYTES)

        assert theirs.recv(6) == b"head x"


async def test_nothing_written_before_the_end_is_lost_and_nothing_is_sent_after_it() -> None:
    async with connected() as (writes, theirs):
        writes.write(b"last words")
        writes.close()
        writes.write(b"too late")
        writes.flush()
        received = b""
        while part := await asyncio.get_running_loop().sock_recv(theirs, 100):
            received += part

        assert received == b"last words"
