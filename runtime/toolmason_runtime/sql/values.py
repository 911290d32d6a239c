"""Convert values of databases to JSON, and arguments to values that a driver binds.

| value | JSON |
| --- | --- |
| integer beyond 2^53 - 1 | string of digits, since many clients read numbers as doubles |
| decimal, and NaN and infinity of doubles | string: `12.50`, `NaN`, `Infinity` |
| date, time, timestamp | ISO 8601: `2026-11-28`, `09:30:00`, `2026-11-28T09:30:00+00:00` |
| interval | ISO 8601: `P1DT2H30M` |
| bytes | base64 |
| UUID, range, network address and any other type | its text |
| array, set | array |
| object, map, struct | object whose keys are texts |
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final

from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.wire.results import encodable

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer below which a double has all integers (RFC 8259, section 6)."""
_MAX_DEPTH: Final = 100
"""Levels of arrays and objects; deeper ones become text."""


def json_value(value: Any, level: int = 0) -> Any:
    """Return the JSON value of a database value."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return encodable(str(value))
    if isinstance(value, int):
        return int(value) if abs(value) <= MAX_SAFE_INTEGER else str(int(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else _special(value)
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else _special(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return duration(value)
    return _composite(value, level)


def _composite(value: Any, level: int) -> Any:
    if level >= _MAX_DEPTH:
        return encodable(str(value))
    if isinstance(value, Mapping):
        return {encodable(_key(key)): json_value(member, level + 1) for key, member in value.items()}
    if isinstance(value, Sequence | AbstractSet) or type(value).__module__ == "numpy":
        return [json_value(item, level + 1) for item in _items(value)]
    return encodable(str(value))


def _items(value: Any) -> Iterable[Any]:
    return sorted(value, key=str) if isinstance(value, AbstractSet) else value


def _key(key: Any) -> str:
    plain = json_value(key)
    return plain if isinstance(plain, str) else str(plain)


def _special(value: float | Decimal) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def duration(value: dt.timedelta) -> str:
    """Return an interval in ISO 8601: `P1DT2H`, `PT0S`, `-P1D`."""
    if value < dt.timedelta():
        return f"-{duration(-value)}"
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0").rstrip(".")
    date = f"{value.days}D" if value.days else ""
    time = f"{hours}H" if hours else ""
    time += f"{minutes}M" if minutes else ""
    time += f"{seconds}{fraction}S" if seconds or fraction else ""
    return f"P{date}T{time}" if time else f"P{date or 'T0S'}"


def column_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return distinct names: of several columns `id`, the second is `id_2`. A column without a name is `column_1`."""
    wanted = [encodable(str(name)) or f"column_{number}" for number, name in enumerate(names, 1)]
    taken = set(wanted)
    used: set[str] = set()
    distinct: list[str] = []
    for name in wanted:
        result, number = name, 2
        while result in used or (result != name and result in taken):
            result, number = f"{name}_{number}", number + 1
        used.add(result)
        distinct.append(result)
    return tuple(distinct)


def bound_value(name: str, value: Any, value_format: str) -> Any:
    """Return the value that a driver binds for an argument.

    Raises:
        ToolError: a text with the format `byte` is not base64.
    """
    if value_format != "byte":
        return value
    if isinstance(value, list):
        return [bound_value(name, item, value_format) for item in value]
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"`{name}` must be base64: {error}", code=INVALID_ARGUMENT) from error
