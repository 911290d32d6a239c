"""Limit a long answer: the first part goes into the result, `fetch_chunk` returns the others.

The environment is read at each use.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from toolmason_runtime import ToolCall, truncated

CHUNK_SIZE_VARIABLE: Final = "RESPONSE_CHUNK_SIZE_KB"
MAX_SIZE_VARIABLE: Final = "RESPONSE_MAX_SIZE_KB"
MAX_KB: Final = 65_536
"""Maximum value of both variables."""

_KB: Final = 1024
_DEFAULTS: Final = {CHUNK_SIZE_VARIABLE: 10, MAX_SIZE_VARIABLE: 50}
_MAX_DISPLAY_CHARS: Final = 40

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes of UTF-8."""

    chunk_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The part of an answer that goes into the result: all of it, or its first chunk."""

    answer: str = field(repr=False)
    chunks: dict[str, Any] | None = None
    """The `chunks` object of tool results; None if the answer is complete."""
    is_truncated: bool = False
    warnings: tuple[str, ...] = ()


async def deliver(text: str, call: ToolCall, *, environ: Mapping[str, str] = os.environ) -> Delivered:
    """Truncate the answer `text`, and store it if it is too long for one result."""
    bounds = limits(environ)
    answer = truncated(text, bounds.max_bytes)
    warnings = () if answer == text else (truncation_warning(text, answer, bounds.max_bytes),)
    stored = await call.keep(answer, max_part_bytes=bounds.chunk_bytes)
    chunks = {"cacheKey": stored.key, "current": 1, "total": stored.total} if stored.key else None
    return Delivered(
        answer=stored.first, chunks=chunks, is_truncated=bool(warnings), warnings=(*warnings, *stored.warnings)
    )


def limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """Return the limits of `environ`; an invalid value is logged, and replaced by the default."""
    return Limits(*(_bytes(name, environ.get(name, "")) for name in (CHUNK_SIZE_VARIABLE, MAX_SIZE_VARIABLE)))


def truncation_warning(text: str, answer: str, max_bytes: int) -> str:
    """Return a warning with the number of bytes of `text` that are missing in `answer`, and the variable to raise."""
    total, remaining = (len(content.encode("utf-8", "surrogatepass")) for content in (text, answer))
    return (
        f"the answer was cut: {total - remaining:,} of its {total:,} bytes are missing. Ask for less at once, or ask "
        f"the user to raise {MAX_SIZE_VARIABLE} (now {max_bytes // _KB})"
    )


def _bytes(name: str, value: str) -> int:
    text = value.strip()
    if not text:
        return _DEFAULTS[name] * _KB
    # int() also accepts `1_0`, and rejects very long numbers.
    if text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) <= MAX_KB:
        return int(text) * _KB
    _warn(name, text)
    return _DEFAULTS[name] * _KB


@cache
def _warn(name: str, text: str) -> None:
    display = text if len(text) <= _MAX_DISPLAY_CHARS else text[:_MAX_DISPLAY_CHARS] + "..."
    default = _DEFAULTS[name]
    _log.warning("%s is %r, but must be a whole number of KB from 1 to %d; using %d", name, display, MAX_KB, default)
