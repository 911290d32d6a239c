"""The long texts of a server: the first part goes into the answer, `fetch_chunk` reads the others."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import anyio.to_thread
from toolmason_runtime.calls.text_store import KeptText, TextStore
from toolmason_runtime.chunks.memory import MemoryStore
from toolmason_runtime.chunks.text import TTL_S, LongText, Part, iso, write_text
from toolmason_runtime.shared.answer_size import text_budget
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.shared.values.wording import call_text

_log = logging.getLogger(__name__)


class Store(Protocol):
    """Keeps texts for an hour, or until newer ones need the space."""

    async def add(self, text: LongText) -> tuple[str, ...]:
        """Take over a text, to close it in the end; return warnings for the readers of its first part."""
        ...

    async def get(self, key: str, index: int) -> Part:
        """Return one part, exactly.

        Raises:
            ToolError: nothing is stored under `key` (CACHE_EXPIRED), the index is out of range (INVALID_CHUNK_INDEX),
                or the store does not answer (INTERNAL).
        """
        ...

    async def check(self) -> str:
        """Return the problem of the store, or an empty string. The text contains no credentials."""
        ...

    async def aclose(self) -> None:
        """Free everything. It may be called more than once."""
        ...


@runtime_checkable
class Shared(Protocol):
    """A store that several processes share."""

    async def once(
        self, name: str, work: Callable[[], Awaitable[str]], *, keep_s: float, on_wanted: Callable[[], None]
    ) -> str:
        """See `ChunkStore.once`."""
        ...

    async def put(self, name: str, data: bytes, *, keep_s: float) -> None:
        """Store bytes, which `take` returns once.

        Raises:
            ToolError: the store does not answer (INTERNAL).
        """
        ...

    async def read(self, name: str, *, max_bytes: int) -> bytes | None:
        """Return stored bytes; None without any, or if there are more.

        Raises:
            ToolError: the store does not answer (INTERNAL).
        """
        ...

    async def replace(self, name: str, seen: bytes, data: bytes, *, keep_s: float) -> bool:
        """Replace stored bytes that begin with `seen`; return whether they did.

        Raises:
            ToolError: the store does not answer (INTERNAL).
        """
        ...

    async def take(self, name: str) -> bytes | None:
        """Return and delete stored bytes; None without any.

        Raises:
            ToolError: the store does not answer (INTERNAL).
        """
        ...


class ChunkStore(TextStore):
    """Stores texts that are too long for one answer. It is in the state of every call; handlers use `call.keep`.

    Args:
        variable: environment variable with the URL of a Redis that several server processes share; without a URL, texts
            are kept in this process.
        server: name of the server, with which keys in Redis begin.
        part_size: maximum size of a part (see `size_of`); by default that of one answer to the client of a request.
        ttl_s: seconds a text is kept.
        show_call: returns the text of a call of `fetch_chunk`, as a model sends it, from its arguments; by
            default that of a direct call.
        state_key: key of the processes that are one server; empty if this process is alone.
    """

    def __init__(
        self,
        variable: str = "",
        *,
        server: str = "",
        part_size: int | None = None,
        ttl_s: float = TTL_S,
        show_call: Callable[[dict[str, Any]], str] | None = None,
        state_key: str = "",
    ) -> None:
        self._variable = variable
        self._server = server
        self._part_size = part_size
        self._ttl_s = ttl_s
        self._state_key = state_key
        self._show_call = show_call or partial(call_text, FETCH_CHUNK)

    @property
    def part_size(self) -> int:
        """Maximum size of a part; see `size_of`."""
        return text_budget() if self._part_size is None else self._part_size

    @property
    def kind(self) -> str:
        """`redis` if the environment asks for it, else `memory`."""
        return "redis" if self._url else "memory"

    async def keep(self, text: str | Iterable[str], *, max_part_bytes: int | None = None) -> KeptText:
        """Cut a text, or the pieces of one, and store it if it has more than one part.

        Raises:
            OSError: the temporary file of a large text cannot be written.
        """
        texts = [text] if isinstance(text, str) else text
        size = self.part_size
        max_bytes = max_part_bytes or size  # a part never has more bytes than its size
        write = partial(write_text, texts, size=size, max_bytes=max_bytes, ttl_s=self._ttl_s)
        # The text of a cancelled call is dropped; its file has no name.
        long_text = await anyio.to_thread.run_sync(write, abandon_on_cancel=True)
        first = long_text.part(1).content
        if long_text.total == 1:
            long_text.close()
            return KeptText(first=first, key="", total=1, chars=long_text.chars)
        warnings = await self._store.add(long_text)
        return KeptText(
            first=first,
            key=long_text.key,
            total=long_text.total,
            chars=long_text.chars,
            warnings=warnings,
            next_call=self._show_call({"cacheKey": long_text.key, "chunkIndex": 2}),
        )

    async def fetch(self, key: str, index: int) -> dict[str, Any]:
        """Return the result of `fetch_chunk`.

        Raises:
            ToolError: see `Store.get`.
        """
        part = await self._store.get(key, index)
        return {
            "tool": FETCH_CHUNK,
            "cacheKey": key,
            "chunk": {"index": part.index, "total": part.total, "content": part.content},
            "meta": {"expiresAt": iso(part.expires), "contentLength": len(part.content)} | self._next(part, key),
        }

    def _next(self, part: Part, key: str) -> dict[str, str]:
        """Return the call for the part after `part`, for the end of its answer; empty after the last one."""
        if part.index == part.total:
            return {}
        return {"next": self._show_call({"cacheKey": key, "chunkIndex": part.index + 1})}

    async def once(
        self, key: str, work: Callable[[], Awaitable[str]], *, keep_s: float, on_wanted: Callable[[], None]
    ) -> str:
        """Return the text of `work`, which one process does for all that share a state key and a Redis.

        Its text is stored for `keep_s` seconds, so that it outlives this process. The others wait for it; if this
        process dies, one of them starts. Errors are not shared. Without a shared Redis, every call works by itself.

        Args:
            key: identifies the work.
            work: returns the text.
            keep_s: seconds that the text is stored.
            on_wanted: called from time to time while another process waits for the text.
        """
        if not self._state_key or not isinstance(self._store, Shared):
            return await work()
        name = hmac.new(self._state_key.encode(), key.encode(), "sha256").hexdigest()
        return await self._store.once(name, work, keep_s=keep_s, on_wanted=on_wanted)

    @property
    def shared(self) -> Shared | None:
        """The store that several processes share; None without one."""
        return self._store if self.kind == "redis" and isinstance(self._store, Shared) else None

    async def check(self) -> str:
        """Return the problem of the store, or an empty string. The text contains no credentials."""
        return await self._store.check()

    async def aclose(self) -> None:
        """Free all texts and connections. It may be called more than once."""
        if "_store" in self.__dict__:
            await self._store.aclose()

    @cached_property
    def _url(self) -> str:
        return os.environ.get(self._variable, "").strip() if self._variable else ""

    @cached_property
    def _store(self) -> Store:
        """A server starts with an invalid setting too: memory replaces it, with a warning in the log and in answers."""
        if not self._url:
            return MemoryStore()
        from toolmason_runtime.chunks.redis import RedisStore, url_problem

        problem = url_problem(self._url, self._variable)
        if not problem:
            return RedisStore(self._url, variable=self._variable, prefix=f"{self._server}:answer:")
        _log.warning("%s", problem)
        return MemoryStore(problem=problem)
