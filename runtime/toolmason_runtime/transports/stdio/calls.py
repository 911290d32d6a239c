"""The requests of a client that may need a handler: each runs in a task, or waits until fewer of them run."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
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
    task: asyncio.Task[list[bytes]] | None = field(default=None, repr=False)


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
        self._output = output
        self._run = run
        self._on_refused = on_refused
        self._by_id: dict[RequestId, Call] = {}
        self._waiting: deque[Call] = deque()
        self._waiting_bytes = 0
        self._running: set[Call] = set()
        self._streams: set[Call] = set()
        self._is_closed = False

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
            call.task = asyncio.create_task(self._response(call))
            call.task.add_done_callback(partial(self._end, call))

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

    async def close(self) -> None:
        """Cancel all calls and wait for their end; they get an error response."""
        self._is_closed = True
        self._by_id.clear()
        while self._waiting:
            self._output.write(_closed(self._waiting.popleft()))
        tasks = [call.task for call in (*self._running, *self._streams) if call.task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

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

    def _end(self, call: Call, task: asyncio.Task[list[bytes]]) -> None:
        """Send the response of a task. One that was cancelled before its start has no other code that runs."""
        self._running.discard(call)
        self._streams.discard(call)
        if self._by_id.get(call.identity) is call:
            del self._by_id[call.identity]
        if call.is_open:
            call.is_open = False
            for part in [_closed(call)] if task.cancelled() else task.result():
                self._output.write(part)
        self.start_next()


def _closed(call: Call) -> bytes:
    return encode_error(call.identity, MethodError(CONNECTION_CLOSED, "Connection closed"))
