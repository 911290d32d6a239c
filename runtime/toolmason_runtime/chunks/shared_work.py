"""Work that one of several processes does for all: a lease in Redis while it runs, then its text.

A process that dies loses its lease, and another one that waits for the text starts. While Redis is not available, each
process works by itself: work done twice costs money, work that is refused costs an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.budget import SHARED_TEXT

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_SHARED_BYTES: Final = SHARED_TEXT.bytes
"""Bytes of the longest text that is sent to Redis, or read from it."""
LEASE_S: Final = 6.0
"""Seconds until the work of a dead process may start again."""
BEAT_S: Final = 1.0
"""Seconds between renewals of a lease, and between looks of those who wait."""

_log = logging.getLogger(__name__)


class UnavailableError(Exception):
    """Redis did not do what was asked; the text is the reason, and contains nothing that Redis sent."""


class SharedWork:
    """The work with names below `prefix`, in the Redis that `open_redis` opens."""

    def __init__(self, open_redis: Callable[[], AbstractAsyncContextManager[Redis]], prefix: str) -> None:
        self._redis = open_redis
        self._prefix = prefix

    async def once(
        self, name: str, work: Callable[[], Awaitable[str]], *, keep_s: float, on_wanted: Callable[[], None]
    ) -> str:
        """See `ChunkStore.once`."""
        own = token_hex(8).encode()
        try:
            text = await self._text_or_lease(name, own)
        except UnavailableError as error:
            _log.warning("work is not shared with other processes: the store %s", error)
            return await work()
        if text is not None:
            return text
        async with self._renewed(name, own, on_wanted):
            text = await work()
            await self._finish(name, text, keep_s)
        return text

    async def _text_or_lease(self, name: str, own: bytes) -> str | None:
        """Return the stored text, as soon as there is one; return None with the lease if nobody works on it."""
        while True:
            async with self._redis() as client:
                if text := await self._text(client, name):
                    return text
                # The lease is taken before the second look: its last owner may have stored the text in between.
                if await client.set(self._key(name, "lease"), own, nx=True, px=_ms(LEASE_S)):
                    if not (text := await self._text(client, name)):
                        return None
                    await client.delete(self._key(name, "lease"))
                    return text
                await client.set(self._key(name, "wanted"), b"1", px=_ms(3 * BEAT_S))
            await asyncio.sleep(BEAT_S)

    async def _text(self, client: Redis, name: str) -> str:
        key = self._key(name, "text")
        # Others may write to this Redis as well, and the client reads a value of any size.
        if await client.strlen(key) > MAX_SHARED_BYTES:
            raise UnavailableError("has a text that is too large")
        data: Any = await client.get(key)
        try:
            return (data or b"").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise UnavailableError("has a text that is not UTF-8") from None

    @asynccontextmanager
    async def _renewed(self, name: str, own: bytes, on_wanted: Callable[[], None]) -> AsyncIterator[None]:
        beating = asyncio.create_task(self._beat(name, own, on_wanted))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(UnavailableError):
                async with self._redis() as client:
                    if await client.get(self._key(name, "lease")) == own:
                        await client.delete(self._key(name, "lease"))

    async def _beat(self, name: str, own: bytes, on_wanted: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(UnavailableError):
                async with self._redis() as client:
                    lease, wanted = await client.mget(self._key(name, "lease"), self._key(name, "wanted"))
                    if lease in {own, None}:  # None: Redis did not answer for a while, or has lost its data
                        await client.set(self._key(name, "lease"), own, px=_ms(LEASE_S))
                    if wanted:
                        on_wanted()

    async def _finish(self, name: str, text: str, keep_s: float) -> None:
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > MAX_SHARED_BYTES:
            return
        with suppress(UnavailableError):
            async with self._redis() as client:
                await client.set(self._key(name, "text"), data, px=_ms(keep_s))

    def _key(self, name: str, part: str) -> Any:
        return f"{self._prefix}{name}:{part}"


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
