"""Ask a running MCP server for its tools, over stdio or streamable HTTP, and end it.

One that does not end with its input is ended with all that it started; what one leaves running as it ends by itself is
its own affair. What it sends is taken as it stands: the SDK would refuse a whole list for one tool that is malformed.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import IO, Any, Final, Self, TextIO

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, JSONRPCResponse
from pydantic import ValidationError

MAX_PAGES: Final = 1_000
MAX_LIST: Final = 10_000
"""Tools taken of one server."""
MAX_NOISE: Final = 200
"""Lines on stdout that are no messages, after which a program is taken for no MCP server."""
_LAST_WORDS: Final = 20
"""Lines of a server's stderr that are shown when it fails."""
_LINE: Final = 4_096


class ServerError(Exception):
    """The server could not be asked. `last_words` is the end of what it wrote to stderr."""

    def __init__(self, message: str, last_words: str = "") -> None:
        super().__init__(message)
        self.last_words = last_words


def list_tools(address: str | Sequence[str], *, headers: Mapping[str, str], timeout_s: float) -> list[Any]:
    """Give the tools of a server as it sends them. `address` is its URL, or the words of its command line.

    A signal that would end this process first ends the server.

    Raises:
        ServerError: it cannot be started or reached, is no MCP server, or does not answer within `timeout_s`.
    """
    with _silent_sdk():
        if isinstance(address, str):
            url = address
            return _run(lambda: _over_http(url, headers, timeout_s), timeout_s)
        command, *arguments = address
        parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        try:
            return _over_stdio(parameters, "auto", timeout_s)
        except _GoneError:
            # Some servers of earlier revisions end at a method they do not know.
            return _over_stdio(parameters, "legacy", timeout_s)


def _over_stdio(parameters: StdioServerParameters, mode: str, timeout_s: float) -> list[Any]:
    with _Stderr() as stderr:
        try:
            return _run(lambda: _ask(_Tap(stdio_client(parameters, errlog=stderr.stream)), mode), timeout_s)
        except ServerError as error:
            error.last_words = stderr.end()
            raise


async def _over_http(url: str, headers: Mapping[str, str], timeout_s: float) -> list[Any]:
    refusals: list[httpx2.Response] = []

    async def note(response: httpx2.Response) -> None:
        # What an earlier revision answers to the first question is no refusal if it answers the next.
        refusals[:] = [response] if response.status_code >= httpx2.codes.BAD_REQUEST else []

    async with httpx2.AsyncClient(headers=dict(headers), timeout=timeout_s, event_hooks={"response": [note]}) as client:
        try:
            return await _ask(_Tap(streamable_http_client(url, http_client=client)), "auto")
        except Exception as error:
            if refusals and isinstance(_cause(error), MCPError):
                raise ServerError(_refusal(refusals[-1], str(_cause(error)))) from error
            raise


def _refusal(response: httpx2.Response, said: str) -> str:
    hints: dict[int, str] = {
        httpx2.codes.UNAUTHORIZED: '; give it a token: --header "Authorization: Bearer ..."',
        httpx2.codes.FORBIDDEN: '; give it what it asks for with --header "Name: value"',
        httpx2.codes.NOT_FOUND: "; is the path right? Most servers answer at /mcp",
        httpx2.codes.METHOD_NOT_ALLOWED: "; is the path right? Most servers answer at /mcp",
    }
    hint = hints.get(response.status_code, "" if said == _STAND_IN else f": {said}")
    return f"it answered {response.status_code} {response.reason_phrase}".rstrip() + hint


_STAND_IN: Final = "Server returned an error response"
"""What the SDK says for a response that says nothing itself."""


class _GoneError(ServerError):
    """The connection ended before the answer came."""


async def _ask(tap: _Tap, mode: str) -> list[Any]:
    """Shake hands and collect all pages."""
    tools: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    async with Client(tap, mode="legacy" if mode == "legacy" else "auto", cache=None) as client:
        while len(seen) < MAX_PAGES and len(tools) <= MAX_LIST:
            page = await _page(client, tap, cursor)
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return tools
            if cursor in seen:
                raise ServerError(f"it gave the cursor {cursor[:60]!r} twice: its list of tools has no end")
            seen.add(cursor)
    raise ServerError(f"its list of tools goes on beyond {MAX_LIST:,} tools or {MAX_PAGES:,} pages")


async def _page(client: Client, tap: _Tap, cursor: str | None) -> dict[str, Any]:
    tap.result = {}
    # What the SDK does not take is judged here as it came.
    with suppress(ValidationError):
        await client.list_tools(cursor=cursor)
    if not isinstance(tap.result.get("tools"), list):
        raise ServerError("it answered `tools/list` with something else than a list of tools")
    return tap.result


class _Tap:
    """A transport, and what last came through it: the SDK gives results only as it understands them."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.result: dict[str, Any] = {}
        self.noise = 0

    async def __aenter__(self) -> Any:
        read, write = await self._transport.__aenter__()
        return _Ear(read, self), write

    async def __aexit__(self, *error: object) -> bool | None:
        ended: bool | None = await self._transport.__aexit__(*error)
        return ended

    def hear(self, item: Any) -> None:
        if isinstance(item, Exception):
            self.noise += 1
            if self.noise > MAX_NOISE:
                raise ServerError("what it writes to stdout are no MCP messages")
        elif isinstance(item.message, JSONRPCResponse) and "tools" in item.message.result:
            self.result = item.message.result


class _Ear:
    """The read end of a transport, overheard."""

    def __init__(self, inner: Any, tap: _Tap) -> None:
        self._inner = inner
        self._tap = tap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        ended: bool | None = await self._inner.__aexit__(*error)
        return ended

    def __aiter__(self) -> _Ear:
        return self

    async def __anext__(self) -> Any:
        item = await self._inner.__anext__()
        self._tap.hear(item)
        return item


def _run(work: Callable[[], Awaitable[list[Any]]], timeout_s: float) -> list[Any]:
    """Run `work` to its end, whatever ends it; then let a signal that came take its course.

    Raises:
        ServerError: it failed.
    """
    tools: list[Any] = []
    failures: list[Exception] = []
    caught: list[int] = []

    async def guarded() -> None:
        with anyio.CancelScope() as scope:
            async with _signals(caught, scope):
                try:
                    with anyio.fail_after(timeout_s):
                        tools.extend(await work())
                except Exception as error:  # noqa: BLE001 - told in words below, as all ways to fail are
                    failures.append(error)

    anyio.run(guarded)
    if caught:
        signal.raise_signal(caught[0])
    if failures:
        raise _failure(_cause(failures[0]), timeout_s) from failures[0]
    return tools


@asynccontextmanager
async def _signals(caught: list[int], scope: anyio.CancelScope) -> AsyncIterator[None]:
    """Cancel `scope` at the first signal and pass over those after it, so that what must be ended can be."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread() or not heeded:
        yield
        return

    async def watch(signals: AsyncIterator[int]) -> None:
        async for number in signals:
            caught.append(number)
            scope.cancel()

    with anyio.open_signal_receiver(*heeded) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, signals)
            yield
            tasks.cancel_scope.cancel()


def _cause(error: BaseException) -> BaseException:
    """Give what a group of exceptions is about: what we noticed ourselves, else the first of them."""
    leaves = list(_leaves(error))
    return next((each for each in leaves if isinstance(each, ServerError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _failure(error: BaseException, timeout_s: float) -> ServerError:
    """Say in words why a server could not be asked."""
    match error:
        case ServerError():
            return error
        case TimeoutError():
            return ServerError(f"it did not answer within {timeout_s:g} s; --timeout gives it more")
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            more = "" if error.message == "Connection closed" else f": {error.message}"
            return _GoneError(f"it ended, or closed its output, before it had answered{more}")
        case MCPError():
            return ServerError(f"it answered with an error: {error.message} ({error.code})")
        case FileNotFoundError():
            return ServerError("there is no such program")
        case OSError():
            return ServerError(f"it cannot be started: {error.strerror or error}")
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            return ServerError(f"this is no address: {error}")
        case httpx2.TransportError():
            return ServerError(f"it cannot be reached: {str(error) or type(error).__name__}")
        case _:
            return ServerError(f"it cannot be understood: {type(error).__name__}: {' '.join(str(error).split())[:200]}")


class _Stderr:
    """Where a server's stderr goes: its end is kept for the case that it fails, the rest forgotten."""

    stream: TextIO

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        self._lines: deque[bytes] = deque(maxlen=_LAST_WORDS)
        self.stream = os.fdopen(writing, "w", encoding="utf-8")
        # A daemon: what a server left running may hold its stderr open for ever.
        self._reader = threading.Thread(target=self._read, args=(os.fdopen(reading, "rb"),), daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()

    def end(self) -> str:
        """Give the last lines, once the server has ended."""
        self.stream.close()
        self._reader.join(timeout=1)
        return b"".join(self._lines).decode("utf-8", "replace").strip()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while line := stream.readline(_LINE):
                self._lines.append(line)


@contextmanager
def _silent_sdk() -> Iterator[None]:
    """Keep the SDK's own words from the terminal: a failure is told once, in ours."""
    logger = logging.getLogger("mcp")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
