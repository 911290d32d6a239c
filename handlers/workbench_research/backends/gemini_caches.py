"""Caches of the Gemini API: each holds files that were sent at least twice.

A cache is created at the second question about the same files, because storage costs money and many files are asked
about once. A later question uses it if it still has all its files; files that changed are sent after it. If the cached
files are less than half of a question, a new cache replaces it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from workbench_research.backends.prompt import BYTES_PER_TOKEN

TTL_S: Final = 600
"""Seconds that a cache is kept after its creation."""
_MARGIN_S: Final = 30
"""A cache with less time left is not used."""
_MIN_SHARE: Final = 0.5
"""The smallest part of a question for which a cache is used or created."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class _Cache:
    name: str
    hashes: frozenset[str]
    expires: float
    users: int = 0
    is_replaced: bool = False


@dataclass(frozen=True, kw_only=True)
class Cached:
    """What a question uses: the cache's name (empty: none), the other texts, and the tokens that were stored now."""

    rest: tuple[str, ...]
    name: str = ""
    tokens_now: int = 0
    cache: _Cache | None = field(default=None, repr=False)


class GeminiCaches:
    """The caches of this process, one for each model."""

    def __init__(self) -> None:
        self._current: dict[str, _Cache] = {}
        self._replaced: list[_Cache] = []
        self._last: dict[str, frozenset[str]] = {}
        self._lock = anyio.Lock()

    def __bool__(self) -> bool:
        return bool(self._current or self._replaced)

    async def prepare(self, client: Any, model: str, texts: Sequence[str], *, system: str, minimum: int) -> Cached:
        """Return the cache for a question, which must be released after it. `minimum` is in tokens."""
        hashes = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        asked = frozenset(hashes)
        async with self._lock:
            seen, self._last[model] = self._last.get(model, frozenset()), asked
            cache = self._current.get(model)
            if cache is not None and (not cache.hashes <= asked or time.monotonic() > cache.expires - _MARGIN_S):
                cache = None
            stable = [text for text, digest in zip(texts, hashes, strict=True) if digest in seen]
            if cache is not None and _share(texts, hashes, cache.hashes) >= _MIN_SHARE:
                return _use(cache, texts, hashes)
            enough = _tokens(stable) >= minimum and _share(texts, hashes, seen) >= _MIN_SHARE
            if not enough:
                return Cached(rest=tuple(texts))
            created, tokens = await self._create(client, model, stable, frozenset(seen & asked), system)
            if created is None:
                return Cached(rest=tuple(texts))
            self._replace(model, created)
            return _use(created, texts, hashes, tokens)

    async def release(self, client: Any, cached: Cached) -> None:
        """End the use of a cache, and delete caches that are replaced and not in use."""
        if cached.cache is not None:
            cached.cache.users -= 1
        unused = [cache for cache in self._replaced if not cache.users]
        self._replaced = [cache for cache in self._replaced if cache.users]
        for cache in unused:
            await _delete(client, cache)

    def forget(self, model: str, name: str, *, exists: bool) -> None:
        """Do not use a cache again with which a question failed; it is deleted if it still exists."""
        if (cache := self._current.get(model)) and cache.name == name:
            del self._current[model]
            if exists:
                self._replaced.append(cache)

    async def delete_all(self, client: Any) -> None:
        """Delete all caches."""
        caches = [*self._current.values(), *self._replaced]
        self._current, self._replaced = {}, []
        for cache in caches:
            await _delete(client, cache)

    def _replace(self, model: str, cache: _Cache) -> None:
        if (old := self._current.get(model)) is not None:
            self._replaced.append(old)
        self._current[model] = cache

    async def _create(
        self, client: Any, model: str, texts: Sequence[str], hashes: frozenset[str], system: str
    ) -> tuple[_Cache | None, int]:
        """Create a cache; None if the API refuses, as for models without caches: the question is sent without one."""
        try:
            created = await client.aio.caches.create(
                model=model,
                config={
                    "contents": [{"role": "user", "parts": [{"text": text} for text in texts]}],
                    "system_instruction": system,
                    "ttl": f"{TTL_S}s",
                    "display_name": "toolmason-workbench",
                },
            )
        except Exception as error:  # noqa: BLE001  the question itself will report what is wrong
            _log.debug("no cache was created: %s", type(error).__name__)
            return None, 0
        tokens = getattr(created.usage_metadata, "total_token_count", None) or 0
        if not created.name:
            return None, 0
        return _Cache(name=created.name, hashes=hashes, expires=time.monotonic() + TTL_S), tokens


def _use(cache: _Cache, texts: Sequence[str], hashes: Sequence[str], tokens_now: int = 0) -> Cached:
    cache.users += 1
    rest = tuple(text for text, digest in zip(texts, hashes, strict=True) if digest not in cache.hashes)
    return Cached(rest=rest, name=cache.name, tokens_now=tokens_now, cache=cache)


def _share(texts: Sequence[str], hashes: Sequence[str], among: frozenset[str]) -> float:
    """Return the part of the texts that is among some, by length."""
    total = sum(map(len, texts))
    known = sum(len(text) for text, digest in zip(texts, hashes, strict=True) if digest in among)
    return known / total if total else 0.0


def _tokens(texts: Sequence[str]) -> float:
    """Return an estimate of tokens that is not too high: too small a cache is refused."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) / (2 * BYTES_PER_TOKEN)


async def _delete(client: Any, cache: _Cache) -> None:
    with suppress(Exception):  # it expires in any case
        await client.aio.caches.delete(name=cache.name)
