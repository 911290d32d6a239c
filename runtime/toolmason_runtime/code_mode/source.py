"""Places in the text of a program: a line, its column, and a caret below it."""

from __future__ import annotations

from typing import Final

from toolmason_runtime.shared.visible_text import escape_invisible

MAX_LINE_CHARS: Final = 160
"""Characters of a line that are shown."""


class Source:
    """The text of a program."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.lines = code.split("\n")
        self.data = code.encode("utf-8", "surrogatepass")
        """The text in UTF-8."""

    def place(self, start: int) -> tuple[int, int]:
        """Return line and column, both from 1, of an offset in UTF-8 bytes."""
        before = self.data[: max(0, start)].decode("utf-8", "replace")
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

    def text(self, start: int, end: int) -> str:
        """Return the text between two offsets in UTF-8 bytes."""
        return self.data[max(0, start) : max(0, end)].decode("utf-8", "replace")

    def column_of(self, line: int, offset: int) -> int:
        """Return the column, from 1, of an offset in UTF-8 bytes within a line."""
        return len(self._line(line).encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace")) + 1

    def shown(self, line: int, column: int, length: int, message: str) -> str:
        """Return a message with its place, the line, and carets below it."""
        text = self._line(line)
        start = max(0, column - 1 - MAX_LINE_CHARS // 2) if column > MAX_LINE_CHARS else 0
        visible = escape_invisible(text[start : start + MAX_LINE_CHARS].replace("\t", " "), keep="")
        before = len(escape_invisible(text[start : max(start, column - 1)].replace("\t", " "), keep=""))
        carets = "^" * max(1, min(length, len(visible) - before))
        return f"program:{line}:{column}: {message}\n    {visible}\n    {' ' * before}{carets}"

    def _line(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""
