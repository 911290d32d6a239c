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
_MAX_SHOWN: Final = 40

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
    """How to get the others, in the form of tool results; None if there are none."""
    is_truncated: bool = False
    warnings: tuple[str, ...] = ()


async def deliver(text: str, call: ToolCall, *, environ: Mapping[str, str] = os.environ) -> Delivered:
    """Truncate the answer `text`, and store it if it is too long for one result."""
    bounds = limits(environ)
    answer = truncated(text, bounds.max_bytes)
    warnings = () if answer == text else (truncation_warning(text, answer, bounds.max_bytes),)
    kept = await call.keep(answer, max_part_bytes=bounds.chunk_bytes)
    chunks = {"cacheKey": kept.key, "current": 1, "total": kept.total} if kept.key else None
    return Delivered(
        answer=kept.first, chunks=chunks, is_truncated=bool(warnings), warnings=(*warnings, *kept.warnings)
    )


def limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """Return the limits of `environ`; an invalid value is logged, and replaced by the default."""
    return Limits(*(_bytes(name, environ.get(name, "")) for name in (CHUNK_SIZE_VARIABLE, MAX_SIZE_VARIABLE)))


def truncation_warning(text: str, kept: str, max_bytes: int) -> str:
    """Return a warning with the number of bytes of `text` that are missing in `kept`, and the variable to raise."""
    total, left = (len(each.encode("utf-8", "surrogatepass")) for each in (text, kept))
    return (
        f"the answer was cut: {total - left:,} of its {total:,} bytes are left out. Ask for less at once, or have the "
        f"user raise {MAX_SIZE_VARIABLE} (now {max_bytes // _KB})"
    )


def _bytes(name: str, value: str) -> int:
    text = value.strip()
    if not text:
        return _DEFAULTS[name] * _KB
    # int() alone takes `1_0` too, and refuses very many digits.
    if text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) <= MAX_KB:
        return int(text) * _KB
    _warn(name, text)
    return _DEFAULTS[name] * _KB


@cache
def _warn(name: str, text: str) -> None:
    shown = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
    default = _DEFAULTS[name]
    _log.warning("%s is %r, not a whole number of KB from 1 to %d: %d is used", name, shown, MAX_KB, default)
