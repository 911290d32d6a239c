"""List the tools of an MCP server over stdio or streamable HTTP with the official SDK's client.

A server that we start is ended with all its processes on success, failure, time-out and signals.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import IO, Any, Final, Literal

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, ListToolsRequest, ListToolsResult, PaginatedRequestParams
from pydantic import ValidationError

MAX_PAGES: Final = 1_000
MAX_TOOLS: Final = 10_000
MAX_INVALID_LINES: Final = 200
"""Lines on stdout that are not MCP messages, after which the audit gives up."""
_STDERR_LINES: Final = 20
_STDERR_BYTES: Final = 80 * 1024
_NO_MESSAGE: Final = "Server returned an error response"
"""The SDK's text for an HTTP error without a message."""
_HINTS: Final = {
    401: '; pass a token: --header "Authorization: Bearer ..."',
    403: '; pass the credentials with --header "Name: value"',
    404: "; check the path: most servers answer at /mcp",
    405: "; check the path: most servers answer at /mcp",
}

_Mode = Literal["auto", "legacy"]


class ServerError(Exception):
    """The server gave no valid tool list. `stderr_tail` is the end of its stderr."""

    def __init__(self, message: str, stderr_tail: str = "") -> None:
        super().__init__(message)
        self.stderr_tail = stderr_tail


class _DisconnectedError(ServerError):
    """The connection ended before a response."""


def list_tools(server: str | Sequence[str], *, headers: Mapping[str, str], timeout_s: float) -> list[Any]:
    """Return the tools of a server. `server` is its URL, or the words of its command line.

    On a signal that ends this process, the server is ended first.

    Raises:
        ServerError: it cannot be started or reached, violates the protocol, or does not answer within `timeout_s`.
    """
    with _silent_sdk():
        if isinstance(server, str):
            url = server
            return _run(lambda: _list_over_http(url, headers, timeout_s), timeout_s)
        command, *arguments = server
        parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        try:
            return _list_over_stdio(parameters, "auto", timeout_s)
        except _DisconnectedError:  # servers of earlier revisions may exit at an unknown method
            return _list_over_stdio(parameters, "legacy", timeout_s)


def _list_over_stdio(parameters: StdioServerParameters, mode: _Mode, timeout_s: float) -> list[Any]:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            return _run(lambda: _list_pages(stdio_client(parameters, errlog=stderr), mode), timeout_s)
        except ServerError as error:
            error.stderr_tail = _tail(stderr)
            raise


def _tail(stderr: IO[str]) -> str:
    stderr.seek(max(0, os.fstat(stderr.fileno()).st_size - _STDERR_BYTES))
    return "\n".join(stderr.read().strip().splitlines()[-_STDERR_LINES:])


async def _list_over_http(url: str, headers: Mapping[str, str], timeout_s: float) -> list[Any]:
    refusal: httpx2.Response | None = None

    async def record(response: httpx2.Response) -> None:
        # The SDK retries with an earlier revision, so only the last response counts.
        nonlocal refusal
        refusal = response if response.status_code >= httpx2.codes.BAD_REQUEST else None

    hooks = {"response": [record]}
    async with httpx2.AsyncClient(headers=dict(headers), timeout=timeout_s, event_hooks=hooks) as client:
        try:
            return await _list_pages(streamable_http_client(url, http_client=client), "auto")
        except Exception as error:
            cause = _cause(error)
            if refusal is None or not isinstance(cause, MCPError):
                raise
            detail = "" if cause.message == _NO_MESSAGE else f": {cause.message}"
            status = f"{refusal.status_code} {refusal.reason_phrase}".rstrip()
            raise ServerError(f"it answered {status}{_HINTS.get(refusal.status_code, detail)}") from error


async def _list_pages(transport: Any, mode: _Mode) -> list[Any]:
    tools: list[Any] = []
    cursors: set[str] = set()
    cursor: str | None = None
    invalid_lines = 0

    async with anyio.create_task_group() as tasks:

        async def count_invalid(message: object) -> None:
            nonlocal invalid_lines
            invalid_lines += isinstance(message, Exception)
            if invalid_lines > MAX_INVALID_LINES:
                tasks.cancel_scope.cancel()

        async with Client(transport, mode=mode, cache=None, message_handler=count_invalid) as client:
            while len(cursors) < MAX_PAGES and len(tools) <= MAX_TOOLS:
                request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
                # Not `client.list_tools`, which drops tools with invalid headers.
                page = await client.session.send_request(request, ListToolsResult)
                tools += [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    return tools
                if cursor in cursors:
                    raise ServerError(f"it returned the cursor {cursor[:60]!r} twice, so pagination never ends")
                cursors.add(cursor)
    if invalid_lines > MAX_INVALID_LINES:
        raise ServerError("its stdout does not contain MCP messages")
    raise ServerError(f"its tool list exceeds {MAX_TOOLS:,} tools or {MAX_PAGES:,} pages")


def _run(work: Callable[[], Awaitable[list[Any]]], timeout_s: float) -> list[Any]:
    """Run `work` with a time-out, then re-raise a signal that interrupted it.

    Raises:
        ServerError: it failed.
    """
    tools: list[Any] = []
    failure: Exception | None = None
    signals: list[int] = []

    async def run() -> None:
        nonlocal failure
        with anyio.CancelScope() as scope:
            async with _cancel_on_signal(scope, signals):
                try:
                    with anyio.fail_after(timeout_s):
                        tools.extend(await work())
                except Exception as error:  # noqa: BLE001 - described by `_describe`
                    failure = error

    anyio.run(run)
    if signals:
        signal.raise_signal(signals[0])
    if failure is not None:
        raise _describe(_cause(failure), timeout_s) from failure
    return tools


@asynccontextmanager
async def _cancel_on_signal(scope: anyio.CancelScope, received: list[int]) -> AsyncIterator[None]:
    """Cancel `scope` at the first signal and ignore later ones, so that the server can be ended."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread() or not handled:
        yield
        return

    async def watch(signals: AsyncIterator[int]) -> None:
        async for number in signals:
            received.append(number)
            scope.cancel()

    with anyio.open_signal_receiver(*handled) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, signals)
            yield
            tasks.cancel_scope.cancel()


def _cause(error: BaseException) -> BaseException:
    """Return our own error in a group of exceptions, else the first error."""
    leaves = list(_leaves(error))
    return next((leaf for leaf in leaves if isinstance(leaf, ServerError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _describe(error: BaseException, timeout_s: float) -> ServerError:
    match error:
        case ServerError():
            return error
        case TimeoutError():
            return ServerError(f"it did not answer within {timeout_s:g} s; increase --timeout")
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            detail = "" if error.message == "Connection closed" else f": {error.message}"
            return _DisconnectedError(f"it exited or closed stdout before responding{detail}")
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


@contextmanager
def _silent_sdk() -> Iterator[None]:
    """Silence the SDK's log: each failure becomes one `ServerError`."""
    logger = logging.getLogger("mcp")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
