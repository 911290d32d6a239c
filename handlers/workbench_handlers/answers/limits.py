"""How much of an answer goes into one result, and how much of it at all. The environment is read when it is used."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

CHUNK_SIZE_VARIABLE: Final = "RESPONSE_CHUNK_SIZE_KB"
MAX_SIZE_VARIABLE: Final = "RESPONSE_MAX_SIZE_KB"

CHUNK_TOKENS: Final = 12_000
"""Tokens of one chunk, as `estimate_tokens` counts them.

Clients cut a result at 25,000 tokens. Tokenizers count up to 1.95 times what we estimate, and the rest of the result,
such as the files that were read, needs room too.
"""

MAX_KB: Final = 65_536
"""The most that either variable may say: what a store takes."""

_KB: Final = 1024
_DEFAULTS: Final = {CHUNK_SIZE_VARIABLE: 10, MAX_SIZE_VARIABLE: 50}
_MAX_SHOWN_LENGTH: Final = 40

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes of UTF-8."""

    chunk_bytes: int
    most_bytes: int


def limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """Give the limits that `environ` asks for; instead of what is no whole number of KB the default, and log it."""
    return Limits(*(_bytes(name, environ.get(name, "")) for name in (CHUNK_SIZE_VARIABLE, MAX_SIZE_VARIABLE)))


def truncate(text: str, max_bytes: int) -> tuple[str, bool]:
    """Give as much of the beginning of `text` as `max_bytes` of UTF-8 hold, and say whether something is missing."""
    if len(text) * 4 <= max_bytes:
        return text, False
    # A character has at least one byte, so the rest cannot be part of it.
    data = text[: max_bytes + 1].encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text, False
    end = max_bytes
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass"), True


def truncation_warning(text: str, kept: str, most_bytes: int) -> str:
    """Say how much of `text` is not in `kept`, and what to set to get more."""
    total, left = (len(each.encode("utf-8", "surrogatepass")) for each in (text, kept))
    return (
        f"the answer was cut: {total - left:,} of its {total:,} bytes are left out. Ask for less at once, or have the "
        f"user raise {MAX_SIZE_VARIABLE} (now {most_bytes // _KB})"
    )


def _bytes(name: str, value: str) -> int:
    written = value.strip()
    if not written:
        return _DEFAULTS[name] * _KB
    # int() alone takes `1_0` too, and refuses very many digits.
    if written.isascii() and written.isdecimal() and len(written) < 20 and 1 <= int(written) <= MAX_KB:
        return int(written) * _KB
    _warn(name, written)
    return _DEFAULTS[name] * _KB


@cache
def _warn(name: str, written: str) -> None:
    shown = written if len(written) <= _MAX_SHOWN_LENGTH else written[:_MAX_SHOWN_LENGTH] + "..."
    default = _DEFAULTS[name]
    _log.warning("%s is %r, no whole number of KB from 1 to %d: %d is used", name, shown, MAX_KB, default)
