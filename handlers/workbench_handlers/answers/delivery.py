"""From the whole text of an answer to its first chunk, and from a key to the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import anyio.to_thread

from workbench_handlers.answers.cutting import cut
from workbench_handlers.answers.limits import CHUNK_TOKENS, limits, truncate, truncation_warning
from workbench_handlers.answers.store import AnswerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What of an answer goes into the result: all of it, or its first chunk."""

    answer: str = field(repr=False)
    chunks: dict[str, Any] | None = None
    """How to get the others, as the results of tools have it; None if there are none."""
    is_truncated: bool = False
    warnings: tuple[str, ...] = ()


async def delivered(text: str, store: AnswerStore, *, environ: Mapping[str, str] = os.environ) -> Delivered:
    """Bound the answer `text`, and keep it in `store` if it is too long for one result."""
    bounds = limits(environ)
    kept_text, is_truncated = truncate(text, bounds.most_bytes)
    warnings = (truncation_warning(text, kept_text, bounds.most_bytes),) if is_truncated else ()
    cut_up = partial(cut, kept_text, max_bytes=bounds.chunk_bytes, max_tokens=CHUNK_TOKENS)
    parts = await anyio.to_thread.run_sync(cut_up)
    if len(parts) == 1:
        return Delivered(answer=parts[0], is_truncated=is_truncated, warnings=warnings)
    kept = await store.put(parts)
    chunks = {"cacheKey": kept.key, "current": 1, "total": kept.total}
    return Delivered(answer=parts[0], chunks=chunks, is_truncated=is_truncated, warnings=(*warnings, *kept.warnings))


async def fetched(store: AnswerStore, key: str, index: int) -> dict[str, Any]:
    """Give the result of `fetch_chunk`.

    Raises:
        ToolError: see `AnswerStore.get`.
    """
    part = await store.get(key, index)
    return {
        "tool": "fetch_chunk",
        "cacheKey": key,
        "chunk": {"index": part.index, "total": part.total, "content": part.content},
        "meta": {"expiresAt": _iso(part.expires_at)},
    }


def _iso(when: datetime) -> str:
    """Write a time in UTC as JavaScript does."""
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
