"""Replacement of the file tools' error codes by those of the research specification."""

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
"""An additional code: not a failure, but a request to repeat the call."""

_NEAREST_CODES: Final = {
    "NO_ROOTS": "PATH_NOT_ALLOWED",
    "NO_PERMISSION": "PATH_NOT_ALLOWED",
    "NOT_FOUND": "INVALID_ARGUMENT",
    "NOT_A_DIRECTORY": "INVALID_ARGUMENT",
    "NOT_A_FILE": "INVALID_ARGUMENT",
    "TOO_LARGE": "INVALID_ARGUMENT",
}
"""Codes of errors that the caller can correct; all others become INTERNAL."""

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


def with_specified_codes(handler: Handler) -> Handler:
    """Restrict a handler's error codes to the specification; the original code becomes `details.reason`."""

    @wraps(handler)
    async def run(params: Any, call: ToolCall) -> Any:
        try:
            return await handler(params, call)
        except ToolError as error:
            if error.code in SPECIFIED or error.code == STILL_RUNNING:
                raise
            code = _NEAREST_CODES.get(error.code, "INTERNAL")
            raise ToolError(error.message, code=code, details={**error.details, "reason": error.code}) from error

    return cast("Handler", run)
