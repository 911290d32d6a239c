"""The store that several server processes share: one hash in Redis per text, which Redis itself lets expire.

Redis bounds how many there are (`maxmemory`, and a policy such as `volatile-lru`). While Redis is not available, texts
are kept in this process: an answer can have taken minutes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
from toolmason_runtime.chunks.memory import MemoryStore
from toolmason_runtime.chunks.shared_work import MAX_SHARED_BYTES, SharedWork, UnavailableError
from toolmason_runtime.chunks.text import LongText, Part, check_index, decode, expired, is_key, iso
from toolmason_runtime.shared.errors import INTERNAL, ToolError

if TYPE_CHECKING:
    from redis.asyncio import Redis

TIMEOUT_S: Final = 5.0
"""Seconds Redis has for one answer, to connect included."""

_SCHEMES: Final = ("redis", "rediss", "unix")
_MAX_CONNECTIONS: Final = 8
_MAX_DIGITS: Final = 9
_IN_THIS_PROCESS: Final = "kept in the memory of this process alone"
_REPLACE: Final = """
if redis.call("GETRANGE", KEYS[1], 0, #ARGV[1] - 1) ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
return 1
"""
"""Replaces a value that begins with the first argument."""

_log = logging.getLogger(__name__)


class RedisStore:
    """Keeps texts in the Redis at `url`, which the environment variable `variable` names."""

    def __init__(self, url: str, *, variable: str, prefix: str, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url
        self._variable = variable
        self._address = _address(urlsplit(url))
        self._prefix = prefix
        self._timeout_s = timeout_s
        self._client: Redis | None = None
        self._opening = anyio.Lock()
        self._local = MemoryStore()

    async def add(self, text: LongText) -> tuple[str, ...]:
        """See `Store.add`."""
        try:
            await self._send(text)
        except UnavailableError as error:
            return await self._add_locally(text, str(error))
        except BaseException:
            text.close()
            raise
        text.close()
        return ()

    async def get(self, key: str, index: int) -> Part:
        """See `Store.get`."""
        if key in self._local:
            return await self._local.get(key, index)
        if not is_key(key):
            raise expired(key)
        try:
            async with self._redis() as client:
                fields = await _values(client, self._prefix + key, ["total", "expires", str(index)])
        except UnavailableError as error:
            raise self._no_answer(error) from None
        if None in fields[:2]:
            raise expired(key)
        try:
            return _part(index, *fields)
        except (ValueError, OverflowError, OSError) as error:
            # Others may write to this Redis as well. Their text is not repeated.
            _log.warning("an invalid entry in %s is ignored (%s)", self._address, type(error).__name__)
            raise expired(key) from None

    async def once(
        self, name: str, work: Callable[[], Awaitable[str]], *, keep_s: float, on_wanted: Callable[[], None]
    ) -> str:
        """See `ChunkStore.once`."""
        shared = SharedWork(self._redis, f"{self._prefix}work:")
        return await shared.once(name, work, keep_s=keep_s, on_wanted=on_wanted)

    async def put(self, name: str, data: bytes, *, keep_s: float) -> None:
        """See `Shared.put`."""
        try:
            async with self._redis() as client:
                await client.set(f"{self._prefix}kept:{name}", data, px=max(1, round(keep_s * 1000)))
        except UnavailableError as error:
            raise self._no_answer(error) from None

    async def read(self, name: str, *, max_bytes: int) -> bytes | None:
        """See `Shared.read`."""
        key = f"{self._prefix}kept:{name}"
        try:
            async with self._redis() as client:
                if await client.strlen(key) > max_bytes:
                    return None
                data: Any = await client.get(key)
        except UnavailableError as error:
            raise self._no_answer(error) from None
        return data if isinstance(data, bytes) else None

    async def replace(self, name: str, seen: bytes, data: bytes, *, keep_s: float) -> bool:
        """See `Shared.replace`."""
        arguments: Any = (f"{self._prefix}kept:{name}", seen, data, max(1, round(keep_s * 1000)))
        try:
            async with self._redis() as client:
                replaced: Any = await client.eval(_REPLACE, 1, *arguments)
        except UnavailableError as error:
            raise self._no_answer(error) from None
        return bool(replaced)

    async def take(self, name: str) -> bytes | None:
        """See `Shared.take`."""
        key = f"{self._prefix}kept:{name}"
        try:
            async with self._redis() as client:
                if await client.strlen(key) > MAX_SHARED_BYTES:
                    return None
                data: Any = await client.getdel(key)
        except UnavailableError as error:
            raise self._no_answer(error) from None
        return data if isinstance(data, bytes) else None

    def _no_answer(self, error: UnavailableError) -> ToolError:
        message = f"the store of long texts ({self._address}) {error}: try again in a moment"
        return ToolError(message, code=INTERNAL, details={"store": self._address})

    async def check(self) -> str:
        """See `Store.check`."""
        try:
            async with self._redis() as client:
                await client.ping()
        except UnavailableError as error:
            return f"{self._variable}: {self._address} {error}. Meanwhile long texts are {_IN_THIS_PROCESS}"
        return ""

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._local.aclose()

    async def _send(self, text: LongText) -> None:
        if text.size > MAX_SHARED_BYTES:
            raise UnavailableError(f"takes at most {MAX_SHARED_BYTES:,} bytes of one text")
        data = [text.data(index) for index in range(1, text.total + 1)]
        fields: dict[Any, Any] = {"total": len(data), "expires": repr(text.expires)}
        fields |= {str(index): part for index, part in enumerate(data, 1)}
        name, ttl_s = self._prefix + text.key, text.expires - time.time()
        async with self._redis() as client, client.pipeline(transaction=True) as transaction:
            transaction.hset(name, mapping=fields)
            transaction.pexpire(name, max(1, round(ttl_s * 1000)))
            await transaction.execute()

    async def _add_locally(self, text: LongText, problem: str) -> tuple[str, ...]:
        _log.warning("%s: %s %s. A long text is %s", self._variable, self._address, problem, _IN_THIS_PROCESS)
        await self._local.add(text)
        return (
            f"the store of long texts {problem}: only the server process that gave this answer has its other chunks",
        )

    @asynccontextmanager
    async def _redis(self) -> AsyncIterator[Redis]:
        """Open the client, and turn every failure of it into `UnavailableError`."""
        client = await self._opened()
        from redis.exceptions import RedisError

        try:
            async with asyncio.timeout(self._timeout_s):
                yield client
        # An impossible host name is a UnicodeError.
        except (RedisError, OSError, UnicodeError) as error:
            raise UnavailableError(_reason(error)) from None

    async def _opened(self) -> Redis:
        async with self._opening:
            if self._client is None:
                try:
                    self._client = await anyio.to_thread.run_sync(_client, self._url, self._timeout_s)
                except (ImportError, TypeError, ValueError) as error:
                    # Their texts repeat the URL, which can contain a password.
                    raise UnavailableError(f"cannot be used ({type(error).__name__}): see its URL") from None
            return self._client


def url_problem(url: str, variable: str) -> str:
    """Return why `url` is invalid, or an empty string. The text repeats nothing of it: any of it may be a password."""
    invalid = (
        f"{variable} is not the URL of a Redis: use redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, with "
        f"the special characters of a password written as %40. Long texts are {_IN_THIS_PROCESS}"
    )
    try:
        split = urlsplit(url)
        _ = split.port
    except ValueError:
        return invalid
    rest = f"{split.path}{split.query}{split.fragment}"
    has_place = split.path if split.scheme == "unix" else split.hostname
    if split.scheme not in _SCHEMES or "@" in rest or not has_place:
        return invalid
    if find_spec("redis") is None:
        package = "needs the package `redis`: pip install 'toolmason[workbench]'"
        return f"{variable} {package}. Long texts are {_IN_THIS_PROCESS}"
    return ""


def _address(split: SplitResult) -> str:
    """Return the public part of a URL: without user, password and query."""
    if split.scheme == "unix":
        return f"unix://{split.path}"
    port = f":{split.port}" if split.port else ""
    return f"{split.scheme}://{split.hostname}{port}"


def _client(url: str, timeout_s: float) -> Redis:
    """Create the client. Its import takes a third of a second, so this runs in a thread."""
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    # Each call has a timeout as a whole, and these must not come first: waiting for a connection would give another
    # reason than waiting for an answer.
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
    # Options of the URL are only checked here, and would fail later.
    pool.make_connection()  # type: ignore[no-untyped-call]
    return Redis.from_pool(pool)


def _part(index: int, total: bytes, expires: bytes, content: bytes | None) -> Part:
    """Return a part from its fields in Redis.

    Raises:
        ToolError: the index is out of range.
        ValueError: the entry is invalid; OverflowError and OSError mean the same.
    """
    if not (total.isdigit() and len(total) <= _MAX_DIGITS and int(total)):
        raise ValueError("not a number of parts")
    iso(float(expires))  # a result has to contain it
    check_index(index, int(total))
    if content is None or len(content) > MAX_SHARED_BYTES:
        raise ValueError("not a part")
    return Part(content=decode(content), index=index, total=int(total), expires=float(expires))


async def _values(client: Redis, name: str, fields: list[str]) -> list[Any]:
    """Return the values of fields, None for those that are absent or too large: the client reads any size."""
    sizes = [await client.hstrlen(name, field) for field in fields]
    small = [field for field, size in zip(fields, sizes, strict=True) if size <= MAX_SHARED_BYTES]
    values = dict(zip(small, await client.hmget(name, small), strict=True)) if small else {}
    return [values.get(field) for field in fields]


def _reason(error: Exception) -> str:
    from redis import exceptions

    reasons = {
        "refuses the user, or the password": exceptions.AuthenticationError | exceptions.NoPermissionError,
        "has no memory left": exceptions.OutOfMemoryError,
        "does not answer in time": exceptions.TimeoutError | TimeoutError,
        "answers with an error": exceptions.ResponseError,
    }
    # A failure while a connection is made is a ConnectionError with another error as its cause.
    causes = (error, error.__cause__)
    matching = (reason for reason, kinds in reasons.items() if any(isinstance(each, kinds) for each in causes))
    return next(matching, "cannot be reached")
