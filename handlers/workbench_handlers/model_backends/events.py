"""Reads what the program writes as it comes: lines of JSON, one event each, amid whatever else it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_LINE_LENGTH: Final = 16 * 1024 * 1024
"""Bytes of a line that are kept: what a tool returned may be long, and an answer of many megabytes is one line."""
QUOTED: Final = 500
"""Bytes that are kept of what was no event."""


@dataclass(frozen=True, slots=True)
class Started:
    """The program has begun, and says which model it asks."""

    model: str


@dataclass(frozen=True, slots=True)
class Said:
    """The next piece of the answer. A character beyond the first 65,536 may be split between two pieces."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """The model calls a tool."""

    id: str
    name: str
    parameters: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has returned; `message` says why it did not do what was asked."""

    id: str
    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong, and the program goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more will be said. `models` are those that were asked, the one that took most tokens first."""

    ok: bool
    error: str = ""
    error_type: str = ""
    tokens: int = 0
    tool_calls: int = 0
    models: tuple[str, ...] = ()


Event = Started | Said | ToolUsed | ToolEnded | Warned | Ended

Interpreter = Callable[[Mapping[str, Any]], Iterable[Event] | None]
"""Gives what one object means: nothing if it is of no interest, and None if it is no event at all."""


class EventReader:
    """Bytes in, events out; the same ones wherever the bytes are cut.

    It never fails: a line that is no event is skipped, and the first of them can be read in `garbage`.
    """

    def __init__(self, interpret: Interpreter | None = None, *, longest_line: int = MAX_LINE_LENGTH) -> None:
        self._interpret = interpret or interpreted
        self._longest_line = longest_line
        self._line = bytearray()
        self._size = 0
        self._garbage = bytearray()

    @property
    def garbage(self) -> str:
        """The beginning of what was no event."""
        return self._garbage.decode("utf-8", "replace").strip()

    def feed(self, data: bytes) -> list[Event]:
        """Take what came next, and give the events that are complete now."""
        events: list[Event] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            events += self._ended_line()
            start = end + 1
        self._keep(data[start:])
        return events

    def finish(self) -> list[Event]:
        """Take note that nothing more comes: what is left may be a whole line."""
        return list(self._ended_line())

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._longest_line:
            self._line.clear()
        else:
            self._line += data

    def _ended_line(self) -> Iterable[Event]:
        line, size = self._line, self._size
        self._line, self._size = bytearray(), 0
        if size > self._longest_line:
            return [Warned(f"the program wrote a line of {size:,} bytes, which was left out")]
        if not line or line.isspace():
            return ()
        events = self._understood(line)
        if events is None:
            self._garbage += (line + b"\n")[: QUOTED - len(self._garbage)]
            return ()
        return events

    def _understood(self, line: bytearray) -> Iterable[Event] | None:
        if not line.lstrip().startswith(b"{"):
            return None
        try:
            data = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        return self._interpret(data) if isinstance(data, dict) else None


def interpreted(data: Mapping[str, Any]) -> Iterable[Event] | None:
    """Give what one object of the Gemini CLI's `stream-json` means."""
    match data.get("type"):
        case "init":
            return [Started(text_of(data, "model"))]
        case "message":
            # The other role is the user's: the prompt, said back.
            said = text_of(data, "content") if data.get("role") == "assistant" else ""
            return [Said(said)] if said else []
        case "tool_use":
            return [ToolUsed(text_of(data, "tool_id"), text_of(data, "tool_name"), part_of(data, "parameters"))]
        case "tool_result":
            message = text_of(part_of(data, "error"), "message")
            return [ToolEnded(text_of(data, "tool_id"), data.get("status") == "success", message)]
        case "error":
            return [Warned(text_of(data, "message") or "the program reported an error without words")]
        case "result":
            return [_ended(data)]
        case str():
            return []
    return None


def _ended(data: Mapping[str, Any]) -> Ended:
    error, stats = part_of(data, "error"), part_of(data, "stats")
    models = part_of(stats, "models")
    ranked = sorted(models, key=lambda name: -count_of(part_of(models, name), "total_tokens"))
    return Ended(
        ok=data.get("status") == "success",
        error=text_of(error, "message"),
        error_type=text_of(error, "type"),
        tokens=count_of(stats, "total_tokens"),
        tool_calls=count_of(stats, "tool_calls"),
        models=tuple(map(str, ranked)),
    )


def text_of(data: Mapping[str, Any], name: str) -> str:
    """Give a field that should be text; anything else is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def part_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Give a field that should be an object; anything else is an empty one."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def count_of(data: Mapping[str, Any], name: str) -> int:
    """Give a field that should be a number of things; anything else is 0."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
