"""The store that several server processes share: a hash in Redis for each answer, which Redis itself lets expire.

How much of them there may be in all is for Redis to bound (`maxmemory`, and a policy such as `volatile-lru`). A Redis
that cannot be reached must not cost an answer that took minutes: then it is kept in the memory of this process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError

from workbench_handlers.answers.memory import MemoryStore
from workbench_handlers.answers.store import (
    LIFE_S,
    MAX_ANSWER_BYTES,
    VARIABLE,
    Kept,
    Part,
    decoded,
    encoded,
    expired,
    is_key,
    moment,
    new_key,
    no_such_part,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

PREFIX: Final = "workbench:answer:"
TIMEOUT_S: Final = 5.0
"""Seconds Redis has for one answer, to connect included."""

_MAX_CONNECTIONS: Final = 8
_MAX_DIGITS: Final = 9

_log = logging.getLogger(__name__)


class _UnavailableError(Exception):
    """Redis did not do what it was asked; the text says why, after its name, and holds nothing that Redis said."""


class RedisStore:
    """Keeps answers in the Redis at `url`, which is called `shown` where people read it."""

    def __init__(
        self, url: str, *, shown: str, life_s: float = LIFE_S, prefix: str = PREFIX, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._url = url
        self._shown = shown
        self._life_s = life_s
        self._prefix = prefix
        self._timeout_s = timeout_s
        self._client: Redis | None = None
        self._opening = anyio.Lock()
        self._fallback = MemoryStore(life_s=life_s)

    async def put(self, parts: Sequence[str]) -> Kept:
        """See `AnswerStore.put`."""
        data = encoded(parts)
        key, expires = new_key(), time.time() + self._life_s
        fields: dict[Any, Any] = {"total": len(data), "expires": repr(expires)}
        fields |= {str(index): part for index, part in enumerate(data, 1)}
        try:
            async with self._redis() as client, client.pipeline(transaction=True) as both:
                both.hset(self._prefix + key, mapping=fields)
                both.pexpire(self._prefix + key, max(1, round(self._life_s * 1000)))
                await both.execute()
        except _UnavailableError as error:
            return await self._put_here(parts, str(error))
        return Kept(key=key, total=len(data), expires_at=moment(expires))

    async def get(self, key: str, index: int) -> Part:
        """See `AnswerStore.get`."""
        if self._fallback.has(key):
            return await self._fallback.get(key, index)
        if not is_key(key):
            raise expired(key)
        try:
            async with self._redis() as client:
                total, expires, content = await _values(client, self._prefix + key, ["total", "expires", str(index)])
        except _UnavailableError as error:
            message = f"the store of long answers ({self._shown}) {error}: try again in a moment"
            raise ToolError(message, code="INTERNAL", details={"store": self._shown}) from None
        if total is None or expires is None:
            raise expired(key)
        try:
            return _part(index, total, expires, content)
        except (ValueError, OverflowError, OSError) as error:
            # Others may write to this Redis as well. What they wrote is not repeated.
            _log.warning("what %s holds as an answer is none (%s)", self._shown, type(error).__name__)
            raise expired(key) from None

    async def check(self) -> str:
        """See `AnswerStore.check`."""
        try:
            async with self._redis() as client:
                await client.ping()
        except _UnavailableError as error:
            return f"{VARIABLE}: {self._shown} {error}. {_HERE_INSTEAD}"
        return ""

    async def aclose(self) -> None:
        """See `AnswerStore.aclose`."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._fallback.aclose()

    async def _put_here(self, parts: Sequence[str], problem: str) -> Kept:
        _log.warning("%s: %s %s. %s", VARIABLE, self._shown, problem, _HERE_INSTEAD)
        kept = await self._fallback.put(parts)
        warning = (
            f"the store of long answers {problem}: only the server process that gave this answer has its other chunks"
        )
        return Kept(key=kept.key, total=kept.total, expires_at=kept.expires_at, warnings=(warning,))

    @asynccontextmanager
    async def _redis(self) -> AsyncIterator[Redis]:
        """Give the client, and turn all that may fail with it into `_UnavailableError`."""
        client = await self._opened()
        from redis.exceptions import RedisError

        try:
            async with asyncio.timeout(self._timeout_s):
                yield client
        # A host name that cannot be one is a UnicodeError.
        except (RedisError, OSError, UnicodeError) as error:
            raise _UnavailableError(_reason(error)) from None

    async def _opened(self) -> Redis:
        async with self._opening:
            if self._client is None:
                try:
                    self._client = await anyio.to_thread.run_sync(_client, self._url, self._timeout_s)
                except (ImportError, TypeError, ValueError) as error:
                    # Their texts repeat what they were given, and that may be a password.
                    raise _UnavailableError(f"cannot be used ({type(error).__name__}): see its URL") from None
            return self._client


_HERE_INSTEAD: Final = "Meanwhile long answers are kept in the memory of this process alone"


def _client(url: str, timeout_s: float) -> Redis:
    """Make the client. Its import takes a third of a second, so this runs in a thread."""
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    # Each call is bounded as a whole, and these must not come first: what waits for a connection would give another
    # reason than what waits for an answer.
    late_s = 2 * timeout_s
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=_MAX_CONNECTIONS,
        timeout=None,
        socket_timeout=late_s,
        socket_connect_timeout=late_s,
        # Redis may have been restarted since a connection was used last.
        retry=Retry(NoBackoff(), 1),
    )
    # Options of the URL are only looked at here, and would fail later.
    pool.make_connection()  # type: ignore[no-untyped-call]
    return Redis.from_pool(pool)


def _part(index: int, total: bytes, expires: bytes, content: bytes | None) -> Part:
    """Give a part as Redis has it.

    Raises:
        ToolError: the answer has no such part.
        ValueError: this is no answer; OverflowError and OSError mean the same.
    """
    if not (total.isdigit() and len(total) <= _MAX_DIGITS and int(total)):
        raise ValueError("no number of parts")
    number, expires_at = int(total), moment(float(expires))
    if not 1 <= index <= number:
        raise no_such_part(index, number)
    if content is None or len(content) > MAX_ANSWER_BYTES:
        raise ValueError("no part")
    return Part(content=decoded(content), index=index, total=number, expires_at=expires_at)


async def _values(client: Redis, name: str, fields: list[str]) -> list[Any]:
    return await client.hmget(name, fields)


def _reason(error: Exception) -> str:
    from redis import exceptions

    reasons = {
        "refuses the user, or the password": exceptions.AuthenticationError | exceptions.NoPermissionError,
        "has no memory left": exceptions.OutOfMemoryError,
        "does not answer in time": exceptions.TimeoutError | TimeoutError,
        "answers with an error": exceptions.ResponseError,
    }
    # What goes wrong while a connection is made is a ConnectionError that something else caused.
    causes = (error, error.__cause__)
    found = (reason for reason, kinds in reasons.items() if any(isinstance(each, kinds) for each in causes))
    return next(found, "cannot be reached")
