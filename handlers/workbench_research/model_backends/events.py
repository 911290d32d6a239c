"""Events in the program's output: one JSON object a line, between other lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of a line: a tool's result may be long, and an answer of many megabytes is one line."""
MAX_LINE_VALUES: Final = 500_000
"""Maximum JSON values of a line, as in an answer of an API."""
MAX_INVALID_BYTES: Final = 500
"""Maximum bytes kept of lines that are not events."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The program has started, with this model."""

    model: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next part of the answer. A character beyond the first 65,536 may be split between two parts."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model calls a tool."""

    id: str
    name: str
    parameters: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has returned; `message` is its error."""

    id: str
    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class WarningEvent:
    """A problem that did not stop the program."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The end of the run. `models` are the models that were used, the one with the most tokens first."""

    ok: bool
    error: str = ""
    error_type: str = ""
    tokens: int = 0
    tool_calls: int = 0
    models: tuple[str, ...] = ()


Event = RunStarted | TextDelta | ToolStarted | ToolFinished | WarningEvent | RunFinished

EventParser = Callable[[Mapping[str, Any]], Iterable[Event] | None]
"""Returns the events of one JSON object: an empty list if it is irrelevant, None if it is not an event."""


class EventReader:
    """Parser of a byte stream: the events do not depend on the boundaries between chunks.

    It never raises: lines that are not events are skipped, and their beginning is in `invalid_output`.
    """

    def __init__(self, parse: EventParser | None = None, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._parse = parse or parse_event
        self._longest_line = max_line_bytes
        self._line = bytearray()
        self._size = 0
        self._invalid = bytearray()

    @property
    def invalid_output(self) -> str:
        """The beginning of the lines that are not events."""
        return self._invalid.decode("utf-8", "replace").strip()

    def feed(self, data: bytes) -> list[Event]:
        """Add the next bytes, and return the events that are now complete."""
        events: list[Event] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._append(data[start:end])
            events += self._finish_line()
            start = end + 1
        self._append(data[start:])
        return events

    def finish(self) -> list[Event]:
        """Return the events of the last line, which may lack its line feed."""
        return list(self._finish_line())

    def _append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._longest_line:
            self._line.clear()
        else:
            self._line += data

    def _finish_line(self) -> Iterable[Event]:
        line, size = self._line, self._size
        self._line, self._size = bytearray(), 0
        if size > self._longest_line:
            return [WarningEvent(f"the program wrote a line of {size:,} bytes, which was skipped")]
        if not line or line.isspace():
            return ()
        # Each value but the first has a comma or a bracket before it.
        if sum(map(line.count, (b",", b"[", b"{"))) > MAX_LINE_VALUES:
            return [
                WarningEvent(f"the program wrote a line of more than {MAX_LINE_VALUES:,} values, which was skipped")
            ]
        events = self._parse_line(line)
        if events is None:
            self._invalid += (line + b"\n")[: MAX_INVALID_BYTES - len(self._invalid)]
            return ()
        return events

    def _parse_line(self, line: bytearray) -> Iterable[Event] | None:
        if not line.lstrip().startswith(b"{"):
            return None
        try:
            data = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        return self._parse(data) if isinstance(data, dict) else None


def parse_event(data: Mapping[str, Any]) -> Iterable[Event] | None:
    """Return the events of one object of Gemini CLI's `stream-json`."""
    match data.get("type"):
        case "init":
            return [RunStarted(_get_text(data, "model"))]
        case "message":
            # The other role is `user`: the prompt itself.
            text = _get_text(data, "content") if data.get("role") == "assistant" else ""
            return [TextDelta(text)] if text else []
        case "tool_use":
            return [
                ToolStarted(_get_text(data, "tool_id"), _get_text(data, "tool_name"), _get_object(data, "parameters"))
            ]
        case "tool_result":
            message = _get_text(_get_object(data, "error"), "message")
            return [ToolFinished(_get_text(data, "tool_id"), data.get("status") == "success", message)]
        case "error":
            return [WarningEvent(_get_text(data, "message") or "the program reported an error without a message")]
        case "result":
            return [_run_finished(data)]
        case str():
            return []
    return None


def _run_finished(data: Mapping[str, Any]) -> RunFinished:
    error, stats = _get_object(data, "error"), _get_object(data, "stats")
    models = _get_object(stats, "models")
    ranked = sorted(models, key=lambda name: -_get_count(_get_object(models, name), "total_tokens"))
    return RunFinished(
        ok=data.get("status") == "success",
        error=_get_text(error, "message"),
        error_type=_get_text(error, "type"),
        tokens=_get_count(stats, "total_tokens"),
        tool_calls=_get_count(stats, "tool_calls"),
        models=tuple(map(str, ranked)),
    )


def _get_text(data: Mapping[str, Any], name: str) -> str:
    """Return a text field; empty for any other type."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _get_object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object field; an empty object for any other type."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _get_count(data: Mapping[str, Any], name: str) -> int:
    """Return a positive integer field; 0 for any other value."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
