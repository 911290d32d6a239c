"""Convert exceptions of the SDK, of HTTP and of the server's start to a `ServerError` with a readable message."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED
from pydantic import ValidationError

from toolmason.audit.server_lists import ServerError


class DisconnectedError(ServerError):
    """The connection ended before a response."""


def cause_of(error: BaseException) -> BaseException:
    """Return the first `ServerError` in a group of exceptions, otherwise the first exception."""
    leaves = list(_leaves(error))
    return next((leaf for leaf in leaves if isinstance(leaf, ServerError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def describe_failure(error: BaseException, timeout_s: float) -> ServerError:
    """Return the error to report for a failure of the SDK, of HTTP or of the start."""
    match error:
        case ServerError():
            return error
        case TimeoutError():
            return ServerError(f"it did not answer within {timeout_s:g} s; increase --timeout")
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            detail = "" if error.message == "Connection closed" else f": {error.message}"
            return DisconnectedError(f"it exited or closed stdout before responding{detail}")
        case MCPError():
            return ServerError(f"it answered with an error: {error.message} ({error.code})")
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return ServerError(f"the SDK rejects its answer: {'.'.join(map(str, first['loc']))}: {first['msg']}")
        case FileNotFoundError():
            return ServerError("program not found")
        case OSError():
            return ServerError(f"it cannot be started: {error.strerror or error}")
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | OverflowError():  # a port beyond 65535
            return ServerError(f"invalid URL: {error}")
        case httpx2.TransportError():
            return ServerError(f"it cannot be reached: {str(error) or type(error).__name__}")
        case _:
            text = " ".join(str(error).split())[:200]
            return ServerError(f"its answer is invalid: {type(error).__name__}: {text}")
