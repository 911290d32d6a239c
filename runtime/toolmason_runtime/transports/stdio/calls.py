"""The requests of a client that may need a handler: each runs in a task, or waits until fewer of them run."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.errors import INTERNAL_ERROR, MethodError
from toolmason_runtime.transports.messages import RequestId
from toolmason_runtime.transports.stdio.encoding import encode_error, encode_large_result, encode_result
from toolmason_runtime.wire.parts import is_large

if TYPE_CHECKING:
    from toolmason_runtime.transports.stdio.output import Output

MAX_RUNNING: Final = 256
"""Maximum number of calls that run at the same time; streams of subscriptions do not count."""
MAX_WAITING: Final = 1024
"""Maximum number of requests that wait until a call ends or the client reads."""
MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
CONNECTION_CLOSED: Final = -32000

_log = logging.getLogger(__package__)


@dataclass(eq=False, slots=True)
class Call:
    """One request. `size` is that of its line in bytes."""

    identity: RequestId
    method: str
    params: Mapping[str, Any]
    size: int
    is_stream: bool = False
    is_open: bool = True
    """Whether messages about it may be sent: it has neither ended nor been cancelled."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    has_begun: bool = False
    """Whether its task has started; a task that is cancelled before runs none of its code."""


class Calls:
    """Runs calls with `run` and sends their responses. All methods are called in the event loop.

    No more calls start while the client does not read or too many of them run. Invariant: each call gets one response,
    or none if the client has cancelled it.
    """

    def __init__(
        self,
        output: Output,
        run: Callable[[Call], Awaitable[dict[str, Any]]],
        *,
        on_refused: Callable[[Call], None] = lambda call: None,  # noqa: ARG005  it does nothing
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._output = output
        self._run = run
        self._on_refused = on_refused
        self._by_id: dict[RequestId, Call] = {}
        self._waiting: deque[Call] = deque()
        self._waiting_bytes = 0
        self._running: set[Call] = set()
        self._streams: set[Call] = set()
        self._is_closed = False
        self._context = copy_context()
        """The context variables outside of all calls: the end of one call may start the next one."""

    def add(self, call: Call) -> None:
        """Start a call now or later; refuse it if too many wait, and drop it after the end."""
        if self._is_closed:
            return
        if len(self._waiting) >= MAX_WAITING or self._waiting_bytes + call.size > MAX_WAITING_BYTES:
            error = MethodError(INTERNAL_ERROR, "too many requests are waiting; send the next one after a response")
            self._on_refused(call)
            self._output.write(encode_error(call.identity, error))
            return
        self._by_id[call.identity] = call
        self._waiting.append(call)
        self._waiting_bytes += call.size
        self.start_next()

    def start_next(self) -> None:
        """Start the calls for which there is room."""
        while self._waiting and len(self._running) < MAX_RUNNING and self._output.has_room():
            call = self._waiting.popleft()
            self._waiting_bytes -= call.size
            (self._streams if call.is_stream else self._running).add(call)
            call.task = self._loop.create_task(self._answer(call), context=self._context.copy())

    def cancel(self, identity: RequestId) -> None:
        """Cancel a call for the client, which gets no response."""
        call = self._by_id.pop(identity, None)
        if call is None:
            return
        call.is_open = False
        if call.task is None:
            self._waiting.remove(call)
            self._waiting_bytes -= call.size
        else:
            call.task.cancel()
            if not call.has_begun:
                self._end(call, [])

    def are_running(self) -> bool:
        """Return whether calls run or wait; streams of subscriptions do not count."""
        return bool(self._running or self._waiting)

    async def close(self) -> None:
        """Cancel all calls and wait for their end; they get an error response."""
        self._is_closed = True
        self._by_id.clear()
        while self._waiting:
            self._output.write(_closed(self._waiting.popleft()))
        calls = (*self._running, *self._streams)
        tasks = [call.task for call in calls if call.task]
        for task in tasks:
            task.cancel()
        for call in calls:
            if not call.has_begun:
                self._end(call, [_closed(call)])
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, call: Call) -> None:
        call.has_begun = True
        parts = None
        try:
            parts = await self._response(call)
        finally:
            self._end(call, [_closed(call)] if parts is None else parts)

    async def _response(self, call: Call) -> list[bytes]:
        try:
            result = await self._run(call)
            if is_large(result):
                return await encode_large_result(call.identity, result)
            return [encode_result(call.identity, result)]
        except MethodError as error:
            return [encode_error(call.identity, error)]
        except Exception:  # noqa: BLE001  its text is not for the client
            _log.exception("%s failed", call.method)
            return [encode_error(call.identity, MethodError(INTERNAL_ERROR, "Internal server error"))]

    def _end(self, call: Call, response: list[bytes]) -> None:
        """Send the response to a call."""
        self._running.discard(call)
        self._streams.discard(call)
        if self._by_id.get(call.identity) is call:
            del self._by_id[call.identity]
        if call.is_open:
            call.is_open = False
            for part in response:
                self._output.write(part)
        if self._waiting:
            self.start_next()


def _closed(call: Call) -> bytes:
    return encode_error(call.identity, MethodError(CONNECTION_CLOSED, "Connection closed"))
