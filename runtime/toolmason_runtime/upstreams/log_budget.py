"""The budget of log messages of an upstream in one call."""

from __future__ import annotations

from typing import Any, Final, cast, get_args

from toolmason_runtime.calls.call import Level
from toolmason_runtime.upstreams.foreign_text import label, visible_json, visible_text
from toolmason_runtime.wire.results import compact_json

MAX_LOG_MESSAGES: Final = 50
"""Log messages that one call passes on."""
MAX_LOG_CHARS: Final = 32_000
"""Characters of the log messages that one call passes on."""
MAX_MESSAGE_CHARS: Final = 2_000
"""Characters of one log message; the rest is left out."""
_MAX_LOGGER_LENGTH: Final = 60
_LEVELS: Final = get_args(Level)

LogMessage = tuple[Level, Any, str]
"""The arguments of `ToolCall.log`."""


class LogBudget:
    """The log messages of one call: the first pass, the others are counted."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._count = 0
        self._chars = 0
        self._dropped = 0

    def accepted(self, level: str, data: Any, logger: str) -> LogMessage | None:
        """Return the message to pass on, with visible text and the name of the upstream; None if it is dropped."""
        if level not in _LEVELS:
            return None
        if self._dropped or self._count >= MAX_LOG_MESSAGES:
            self._dropped += 1
            return None
        shown = _shown(data)
        self._count += 1
        self._chars += len(shown) if isinstance(shown, str) else len(compact_json(shown))
        if self._chars > MAX_LOG_CHARS:
            self._dropped += 1
            return None
        name = f"{self._upstream}/{label(logger, _MAX_LOGGER_LENGTH)}" if logger else self._upstream
        return cast("Level", level), shown, name

    def dropped_note(self) -> LogMessage | None:
        """Return a message with the number of dropped ones, once; None without any."""
        count, self._dropped = self._dropped, 0
        text = f"{count:,} further log messages of this call were dropped"
        return ("warning", text, self._upstream) if count else None


def _shown(data: Any) -> Any:
    """Return the data of a message with visible texts; large data becomes a text."""
    if isinstance(data, str):
        missing = len(data) - MAX_MESSAGE_CHARS
        text = visible_text(data[:MAX_MESSAGE_CHARS], keep="\n\t")
        return f"{text}[... {missing:,} characters more]" if missing > 0 else text
    if _is_small(data):
        return visible_json(data)
    return f"[data of more than {MAX_MESSAGE_CHARS:,} characters were left out]"


def _is_small(data: Any) -> bool:
    """Return whether data have at most `MAX_MESSAGE_CHARS` characters, without reading more than those."""
    left, waiting = MAX_MESSAGE_CHARS, [data]
    while waiting and left >= 0:
        value = waiting.pop()
        left -= len(value) if isinstance(value, str | list | dict) else 8
        if isinstance(value, dict) and left >= 0:
            waiting += [*value, *value.values()]
        elif isinstance(value, list) and left >= 0:
            waiting += value
    return left >= 0
