"""The two ways in which a call fails on purpose."""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """The tool could not do what was asked, and a better call, or a later one, could.

    The text is all the model sees, so it says what to send instead. `code` is stable, for programs.
    Any other exception is a bug: it is logged, and its text never leaves the server.
    """

    def __init__(self, message: str, *, code: str = "TOOL_ERROR") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class MethodError(Exception):
    """The request itself is refused: a JSON-RPC error (JSON-RPC 2.0 section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
