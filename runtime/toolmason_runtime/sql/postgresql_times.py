"""Read the times of PostgreSQL, also those that Python has no value for: `infinity`, years before 1, months.

Imported with the first connection, because it imports psycopg.
"""

from __future__ import annotations

import re
from typing import Any, Final

from psycopg import DataError
from psycopg.adapt import Buffer, Loader
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader

_PARTS: Final = re.compile(
    r"(?:(?P<Y>-?\d+) years? ?)?(?:(?P<M>-?\d+) mons? ?)?(?:(?P<D>-?\d+) days? ?)?"
    r"(?:(?P<sign>-?)(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d)(?P<fraction>\.\d+)?)?"
)
"""An interval in the style of PostgreSQL, without the signs `+`: `1 year 2 mons -3 days 04:05:06.5`."""


def interval(text: str) -> str:
    """Return an interval in ISO 8601, in which each part has its sign; one in another style as it is.

    >>> interval("1 year -2 mons +3 days -04:05:06.50")
    'P1Y-2M3DT-4H-5M-6.5S'
    """
    match = _PARTS.fullmatch(text.replace("+", ""))
    if match is None:
        return text
    date = "".join(f"{match[unit]}{unit}" for unit in "YMD" if match[unit])
    numbers = {unit.upper(): (match[unit] or "").lstrip("0") for unit in "hms"}
    if fraction := (match["fraction"] or "").rstrip("0").rstrip("."):
        numbers["S"] = f"{numbers['S'] or '0'}{fraction}"
    time = "".join(f"{match['sign']}{number}{unit}" for unit, number in numbers.items() if number)
    return f"P{date}T{time}" if time else f"P{date or 'T0S'}"


class _IntervalLoader(Loader):
    def load(self, data: Buffer) -> str:
        return interval(bytes(data).decode())


def _tolerant(loader: type[Loader]) -> type[Loader]:
    """Return a loader that returns the text of a value that Python does not have."""

    class Tolerant(loader):  # type: ignore[valid-type,misc]  # the class of the driver
        def load(self, data: Buffer) -> Any:
            try:
                return super().load(data)
            except DataError:
                return bytes(data).decode()

    return Tolerant


_LOADERS: Final = {
    "interval": _IntervalLoader,
    "date": _tolerant(DateLoader),
    "timestamp": _tolerant(TimestampLoader),
    "timestamptz": _tolerant(TimestamptzLoader),
}


def register(raw: Any) -> None:
    """Let a connection of psycopg read times with these loaders."""
    for name, loader in _LOADERS.items():
        raw.adapters.register_loader(name, loader)
