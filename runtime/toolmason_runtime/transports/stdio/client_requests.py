"""Messages that a server sends on its own: notifications, and requests that the client answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.transports.messages import Wire
from toolmason_runtime.transports.stdio.encoding import encode

if TYPE_CHECKING:
    from toolmason_runtime.transports.stdio.output import Output


class RefusedError(Exception):
    """The client answered with an error, whose message this is."""


class ClientRequests:
    """Sends requests and notifications to the client."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._last_id = 0
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        """By id, as text: some clients return a number as text."""

    async def send(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result; tell the client if the call is cancelled.

        Raises:
            RefusedError: the client answered with an error.
        """
        self._last_id += 1
        number = self._last_id
        message = {"jsonrpc": "2.0", "id": number, "method": method, **({"params": dict(params)} if params else {})}
        self._pending[str(number)] = asyncio.get_running_loop().create_future()
        try:
            self._output.write(encode(message))
            return await self._pending[str(number)]
        except asyncio.CancelledError:
            self.notify("notifications/cancelled", {"requestId": number, "reason": "caller cancelled"})
            raise
        finally:
            del self._pending[str(number)]

    def resolve(self, message: Wire) -> None:
        """Pass a response to the call that waits for it; drop any other."""
        pending = self._pending.get(str(message["id"]))
        if pending is None or pending.done():
            return
        if "error" in message:
            pending.set_exception(RefusedError(message["error"]["message"]))
            pending.exception()  # marks it as retrieved: the call may just have been cancelled
        else:
            pending.set_result(message["result"])

    def notify(self, method: str, params: Mapping[str, Any], *, may_drop: bool = False) -> None:
        """Send a notification. One that may be dropped is not sent while the client reads too slowly."""
        (self._output.offer if may_drop else self._output.write)(_notification(method, params))

    def notify_once(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification unless the same one waits for a client that reads slowly."""
        self._output.write_once(_notification(method, params))


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, "params": params})
