"""The resources that the client of a connection subscribes to, in both protocol eras."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.wire.requests import SUBSCRIPTION_ID
from toolmason_runtime.wire.resource_updates import MAX_SUBSCRIPTIONS, too_many_subscriptions

if TYPE_CHECKING:
    from toolmason_runtime.calls.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.stdio.calls import Call
    from toolmason_runtime.transports.stdio.client_requests import ClientRequests
    from toolmason_runtime.transports.stdio.context import LeanContext

LISTEN: Final = "subscriptions/listen"
SUBSCRIBE: Final = frozenset({"resources/subscribe", "resources/unsubscribe"})


class Subscriptions:
    """Sends the resource updates of a dispatcher to the client, for the resources that it subscribes to."""

    def __init__(self, dispatcher: DispatcherProtocol, requests: ClientRequests) -> None:
        self._dispatcher = dispatcher
        self._requests = requests
        self._uris: set[str] = set()
        self._streams: dict[Call, frozenset[str]] = {}
        dispatcher.updates.listen(self._send)

    def update(self, method: str, uri: str) -> None:
        """Add or remove a subscription of 2025-11-25 or earlier, which the dispatcher has checked.

        Raises:
            MethodError: there are too many.
        """
        if method == "resources/unsubscribe":
            self._uris.discard(uri)
            return
        if uri not in self._uris and len(self._uris) >= MAX_SUBSCRIPTIONS:
            raise too_many_subscriptions()
        self._uris.add(uri)

    async def listen(self, call: Call, context: LeanContext) -> dict[str, Any]:
        """Open a stream for the resources and tasks that a client can subscribe to; it ends when it is cancelled.

        The acknowledgement lists only the resources and tasks whose updates are sent.

        Raises:
            MethodError: there are too many, or the client does not declare the extension for tasks.
        """
        wanted = call.params["notifications"]
        uris = dict.fromkeys(wanted.get("resourceSubscriptions") or ())
        identities = wanted.get("taskIds") or ()
        if len(uris) + len(identities) > MAX_SUBSCRIPTIONS:
            raise too_many_subscriptions()
        tasks = await self._dispatcher.watch_tasks(identities, context) if identities else None
        served = [uri for uri in uris if await self._is_served(uri, context)]
        self._streams[call] = frozenset(served)
        try:
            accepted = {
                **({"resourceSubscriptions": served} if served else {}),
                **({"taskIds": tasks.known} if tasks is not None and tasks.known else {}),
            }
            acknowledged = {"notifications": accepted, **_of_stream(call)}
            self._requests.notify("notifications/subscriptions/acknowledged", acknowledged)
            if tasks is not None:
                async for state in tasks.changes:
                    self._requests.notify("notifications/tasks", {**state, **_of_stream(call)})
            await asyncio.Event().wait()
        finally:
            del self._streams[call]
        return {}

    async def _is_served(self, uri: str, context: LeanContext) -> bool:
        try:
            await self._dispatcher.dispatch("resources/subscribe", {"uri": uri}, context)
        except MethodError:
            return False
        return True

    async def _send(self, uri: str) -> None:
        method = "notifications/resources/updated"
        if uri in self._uris:
            self._requests.notify_once(method, {"uri": uri})
        for call, uris in self._streams.items():
            if uri in uris and call.is_open:
                self._requests.notify_once(method, {"uri": uri, **_of_stream(call)})


def _of_stream(call: Call) -> dict[str, Any]:
    return {"_meta": {SUBSCRIPTION_ID: call.identity}}
