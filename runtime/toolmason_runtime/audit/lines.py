"""An event as one line of JSON, and the canonical form of arguments for digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolmason_runtime.protocol.secrets import mask

MAX_TEXT: Final = 128
"""Maximum characters of one value: names come from clients."""
MAX_ITEMS: Final = 20
"""Maximum items of a list."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str).encode
_encode_sorted = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str, sort_keys=True).encode


def timestamp() -> str:
    """Return the time as RFC 3339 in UTC with milliseconds: `2026-03-01T09:30:00.250Z`."""
    return f"{datetime.now(UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def encode_line(fields: Mapping[str, Any]) -> bytes:
    """Return the line of an event: ASCII, with every other character escaped, so that no value can forge a line."""
    text = _encode({name: bounded(value) for name, value in fields.items() if value not in ("", None, [], ())})
    return mask(text).replace("\x7f", "\\u007f").encode("ascii", "backslashreplace") + b"\n"


def bounded(value: Any) -> Any:
    """Return a value with at most `MAX_TEXT` characters a text and `MAX_ITEMS` items a list."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 3]}..."
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value[:MAX_ITEMS]]
    return value if isinstance(value, bool | int | float) else bounded(str(value))


def canonical(arguments: Mapping[str, Any]) -> bytes:
    """Return arguments as JSON with sorted keys, without spaces and in ASCII: equal arguments have equal bytes."""
    return _encode_sorted(arguments).encode("ascii")
