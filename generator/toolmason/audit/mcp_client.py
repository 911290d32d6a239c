"""Ask an MCP server for its tools, prompts and resources over stdio or streamable HTTP with the official SDK's client.

A server that we start is ended on success, failure, time-out and signals.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import anyio
import httpx2
from click import unstyle
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    INVALID_REQUEST,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    ErrorData,
    Implementation,
    ListRootsResult,
)
from toolmason_runtime.shared.budget import MESSAGE
from toolmason_runtime.shared.client_profiles import TOOLMASON
from toolmason_runtime.toolkit import Confinement, LimitedTransport, sandbox_advice

from toolmason.audit.server_failures import DisconnectedError, cause_of, describe_failure
from toolmason.audit.server_lists import ServerDescription, ServerError, describe, list_all_tools
from toolmason.audit.server_process import AuditedProcess
from toolmason.audit.start_advice import start_advice

MAX_INVALID_LINES: Final = 200
"""Lines on stdout that are not MCP messages, after which the audit gives up."""
_STDERR_LINES: Final = 20
_NO_MESSAGE: Final = "Server returned an error response"
"""The SDK's text for an HTTP error without a message."""
_HINTS: Final = {
    401: "; pass a token: --header 'Authorization: Bearer $TOKEN'",
    403: "; pass the credentials with --header 'Name: $VARIABLE'",
    404: "; check the path: most servers answer at /mcp",
    405: "; check the path: most servers answer at /mcp",
}

_Mode = Literal["auto", "legacy"]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The environment, the working directory and the sandbox of a server that is started.

    Default: those of this process, and no sandbox.
    """

    environ: Mapping[str, str] | None = None
    cwd: str | None = None
    confinement: Confinement | None = None


def list_tools(server: str | Sequence[str], *, headers: Mapping[str, str], timeout_s: float) -> list[Any]:
    """Return the tools of a server. `server` is its URL, or the words of its command line.

    On a signal that ends this process, the server is ended first.

    Raises:
        ServerError: it cannot be started or reached, violates the protocol, or does not answer within `timeout_s`.
    """
    return _ask(server, list_all_tools, headers=headers, timeout_s=timeout_s)


def describe_server(
    server: str | Sequence[str], *, headers: Mapping[str, str], timeout_s: float, launch: Launch | None = None
) -> ServerDescription:
    """Return the description of a server. This client supports elicitation, roots and sampling, like a generated one.

    Raises:
        ServerError: as `list_tools`.
    """
    # Some servers list tools only for clients with these capabilities. No tool is called, so nothing is asked.
    passed: dict[str, Any] = {
        "elicitation_callback": _decline,
        "list_roots_callback": _no_roots,
        "sampling_callback": _no_sampling,
    }
    return _ask(server, describe, headers=headers, timeout_s=timeout_s, launch=launch, **passed)


def call_tool(
    server: str | Sequence[str],
    arguments_for: Callable[[Sequence[Mapping[str, Any]]], tuple[str, Sequence[Mapping[str, Any]]]],
    *,
    headers: Mapping[str, str],
    timeout_s: float,
) -> tuple[list[Any], list[Any]]:
    """List the tools of a server, call one of them several times, and return the list and the results, as on the wire.

    Args:
        server: its URL, or the words of its command line.
        arguments_for: returns the name of the tool and the arguments of each call; gets the tools.
        headers: headers for a URL.
        timeout_s: seconds for the start with the list, and for each call.

    Raises:
        ServerError: as `list_tools`.
    """
    limits: list[anyio.CancelScope] = []

    async def ask(client: Client) -> tuple[list[Any], list[Any]]:
        tools = await list_all_tools(client)
        name, calls = arguments_for(tools)
        results = []
        for arguments in calls:
            limits[-1].deadline = anyio.current_time() + timeout_s
            request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments)))
            result = await client.session.send_request(request, CallToolResult)
            results.append(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        return tools, results

    return _ask(server, ask, headers=headers, timeout_s=timeout_s, limits=limits)


async def _decline(*_: Any) -> ElicitResult:
    return ElicitResult(action="decline")


async def _no_sampling(*_: Any) -> ErrorData:
    return ErrorData(code=INVALID_REQUEST, message="No call is running")


async def _no_roots(*_: Any) -> ListRootsResult:
    return ListRootsResult(roots=[])


def _ask(
    server: str | Sequence[str],
    question: Callable[[Client], Awaitable[Answer]],
    *,
    headers: Mapping[str, str],
    timeout_s: float,
    launch: Launch | None = None,
    limits: list[anyio.CancelScope] | None = None,
    **callbacks: Any,
) -> Answer:
    """Return the answer to `question`. The scope of its time-out is appended to `limits`."""
    limits = [] if limits is None else limits
    with _silent_sdk():
        if isinstance(server, str):
            url = server
            return _run(lambda: _ask_over_http(url, question, headers, timeout_s, callbacks), timeout_s, limits)
        command, launch = tuple(server), launch or Launch()
        environ = dict(os.environ if launch.environ is None else launch.environ)

        def ask(mode: _Mode) -> Answer:
            stderr = bytearray()

            async def converse() -> Answer:
                process = AuditedProcess(command, environ, launch.cwd or "", stderr, launch.confinement)
                return await _converse(process.streams(), question, mode, callbacks)

            try:
                return _run(converse, timeout_s, limits)
            except ServerError as error:
                plain = unstyle(stderr.decode("utf-8", "replace"))
                error.stderr_tail = "\n".join(plain.strip().splitlines()[-_STDERR_LINES:])
                if launch.confinement is not None:
                    error.advice = sandbox_advice(launch.confinement.upstream, error.stderr_tail)
                is_confined = launch.confinement is not None
                error.advice = error.advice or start_advice(error.stderr_tail, is_confined=is_confined)
                raise

        try:
            return ask("auto")
        except DisconnectedError:  # servers of earlier revisions may exit at an unknown method
            return ask("legacy")


async def _ask_over_http(
    url: str,
    question: Callable[[Client], Awaitable[Answer]],
    headers: Mapping[str, str],
    timeout_s: float,
    callbacks: Mapping[str, Any],
) -> Answer:
    refusal: httpx2.Response | None = None

    async def record(response: httpx2.Response) -> None:
        # The SDK retries with an earlier revision, so only the last response counts.
        nonlocal refusal
        refusal = response if response.status_code >= httpx2.codes.BAD_REQUEST else None

    hooks = {"response": [record]}
    async with httpx2.AsyncClient(
        headers=dict(headers), timeout=timeout_s, event_hooks=hooks, transport=LimitedTransport()
    ) as client:
        try:
            transport = streamable_http_client(url, http_client=client, max_sse_event_size=MESSAGE.bytes)
            return await _converse(transport, question, "auto", callbacks)
        except Exception as error:
            cause = cause_of(error)
            if refusal is None or not isinstance(cause, MCPError):
                raise
            detail = "" if cause.message == _NO_MESSAGE else f": {cause.message}"
            status = f"{refusal.status_code} {refusal.reason_phrase}".rstrip()
            raise ServerError(f"it answered {status}{_HINTS.get(refusal.status_code, detail)}") from error


async def _converse(
    transport: Any, question: Callable[[Client], Awaitable[Answer]], mode: _Mode, callbacks: Mapping[str, Any]
) -> Answer:
    """Connect and return the answer to `question`; give up on a server that prints other text."""
    invalid_lines = 0

    async with anyio.create_task_group() as tasks:

        async def count_invalid(message: object) -> None:
            nonlocal invalid_lines
            invalid_lines += isinstance(message, Exception)
            if invalid_lines > MAX_INVALID_LINES:
                tasks.cancel_scope.cancel()

        about = Implementation(name=TOOLMASON, version="1")
        async with Client(
            transport, mode=mode, cache=None, client_info=about, message_handler=count_invalid, **callbacks
        ) as client:
            return await question(client)
    raise ServerError("its stdout does not contain MCP messages")


def _run(work: Callable[[], Awaitable[Answer]], timeout_s: float, limits: list[anyio.CancelScope]) -> Answer:
    """Run `work` with a time-out, whose scope is appended to `limits`, then re-raise a signal that interrupted it.

    Raises:
        ServerError: it failed.
    """
    answers: list[Answer] = []
    failure: Exception | None = None
    signals: list[int] = []

    async def run() -> None:
        nonlocal failure
        with anyio.CancelScope() as scope:
            async with _cancel_on_signal(scope, signals):
                try:
                    with anyio.fail_after(timeout_s) as limit:
                        limits.append(limit)
                        answers.append(await work())
                except Exception as error:  # noqa: BLE001 - described by `describe_failure`
                    failure = error

    anyio.run(run)
    if signals:
        signal.raise_signal(signals[0])
    if failure is not None:
        raise describe_failure(cause_of(failure), timeout_s) from failure
    if not answers:  # interrupted by a signal that does not end this process
        raise ServerError("the request was interrupted")
    return answers[0]


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
