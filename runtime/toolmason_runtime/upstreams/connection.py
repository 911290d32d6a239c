"""The connection to one upstream: started at its first call, in its own protocol era, closed with the server.

Invariants of the concurrent code:

1. One task enters and exits the SDK's client, as cancel scopes require. It is independent of every request, and its
   context is empty, so that no cancelled request ends the connection and no call is attributed to another one.
2. `is_over` is set before the upstream is ended: later calls get a new connection.
3. A request of the upstream goes to the call that caused it. A modern upstream and one over HTTP name the call by the
   context of its task; otherwise the last call counts, which is right if all calls come from one client (`is_local`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar
from typing import Any, Final, Protocol, TypeVar

import httpx2
from mcp import Client, MCPError, types
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError
from toolmason_runtime.calls.call import ServerInfo, ToolCall, can_elicit
from toolmason_runtime.programs.argv import expand_variables
from toolmason_runtime.shared.answer_size import text_budget
from toolmason_runtime.shared.budget import MESSAGE
from toolmason_runtime.shared.client_profiles import TOOLMASON
from toolmason_runtime.shared.errors import MethodError, ToolError
from toolmason_runtime.shared.specs.pins import REVIEW_COMMAND, Listing, compare
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.upstreams.confinement import Confinement, home_directory
from toolmason_runtime.upstreams.limits import LimitedTransport
from toolmason_runtime.upstreams.process import UpstreamProcess
from toolmason_runtime.upstreams.questions import QuestionRefusedError, form_question, sampling_request, url_question
from toolmason_runtime.upstreams.traffic import Traffic
from toolmason_runtime.wire.results import compact_json

START_S: Final = 60.0
"""Seconds in which an upstream must answer after its start; `npx` may have to download it first."""
UNAVAILABLE: Final = "UPSTREAM_UNAVAILABLE"
_HTTP_TIMEOUTS_S: Final = (30.0, None, 30.0, 30.0)
"""Seconds to connect, read, write and wait for a connection; each call has its own limit."""
MAX_LISTING_AGE_S: Final = 300.0
"""Seconds after which the tools are listed again before a call: not every upstream reports changes."""
RELIST_S: Final = 1.0
"""Seconds between a reported change and the listing of the tools; all reports in this time cause one listing."""
_RELIST_PAUSE: Final = 20.0
"""Minimum pause before a listing without a call, as a multiple of the time that the last one took."""
_MAX_LOGGED: Final = 100
"""Problems that the log gets of one connection: an upstream may report ever new ones."""
_MAX_PAGES: Final = 50
_MAX_TOOLS: Final = 10_000

Send = Callable[[ToolCall, str], Awaitable[dict[str, Any]]]
"""Sends a question to the client of a call, under a key; returns its result."""


class Caller(Protocol):
    """A running call, to which the requests and messages of the upstream belong."""

    async def ask(self, send: Send, kind: str = "question") -> dict[str, Any]:
        """Ask the client; return its result."""
        ...

    def log(self, level: str, data: Any, logger: str) -> bool:
        """Accept a log message; return False if the call has ended, or has used up its budget."""
        ...

    def note_refusal(self, reason: str) -> None:
        """Log the refusal of a question, and tell it in the result."""
        ...


current: ContextVar[Caller | None] = ContextVar("current", default=None)
"""The call whose task runs."""
_log = logging.getLogger(__name__)
_Result = TypeVar("_Result", bound=types.Result)


class Connection:
    """The connection to an upstream. It declares the capabilities of the client that made the first call."""

    def __init__(self, upstream: Upstream, call: ToolCall, roots: tuple[str, ...] = ()) -> None:
        self.upstream = upstream
        self.calls: list[Caller] = []
        """The calls that use it, in the order of their start."""
        self.is_over = False
        self._is_local = call.is_local
        self._process = UpstreamProcess(upstream, _confinement(upstream, call, roots)) if upstream.command else None
        self._traffic = Traffic(
            upstream.name,
            capabilities=_capabilities(upstream, call),
            find_call=self._call_of,
            note_change=self._note_change,
            end=self.leave,
        )
        self._listing = Listing()
        self._listed_at = -math.inf
        self._listing_s = 0.0
        """Seconds that the last listing took."""
        self._has_changed = asyncio.Event()
        self._logged: set[str] = set()
        """The problems in the log: an upstream may alternate between several lists."""
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._live(self._callbacks(call)), context=Context())

    async def client(self) -> Client:
        """Return the SDK's client once the upstream has answered.

        Raises:
            ToolError: it did not start.
        """
        return await asyncio.shield(self._ready)

    async def closed(self) -> None:
        """Wait until the connection has ended."""
        await asyncio.wait([self._task])

    async def aclose(self) -> None:
        """End the connection and the upstream."""
        self.leave()
        if not self._ready.done():
            self._task.cancel()
        await self.closed()

    def leave(self) -> None:
        """End a connection that cannot be used any more; the next call starts a new one."""
        self.is_over = True
        self._closing.set()

    def why_it_ended(self) -> str:
        """Return the exit code of the program and its last line on stderr, for an error message; empty over HTTP."""
        return self._process.why_it_ended() if self._process else ""

    def is_lost(self, error: BaseException) -> bool:
        """Return whether an error means that the upstream has ended.

        Programs use the SDK's code for a closed connection for errors of their own, so only their end counts. An HTTP
        server that has forgotten the session, as after its restart, answers 404 (streamable HTTP).
        """
        if self._process is not None:
            return self.is_over or self._process.ended.is_set()
        lost = isinstance(error, MCPError) and (
            error.error.code == types.CONNECTION_CLOSED or error.error.message == "Session terminated"
        )
        return self.is_over or lost

    async def has_tool(self, name: str) -> bool:
        """Return whether the upstream lists a tool now."""
        return name in (await self._list(await self.client())).hashes

    async def listing(self) -> Listing:
        """Return the tools that the upstream lists, and their differences from the manifest.

        They are listed again if the upstream reports a change, and after `MAX_LISTING_AGE_S`.

        Raises:
            ToolError: the upstream did not start, or did not list its tools in time.
        """
        client = await self.client()
        if asyncio.get_running_loop().time() - self._listed_at > MAX_LISTING_AGE_S:
            try:
                async with asyncio.timeout(START_S):
                    return await self._list(client)
            except TimeoutError:
                message = f"The MCP server '{self.upstream.name}' did not list its tools within {START_S:g} seconds. "
                raise ToolError(f"{message}Tell the user.", code=UNAVAILABLE) from None
        return self._listing

    async def _list(self, client: Client) -> Listing:
        """List the tools and log their differences from the manifest. The SDK keeps their output schemas."""
        clock = asyncio.get_running_loop().time
        began = self._listed_at = clock()
        try:
            listing = await list_tools(client, self.upstream)
        except BaseException:
            self._listed_at = -math.inf  # no call runs on an old list
            raise
        finally:
            self._listing_s = clock() - began
        if new := [problem for problem in listing.problems if self._log_once(problem)]:
            _log.warning("upstream %s: compare its tools with `%s`", self.upstream.name, REVIEW_COMMAND)
            if (running := self._running_call()) is not None:
                text = "; ".join(new)
                running.log("warning", f"the tools of the MCP server differ from its import: {text}", "upstreams")
        self._listing = listing
        return listing

    def _log_once(self, problem: str) -> bool:
        """Log a problem that is not in the log yet; return whether it was logged."""
        if problem in self._logged or len(self._logged) >= _MAX_LOGGED:
            return False
        self._logged.add(problem)
        _log.warning("upstream %s: %s", self.upstream.name, problem)
        return True

    async def _relist(self, client: Client) -> None:
        """List the tools again after a reported change, even if no call follows. A flood of reports causes one list."""
        while True:
            await self._has_changed.wait()
            await asyncio.sleep(max(RELIST_S, _RELIST_PAUSE * self._listing_s))
            self._has_changed.clear()
            if self._listed_at > -math.inf:  # a call has listed them in the meantime
                continue
            try:
                async with asyncio.timeout(START_S):
                    await self._list(client)
            except Exception as error:  # noqa: BLE001  the next call lists them again, and reports the error
                self._log_once(f"its tools could not be listed: {error_text(error)}")

    @property
    def problems(self) -> tuple[str, ...]:
        """The differences of its tools from the manifest, when they were last listed."""
        return self._listing.problems

    def _note_change(self) -> None:
        """List the tools again soon, and before the next call: the upstream has reported a change."""
        self._listed_at = -math.inf
        self._has_changed.set()

    async def _live(self, callbacks: dict[str, Any]) -> None:
        try:
            async with (
                asyncio.timeout(START_S) as start,
                self._transport() as transport,
                Client(self._traffic.limited(transport), cache=None, log_level="debug", **callbacks) as client,
            ):
                _skip_long_structures(client)
                await self._list(client)
                start.reschedule(None)
                self._ready.set_result(client)
                relisting = asyncio.create_task(self._relist(client))
                try:
                    await self._wait_for_end()
                finally:
                    self.is_over = True
                    relisting.cancel()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  it goes to the waiting calls, or to the log
            self.is_over = True
            if not self._ready.done():
                self._ready.set_exception(self._start_error(error))
                self._ready.exception()  # marks it as retrieved: every waiting call may have been cancelled
            elif not isinstance(error, asyncio.CancelledError):
                _log.debug("upstream %s: error while closing", self.upstream.name, exc_info=error)

    async def _wait_for_end(self) -> None:
        """Wait until the connection is to be closed, or the program has ended."""
        events = [self._closing, *([self._process.ended] if self._process else [])]
        waits = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        """Yield a transport of the SDK; the program is ended afterwards."""
        if self._process is not None:
            yield self._process.streams()
            return
        name = self.upstream.name
        url = expand_variables(self.upstream.url, os.environ, where=f"the url of the upstream {name}")
        headers = {
            header: expand_variables(value, os.environ, where=f"headers.{header} of the upstream {name}")
            for header, value in self.upstream.headers.items()
        }
        transport = LimitedTransport()
        async with httpx2.AsyncClient(headers=headers, timeout=_HTTP_TIMEOUTS_S, transport=transport) as http_client:
            yield streamable_http_client(url, http_client=http_client, max_sse_event_size=MESSAGE.bytes)

    def _start_error(self, error: BaseException) -> ToolError:
        cause = first_error(error)
        if isinstance(cause, ToolError):
            reason = f"could not be started: {cause.message}"
        elif isinstance(cause, TimeoutError):
            reason = f"did not answer within {START_S:g} seconds{self.why_it_ended()}"
        elif isinstance(cause, MCPError) and cause.error.code != types.CONNECTION_CLOSED:
            reason = f"failed: {error_text(cause)}"
        elif self._process is not None and self._process.ended.is_set():
            reason = f"ended during its start{self.why_it_ended()}"
        else:
            reason = f"could not be reached: {error_text(cause)}"
        message = (
            f"The MCP server '{self.upstream.name}', which implements this tool, {reason}. Tell the user, who can "
            f"check [upstreams.{self.upstream.name}] of the manifest; the next call starts it again."
        )
        return ToolError(message, code=UNAVAILABLE)

    def _callbacks(self, call: ToolCall) -> dict[str, Any]:
        """Return the client's callbacks. `Traffic` declares the capabilities, and log messages end there."""
        info = call.find_state(ServerInfo)
        callbacks: dict[str, Any] = {"sampling_callback": self._sample}
        if info is not None:
            # An upstream of this project lists bare names for the first word.
            name = f"{TOOLMASON} ({info.name})"
            callbacks["client_info"] = types.Implementation(name=name, title=info.name, version=info.version)
        declared = _capabilities(self.upstream, call)
        if declared["elicitation"] is not None:
            callbacks["elicitation_callback"] = self._elicit
        if declared["roots"] is not None:
            callbacks["list_roots_callback"] = self._list_roots
        return callbacks

    async def _elicit(
        self, _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        wire = params.model_dump(by_alias=True, mode="json", exclude_none=True)

        def prepare() -> Send:
            if wire.get("mode") == "url":
                message, url = url_question(self.upstream, wire["message"], wire["url"])
                return lambda call, key: call.elicit_url(message, url, key=key, elicitation_id=key)
            form = form_question(self.upstream, wire["message"], wire["requestedSchema"])

            async def send(call: ToolCall, key: str) -> dict[str, Any]:
                return form.original_answer(await call.elicit(form.message, form.schema, key=key))

            return send

        return await self._ask(types.ElicitResult, prepare)

    async def _sample(
        self, _: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        wire = params.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})

        def prepare() -> Send:
            request = sampling_request(self.upstream, wire)
            return lambda call, key: call.sample(request, key=key)

        return await self._ask(types.CreateMessageResult, prepare)

    async def _list_roots(self, _: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        async def send(call: ToolCall, key: str) -> dict[str, Any]:
            roots = await call.client_roots(key=key)
            return {"roots": [{name: root[name] for name in ("uri", "name") if name in root} for root in roots]}

        return await self._ask(types.ListRootsResult, lambda: send, kind="roots")

    async def _ask(
        self, result: type[_Result], prepare: Callable[[], Send], kind: str = "question"
    ) -> _Result | types.ErrorData:
        """Ask the client of the call that caused a request of the upstream; return its result, or an error."""
        running = self._running_call()
        if running is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="No call of this client is running")
        try:
            return result.model_validate(await running.ask(prepare(), kind))
        except QuestionRefusedError as refused:
            running.note_refusal(str(refused))
            return types.ErrorData(code=types.INVALID_REQUEST, message=f"Refused: {refused}")
        except (ToolError, MethodError) as error:
            return types.ErrorData(code=types.INVALID_REQUEST, message=error.message)

    def _call_of(self, sender: Context | None) -> tuple[Caller | None, bool]:
        """Return the call that a message belongs to, by the context of its sender, and whether that is certain."""
        if sender is not None and (running := sender.get(current)) is not None:
            return running, True
        return self._running_call(), False

    def _running_call(self) -> Caller | None:
        """Return the call that caused what the upstream sends; None if several clients could have."""
        if (running := current.get()) is not None:
            return running
        is_certain = self._is_local or len(self.calls) == 1
        return self.calls[-1] if self.calls and is_certain else None


def _capabilities(upstream: Upstream, call: ToolCall) -> dict[str, Any]:
    """Return the capabilities to declare to an upstream; None for those that it may not use.

    The client that started this server decides over stdio. Over HTTP several clients share the connection, so each
    question is checked against the client of its call, and nobody's roots become those of all. Roots are directories of
    this machine, so only programs get them.
    """
    declared, is_shared = call.client_capabilities, not call.is_local
    modes: dict[str, Any] = {
        mode: {}
        for mode in ("form", "url")
        if (is_shared or can_elicit(declared, mode)) and (mode == "form" or mode in upstream.allow)
    }
    has_sampling = "sampling" in upstream.allow and (is_shared or "sampling" in declared)
    has_roots = bool(upstream.command) and not is_shared and "roots" in declared
    return {
        "elicitation": modes or None,
        "sampling": ({"context": {}} if "context" in upstream.allow else {}) if has_sampling else None,
        "roots": {} if has_roots else None,
    }


async def list_tools(client: Client, upstream: Upstream) -> Listing:
    """Return the tools that an upstream lists, and their differences from its pins; a list without end is cut."""
    tools: list[dict[str, Any]] = []
    cursors: set[str] = set()
    cursor = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return compare(upstream, tools)
        if cursor in cursors or len(tools) > _MAX_TOOLS:
            break
        cursors.add(cursor)
    return compare(upstream, tools[:_MAX_TOOLS], is_cut=True)


def _confinement(upstream: Upstream, call: ToolCall, roots: tuple[str, ...]) -> Confinement:
    info = call.find_state(ServerInfo)
    return Confinement(upstream=upstream, home=home_directory(info.name if info else "", upstream.name), roots=roots)


def _skip_long_structures(client: Client) -> None:
    """Let the SDK check only structures that are passed on: checking a list of 100,000 items takes a second."""
    check = client.session.validate_tool_result

    async def check_short(name: str, result: types.CallToolResult) -> None:
        structure = result.structured_content
        if structure is None or len(compact_json(structure)) <= text_budget():
            await check(name, result)

    client.session.validate_tool_result = check_short  # type: ignore[method-assign]


def first_error(error: BaseException) -> BaseException:
    """Return the first exception in nested groups: task groups of the SDK raise them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def error_text(error: BaseException) -> str:
    """Return an exception as one line for an error message."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"its answer is invalid: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    text = error.error.message if isinstance(error, MCPError) else str(error) or type(error).__name__
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:300]
