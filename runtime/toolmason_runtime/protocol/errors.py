"""The two ways in which a call fails on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

INVALID_ARGUMENT: Final = "INVALID_ARGUMENT"
"""Code of a `ToolError` for arguments that do not fit."""
INTERNAL: Final = "INTERNAL"
"""Code of a failure that is the server's own."""


class ToolError(Exception):
    """The tool could not do what was asked, and a better call, or a later one, could.

    The text says what to send instead. `code` is stable, for programs, and `details` is JSON that helps them: both are
    sent where the tool's category asks for errors as JSON, and else the text is all the model sees.
    Any other exception is a bug: it is logged, and its text never leaves the server.
    """

    def __init__(self, message: str, *, code: str = "TOOL_ERROR", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = dict(details or {})


class MethodError(Exception):
    """The request itself is refused: a JSON-RPC error (JSON-RPC 2.0 section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
