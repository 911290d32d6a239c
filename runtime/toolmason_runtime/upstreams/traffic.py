"""The messages of one connection to an upstream, on their way to and from the SDK: budgets and declared capabilities.

The SDK starts a task for each notification and each request that it receives. So those that nobody needs end here, in
the order of their arrival, and a flood is read slowly: the upstream waits, not our other clients.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from types import TracebackType
from typing import Any, Final, Protocol, Self

from mcp import types
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

MAX_BURST: Final = 2_000
"""Messages that are read without delay."""
MAX_MESSAGES_PER_S: Final = 5_000.0
"""Messages a second that are read after that."""
MAX_REQUESTS: Final = 100
"""Requests of the upstream that are read without delay, and requests a second after that."""
MAX_UNANSWERED: Final = 200
"""Requests of the upstream that wait for their answer. With more, the connection ends: it does not read the answers."""
MAX_PROGRESS: Final = 50
"""Progress notifications of a call without delay between them."""
PROGRESS_PER_S: Final = 5.0
"""Progress notifications of a call a second after that."""
MIN_PAUSE_S: Final = 0.02
"""Shortest pause between messages of a flood: shorter ones take longer than they should."""
QUIET_S: Final = 1.0
"""Seconds without a log message after which those of a new call belong to it, if messages came outside of a call."""

_log = logging.getLogger(__name__)


class LogReceiver(Protocol):
    """A call, as the receiver of log messages."""

    def log(self, level: str, data: Any, logger: str) -> bool:
        """Accept a log message; return False if the call has ended, or has used up its budget."""
        ...


Transport = AbstractAsyncContextManager[TransportStreams]


class Allowance:
    """A number of messages at once, and of messages a second after that."""

    def __init__(self, burst: float, per_s: float) -> None:
        self._burst, self._per_s = burst, per_s
        self._left = burst
        self._at = 0.0

    def take(self, now: float) -> float:
        """Count a message and return the seconds by which it exceeds the allowance."""
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s) - 1
        self._at = now
        return max(0.0, -self._left / self._per_s)

    def try_take(self, now: float) -> bool:
        """Count a message if it does not exceed the allowance; return whether it does not."""
        if self.take(now) == 0.0:
            return True
        self._left += 1
        return False


FindCall = Callable[[Context | None], tuple[LogReceiver | None, bool]]
"""Returns the call to which a message belongs, by the context of its sender, and whether that is certain."""


class Traffic:
    """The state of one connection.

    Args:
        name: name of the upstream, for our log.
        capabilities: capabilities to declare to the upstream; None removes the SDK's.
        find_call: see `FindCall`.
        note_change: is called when the upstream reports another list of tools.
        end: ends the connection.
    """

    def __init__(
        self,
        name: str,
        *,
        capabilities: Mapping[str, Any],
        find_call: FindCall,
        note_change: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        self._name = name
        self._capabilities = capabilities
        self._find_call = find_call
        self._note_change = note_change
        self._end = end
        self._progress: dict[str, Allowance] = {}
        """The allowances of our requests that wait for their answer, by the id of the request."""
        self._unanswered: Counter[str] = Counter()
        """The requests of the upstream that wait for our answer. An upstream may use an id again."""
        self._messages = Allowance(MAX_BURST, MAX_MESSAGES_PER_S)
        self._requests = Allowance(MAX_REQUESTS, MAX_REQUESTS)
        self._noise_at = -QUIET_S

    @asynccontextmanager
    async def limited(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        """Yield the streams of a transport with the limits of this module."""
        async with transport as (received, to_send):
            yield _Received(received, self), _ToSend(to_send, self)

    async def admits(self, item: SessionMessage | Exception, sender: Context | None) -> bool:
        """Return whether the SDK gets a received message. In a flood, that takes some time."""
        now = asyncio.get_running_loop().time()
        if (delay := self._messages.take(now)) > MIN_PAUSE_S:
            await asyncio.sleep(delay)
        message = None if isinstance(item, Exception) else item.message
        match message:
            case JSONRPCResponse() | JSONRPCError():
                return message.id is None or self._progress.pop(str(message.id), None) is not None
            case JSONRPCRequest():
                return await self._admits_request(message)
            case JSONRPCNotification():
                return await self._admits_notification(message, sender)
        return True

    async def _admits_request(self, request: JSONRPCRequest) -> bool:
        await self._pause()
        self._unanswered[str(request.id)] += 1
        if self._unanswered.total() <= MAX_UNANSWERED:
            return True
        _log.warning("upstream %s: ended, since %d of its requests wait for an answer", self._name, MAX_UNANSWERED)
        self._end()
        return False

    async def _pause(self) -> None:
        """Count a request; wait if there are too many."""
        if delay := self._requests.take(asyncio.get_running_loop().time()):
            await asyncio.sleep(delay)

    async def _admits_notification(self, notification: JSONRPCNotification, sender: Context | None) -> bool:
        """Return whether the SDK needs a notification. Log messages and changes of the list of tools end here."""
        params = notification.params or {}
        match notification.method:
            case "notifications/message":
                self._log_message(params, sender)
            case "notifications/progress":
                allowance = self._progress.get(str(params.get("progressToken")))
                return allowance is not None and allowance.try_take(asyncio.get_running_loop().time())
            case "notifications/tools/list_changed":
                self._note_change()
            case "notifications/cancelled":
                await self._pause()
                return self._is_settled(str(params.get("requestId")))
        return False

    def _log_message(self, params: Mapping[str, Any], sender: Context | None) -> None:
        """Pass on a log message to the call that it belongs to.

        Over stdio, MCP does not say which call a message belongs to. After a message outside of a call, or beyond the
        budget of one, later ones may still belong to an earlier call, until the upstream has been quiet for a while.
        """
        now = asyncio.get_running_loop().time()
        call, is_certain = self._find_call(sender)
        is_late = not is_certain and now - self._noise_at < QUIET_S
        level, logger = params.get("level"), params.get("logger")
        is_valid = isinstance(level, str) and (logger is None or isinstance(logger, str)) and "data" in params
        if call is None or is_late or (is_valid and not call.log(str(level), params["data"], logger or "")):
            self._noise_at = now

    def note_sent(self, message: types.JSONRPCMessage) -> types.JSONRPCMessage:
        """Return a message to send, with the declared capabilities; remember what its answer needs."""
        match message:
            case JSONRPCResponse() | JSONRPCError():
                self._is_settled(str(message.id))
            case JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._progress.pop(str(params.get("requestId")), None)
            case JSONRPCRequest():
                self._progress[str(message.id)] = Allowance(MAX_PROGRESS, PROGRESS_PER_S)
                return self._with_capabilities(message)
        return message

    def _is_settled(self, request_id: str) -> bool:
        """Forget a request of the upstream; return whether it waited for an answer."""
        is_open = self._unanswered[request_id] > 0
        self._unanswered[request_id] -= is_open
        if not self._unanswered[request_id]:
            del self._unanswered[request_id]
        return is_open

    def _with_capabilities(self, request: JSONRPCRequest) -> JSONRPCRequest:
        params = request.params or {}
        if request.method == "initialize":
            params = {**params, "capabilities": self._declared(params["capabilities"])}
        elif types.CLIENT_CAPABILITIES_META_KEY in (meta := params.get("_meta") or {}):
            declared = self._declared(meta[types.CLIENT_CAPABILITIES_META_KEY])
            params = {**params, "_meta": {**meta, types.CLIENT_CAPABILITIES_META_KEY: declared}}
        return request.model_copy(update={"params": params}) if params else request

    def _declared(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        declared = {**capabilities, **self._capabilities}
        return {name: value for name, value in declared.items() if value is not None}


class _Received:
    """A stream of received messages, without those that the SDK does not get."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], traffic: Traffic) -> None:
        self._inner, self._traffic = inner, traffic

    @property
    def last_context(self) -> Context | None:
        """The context of the task that sent the last message, over HTTP; see the SDK's `ContextReceiveStream`."""
        context: Context | None = getattr(self._inner, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item = await self._inner.receive()
            if await self._traffic.admits(item, self.last_context):
                return item

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item = await self._inner.__anext__()
            if await self._traffic.admits(item, self.last_context):
                return item

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _ToSend:
    """A stream of messages to send."""

    def __init__(self, inner: WriteStream[SessionMessage], traffic: Traffic) -> None:
        self._inner, self._traffic = inner, traffic

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            await self._inner.send(item)  # an answer that the upstream does not read still waits
            self._traffic.note_sent(item.message)
        else:
            await self._inner.send(SessionMessage(self._traffic.note_sent(item.message), metadata=item.metadata))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
