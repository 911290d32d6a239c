"""The two exceptions with a message for the client."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from typing import Any, Final

INVALID_ARGUMENT: Final = "INVALID_ARGUMENT"
"""Code of a `ToolError` for invalid arguments."""
INTERNAL: Final = "INTERNAL"
"""Code of an error inside the server."""
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""Codes of a `MethodError`. Since 2026-07-28 the last one is sent as `INVALID_PARAMS`."""


class ToolError(Exception):
    """A failed call that the model can correct or repeat.

    Any other exception is a bug: it is logged, and its text is never sent.

    Example:
        ```python
        raise ToolError(f"no book has the number {params.book}: call find_books first", code="NOT_FOUND")
        ```

    Args:
        message: the problem and a better call; the model sees nothing else.
        code: stable name of the problem, for programs; sent only if the tool's category has `errors = "json"`.
        details: additional JSON; sent only if the tool's category has `errors = "json"`.
    """

    def __init__(self, message: str, *, code: str = "TOOL_ERROR", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = dict(details or {})


class MethodError(Exception):
    """A JSON-RPC error, for an invalid request (JSON-RPC 2.0 section 5.1). Handlers rarely need it: use `ToolError`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
