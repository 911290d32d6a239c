"""Where the parts of long answers wait to be fetched: in this process, or in a Redis that several of them share."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from toolmason_runtime import ToolError

VARIABLE: Final = "WORKBENCH_STORE"

LIFE_S: Final = 3600.0
"""Seconds an answer is kept."""

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the longest answer that a store takes: what `limits` lets through at most."""

_KEY: Final = re.compile(r"cache_[0-9a-f]{32}")
_MAX_SHOWN_LENGTH: Final = 60
_SCHEMES: Final = ("redis", "rediss", "unix")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer that can be fetched. `warnings` are for whoever reads the answer."""

    key: str
    total: int
    expires_at: datetime
    """UTC."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of an answer; the first has index 1."""

    content: str = field(repr=False)
    index: int
    total: int
    expires_at: datetime
    """UTC."""


class AnswerStore(Protocol):
    """Keeps answers for an hour; what was not used for the longest time may have to go earlier."""

    async def put(self, parts: Sequence[str]) -> Kept:
        """Keep the parts of one answer, as a whole or not at all.

        Raises:
            ValueError: there are none, or they have over `MAX_ANSWER_BYTES`.
        """
        ...

    async def get(self, key: str, index: int) -> Part:
        """Give one part, exactly.

        Raises:
            ToolError: nothing is kept under `key` (CACHE_EXPIRED), it has no such part (INVALID_CHUNK_INDEX), or the
                store cannot be asked (INTERNAL).
        """
        ...

    async def check(self) -> str:
        """Say what is wrong with the store, empty if nothing is. It names no credentials."""
        ...

    async def aclose(self) -> None:
        """Let go of everything. It may be called more than once."""
        ...


def open_store(url: str) -> AnswerStore:
    """Open the store at `url`: empty for memory, `redis://`, `rediss://` or `unix://` for Redis. It is not called yet.

    A server must start with a bad setting too: then memory is used, which is logged, told by `check`, and stands in the
    warnings of each answer.
    """
    from workbench_handlers.answers.memory import MemoryStore

    url = url.strip()
    if not url:
        return MemoryStore()
    problem = _problem(url)
    if not problem:
        from workbench_handlers.answers.redis_store import RedisStore

        return RedisStore(url, shown=_shown(urlsplit(url)))
    _log.warning("%s", problem)
    return MemoryStore(problem=problem)


def new_key() -> str:
    """Give a key that nobody can guess: whoever has it can read the answer."""
    return f"cache_{secrets.token_hex(16)}"


def is_key(text: str) -> bool:
    """Whether `text` can be a key of ours."""
    return bool(_KEY.fullmatch(text))


def encoded(parts: Sequence[str]) -> list[bytes]:
    """Give the parts as they are kept.

    Raises:
        ValueError: see `AnswerStore.put`.
    """
    if not parts:
        raise ValueError("an answer without parts")
    # A model's JSON may hold half a character, and what was cut must come back as it was.
    data = [part.encode("utf-8", "surrogatepass") for part in parts]
    if (size := sum(map(len, data))) > MAX_ANSWER_BYTES:
        raise ValueError(f"an answer of {size:,} bytes, where {MAX_ANSWER_BYTES:,} are the most")
    return data


def decoded(data: bytes) -> str:
    """Give a part as it was put."""
    return data.decode("utf-8", "surrogatepass")


def moment(timestamp: float) -> datetime:
    """Give the time that many seconds after 1970."""
    return datetime.fromtimestamp(timestamp, UTC)


def expired(key: str) -> ToolError:
    """Say that nothing is kept under `key`."""
    shown = key if len(key) <= _MAX_SHOWN_LENGTH else key[:_MAX_SHOWN_LENGTH] + "..."
    message = (
        f"no answer is kept as {shown!r}: it has expired (answers are kept for an hour, and less if there are many), "
        f"or this is no cacheKey. Run the original query again to get a new one"
    )
    return ToolError(message, code="CACHE_EXPIRED")


def no_such_part(index: int, total: int) -> ToolError:
    """Say that an answer has no part with this index."""
    are = "there is only chunk 1" if total == 1 else f"there are the chunks 1 to {total}"
    details = {"chunkIndex": index, "total": total}
    return ToolError(f"chunk {index} does not exist: {are}", code="INVALID_CHUNK_INDEX", details=details)


def _problem(url: str) -> str:
    """Say why `url` is no store; nothing of it is repeated, since any of it may be a password."""
    try:
        split = urlsplit(url)
        _ = split.port
    except ValueError:
        return f"{VARIABLE} {_IS_NO_URL}"
    behind = f"{split.path}{split.query}{split.fragment}"
    if split.scheme not in _SCHEMES or "@" in behind or not (split.hostname or split.scheme == "unix"):
        return f"{VARIABLE} {_IS_NO_URL}"
    if split.scheme == "unix" and not split.path:
        return f"{VARIABLE} {_IS_NO_URL}"
    if find_spec("redis") is None:
        return f"{VARIABLE} needs the package `redis`: pip install 'toolmason[workbench]'. {_IN_MEMORY}"
    return ""


_IN_MEMORY: Final = "Long answers are kept in the memory of this process alone"
_IS_NO_URL: Final = (
    "is no URL of a Redis: give redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, with the special "
    f"characters of a password written as %40. {_IN_MEMORY}"
)


def _shown(split: SplitResult) -> str:
    """Give what of a URL may be shown: neither the user, nor the password, nor the query, which may hold one too."""
    if split.scheme == "unix":
        return f"unix://{split.path}"
    port = f":{split.port}" if split.port else ""
    return f"{split.scheme}://{split.hostname}{port}"
