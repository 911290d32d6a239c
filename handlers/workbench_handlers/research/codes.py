"""The codes that the specification has for errors, in place of those that the file tools know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

from toolmason_runtime import ToolCall, ToolError

SPECIFIED: Final = frozenset(
    {
        "INVALID_ARGUMENT",
        "PATH_NOT_ALLOWED",
        "GEMINI_CLI_NOT_FOUND",
        "GEMINI_CLI_ERROR",
        "AUTH_MISSING",
        "QUOTA_EXCEEDED",
        "CACHE_EXPIRED",
        "INVALID_CHUNK_INDEX",
        "INTERNAL",
    }
)
"""Appendix B of the specification of the research proxy."""

STILL_RUNNING: Final = "STILL_RUNNING"
"""Our own: no failure, but an invitation to send the same call again."""

_NEAREST: Final = {
    "NO_ROOTS": "PATH_NOT_ALLOWED",
    "NO_PERMISSION": "PATH_NOT_ALLOWED",
    "NOT_FOUND": "INVALID_ARGUMENT",
    "NOT_A_DIRECTORY": "INVALID_ARGUMENT",
    "NOT_A_FILE": "INVALID_ARGUMENT",
    "TOO_LARGE": "INVALID_ARGUMENT",
}
"""What else is told is nothing that the caller could mend."""

Tool = TypeVar("Tool", bound=Callable[..., Awaitable[Any]])


def specified(tool: Tool) -> Tool:
    """Let a tool fail with the codes of the specification alone; what it was before stands in the details."""

    @wraps(tool)
    async def run(params: Any, call: ToolCall) -> Any:
        try:
            return await tool(params, call)
        except ToolError as error:
            if error.code in SPECIFIED or error.code == STILL_RUNNING:
                raise
            code = _NEAREST.get(error.code, "INTERNAL")
            raise ToolError(error.message, code=code, details={**error.details, "reason": error.code}) from error

    return cast("Tool", run)
