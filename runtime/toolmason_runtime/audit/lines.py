"""An event as one line of JSON, and the canonical form of arguments for digests."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from toolmason_runtime.calls.secrets import mask

MAX_TEXT: Final = 128
"""Maximum characters of one value: names come from clients."""
MAX_ITEMS: Final = 20
"""Maximum items of a list."""
_NUMBERS: Final = frozenset({float, bool})
_MAX_INTEGER_BITS: Final = 64

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str).encode
_encode_sorted = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str, sort_keys=True).encode


def timestamp() -> str:
    """Return the time as RFC 3339 in UTC with milliseconds: `2026-03-01T09:30:00.250Z`."""
    now = time.time()
    second = int(now)
    return f"{_second(second)}.{int((now - second) * 1000):03d}Z"


@lru_cache(maxsize=2)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def encode_fields(fields: Mapping[str, Any]) -> str:
    """Return fields as members of a JSON object, without its braces; absent values are left out.

    The text is ASCII, with every other character escaped: no value can forge a line or a field.
    """
    members = {}
    for name, value in fields.items():
        if value is None or value in ("", []):
            continue
        members[name] = value if type(value) in _NUMBERS else bounded(value)
    return _encode(members)[1:-1].replace("\x7f", "\\u007f")


def bounded(value: Any) -> Any:
    """Return a value without secrets, and with at most `MAX_TEXT` characters a text and `MAX_ITEMS` items a list."""
    if isinstance(value, str):
        value = mask(value)
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 3]}..."
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value[:MAX_ITEMS]]
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return "(large integer)"
    return value if isinstance(value, int | float) else bounded(str(value))


def canonical(arguments: Mapping[str, Any]) -> bytes:
    """Return arguments as JSON with sorted keys, without spaces and in ASCII: equal arguments have equal bytes."""
    return _encode_sorted(arguments).encode("ascii")
