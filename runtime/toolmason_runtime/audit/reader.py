"""Read an audit log with its rotated files, oldest line first, and select lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.audit.log_file import numbered

MAX_LINE_BYTES: Final = 65_536
IDS: Final = ("call", "review", "session", "subject", "args_digest", "instance", "request")
"""The fields that `--id` searches: they join lines."""
_DURATION: Final = re.compile(r"(\d{1,6})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class Line:
    """One event."""

    file: Path
    number: int
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line that is no event."""

    file: Path
    number: int
    reason: str


def log_files(path: Path) -> list[Path]:
    """Return the files of a log, oldest first: `audit.jsonl.2`, `audit.jsonl.1`, `audit.jsonl`."""
    numbers = [
        int(suffix)
        for file in path.parent.glob(f"{_literal(path.name)}.*")
        if (suffix := file.name[len(path.name) + 1 :]).isascii() and suffix.isdecimal() and len(suffix) < 6
    ]
    old = [numbered(path, number) for number in sorted(numbers, reverse=True)]
    return [*old, path] if path.exists() or not old else old


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def read_lines(files: list[Path]) -> Iterator[Line | DamagedLine]:
    """Yield every line of `files`. An empty line is skipped.

    Raises:
        OSError: a file cannot be read.
    """
    for file in files:
        with file.open("rb") as stream:
            number = 0
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    while raw and not raw.endswith(b"\n"):
                        raw = stream.readline(MAX_LINE_BYTES)
                    yield DamagedLine(file, number, f"longer than {MAX_LINE_BYTES} bytes")
                elif raw.strip():
                    yield _parsed(file, number, raw)


def _parsed(file: Path, number: int, raw: bytes) -> Line | DamagedLine:
    if not raw.endswith(b"\n"):
        return DamagedLine(file, number, "truncated")
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return DamagedLine(file, number, "not JSON")
    if not isinstance(fields, dict) or not all(isinstance(fields.get(key), str) for key in ("time", "event")):
        return DamagedLine(file, number, "`time` or `event` is missing or invalid")
    return Line(file, number, fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The lines to select: each condition that is set must hold. Texts are compared with whole values."""

    equal: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By field, the values of which it must have one."""
    identity: str = ""
    """Value of one of the fields in `IDS`, or its beginning of at least 6 characters."""
    since: str = ""
    """Earliest time, in the form of the log."""
    until: str = ""
    """Time from which on lines are left out."""

    def matches(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a line is selected."""
        at = fields["time"]
        if (self.since and at < self.since) or (self.until and at >= self.until):
            return False
        if self.identity and not any(_is_id(fields.get(name), self.identity) for name in IDS):
            return False
        return all(self._has(fields, name, values) for name, values in self.equal.items())

    def _has(self, fields: Mapping[str, Any], name: str, values: frozenset[str]) -> bool:
        own = [fields.get(name)]
        if name == "tool":
            own += [fields.get("alias"), fields.get("via")]
        return any(text_of(value) in values for value in own if value is not None)


MIN_PREFIX: Final = 6


def _is_id(value: object, identity: str) -> bool:
    text = text_of(value)
    return text == identity or (len(identity) >= MIN_PREFIX and text.startswith(identity))


def text_of(value: object) -> str:
    """Return a value as a filter and a table show it: texts as they are, others as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def parse_time(text: str, now: datetime | None = None) -> str:
    """Return a time in the form of the log, from a duration before now or a date.

    `90m`, `24h` and `7d` are durations; `2026-11-01` and `2026-11-01T09:30` are UTC, unless an offset is given.

    Raises:
        ValueError: it is neither.
    """
    if match := _DURATION.fullmatch(text):
        at = (now or datetime.now(UTC)) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    else:
        at = datetime.fromisoformat(text)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return f"{at.isoformat(timespec='milliseconds')[:-6]}Z"


class Sequences:
    """Finds lines that are missing between two lines of the same process: removed, or lost."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._lost: dict[str, int] = {}
        self.missing: dict[str, int] = {}
        """Number of missing lines by instance; those that a `gap` line reports are not among them."""

    def add(self, fields: Mapping[str, Any]) -> None:
        """Add the next line of the log."""
        instance, number = text_of(fields.get("instance")), fields.get("seq")
        if fields["event"] == "gap" and isinstance(lost := fields.get("lost"), int):
            self._lost[instance] = self._lost.get(instance, 0) + lost
        if not isinstance(number, int) or isinstance(number, bool):
            return
        last = self._last.get(instance)
        if last is not None and number > last + 1:
            missing = number - last - 1 - self._lost.pop(instance, 0)
            if missing > 0:
                self.missing[instance] = self.missing.get(instance, 0) + missing
        self._last[instance] = max(number, last or 0)
