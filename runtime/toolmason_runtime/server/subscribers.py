"""The clients that subscribe to resources and tasks, with the SDK, in both protocol eras."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from mcp import types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ServerEvent,
)
from pydantic import BaseModel
from toolmason_runtime.calls.call import Context
from toolmason_runtime.calls.dispatcher import WatchedTasks
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError
from toolmason_runtime.wire.requests import request_shape
from toolmason_runtime.wire.resource_updates import MAX_SUBSCRIPTIONS, too_many_subscriptions

Forward = Callable[[ServerRequestContext[None], BaseModel], Awaitable[dict[str, Any]]]
"""Passes a request to the dispatcher."""
_MAX_PENDING: Final = 1024
"""Notifications that wait for a client that reads slowly; those of resources are dropped beyond it."""


class Subscribers:
    """Sends the announcements of a dispatcher to the clients that subscribe to the resource.

    Clients of 2026-07-28 open a stream with `subscriptions/listen`, older ones send `resources/subscribe`.
    """

    def __init__(
        self, dispatcher: Dispatcher, forward: Forward, context_of: Callable[[ServerRequestContext[None]], Context]
    ) -> None:
        self._context_of = context_of
        self._dispatcher = dispatcher
        self._forward = forward
        self._has_resources = "resources/subscribe" in dispatcher.methods
        self._streams = InMemorySubscriptionBus()
        self._listen_handler = ListenHandler(self._streams)
        self._connections: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        dispatcher.updates.listen(self._send)

    def serve(self, server: Server[None]) -> None:
        """Add the methods of subscriptions to `server`."""
        if self._has_resources:
            server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
            server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen)

    async def _send(self, uri: str) -> None:
        await self._streams.publish(ResourceUpdated(uri))
        for connection, uris in list(self._connections.items()):
            if uri in uris:
                await connection.send_resource_updated(uri)

    async def _listen(
        self, ctx: ServerRequestContext[None], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Open a stream for the resources and tasks of a subscription; the acknowledgement omits unknown ones."""
        uris = dict.fromkeys(params.notifications.resource_subscriptions or ())
        identities = _task_ids(ctx)
        if len(uris) + len(identities) > MAX_SUBSCRIPTIONS:
            raise too_many_subscriptions()
        served = [uri for uri in uris if await self._is_served(ctx, uri)]
        if identities:
            tasks = await self._dispatcher.watch_tasks(identities, self._context_of(ctx))
            return await self._stream_tasks(ctx, served, tasks)
        supported = types.SubscriptionFilter(resource_subscriptions=served)
        return await self._listen_handler(ctx, params.model_copy(update={"notifications": supported}))

    async def _stream_tasks(
        self, ctx: ServerRequestContext[None], uris: Sequence[str], tasks: WatchedTasks
    ) -> types.SubscriptionsListenResult:
        """Send the changes of tasks and resources until the client cancels the request."""
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        pending: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue(_MAX_PENDING)
        waiting: set[str] = set()

        def on_event(event: ServerEvent) -> None:
            if isinstance(event, ResourceUpdated) and event.uri in uris and event.uri not in waiting:
                with suppress(asyncio.QueueFull):
                    pending.put_nowait(("notifications/resources/updated", {"uri": event.uri}))
                    waiting.add(event.uri)

        async def pass_on() -> None:
            async for state in tasks.changes:
                await pending.put(("notifications/tasks", state))

        accepted = {"resourceSubscriptions": list(uris)} if uris else {}
        accepted |= {"taskIds": tasks.known} if tasks.known else {}
        unsubscribe = self._streams.subscribe(on_event)
        passing = asyncio.create_task(pass_on())
        try:
            method, body = "notifications/subscriptions/acknowledged", {"notifications": accepted}
            while True:
                notification: Any = _Notification(method=method, params={**body, "_meta": meta})
                await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
                method, body = await pending.get()
                waiting.discard(body.get("uri", ""))
        finally:
            unsubscribe()
            passing.cancel()

    async def _is_served(self, ctx: ServerRequestContext[None], uri: str) -> bool:
        if not self._has_resources:
            return False
        try:
            await self._forward(
                replace(ctx, method="resources/subscribe", params={"uri": uri}), types.SubscribeRequestParams(uri=uri)
            )
        except MethodError:
            return False
        return True

    async def _subscribe(self, ctx: ServerRequestContext[None], params: types.SubscribeRequestParams) -> dict[str, Any]:
        result = await self._forward(ctx, params)
        uris = self._uris(ctx)
        if params.uri not in uris and len(uris) >= MAX_SUBSCRIPTIONS:
            raise too_many_subscriptions()
        uris.add(params.uri)
        return result

    async def _unsubscribe(
        self, ctx: ServerRequestContext[None], params: types.UnsubscribeRequestParams
    ) -> dict[str, Any]:
        self._uris(ctx).discard(params.uri)
        return await self._forward(ctx, params)

    def _uris(self, ctx: ServerRequestContext[None]) -> set[str]:
        connection = ctx.session._connection  # noqa: SLF001  the SDK has no public attribute
        return self._connections.setdefault(connection, set())


class _Notification(BaseModel):
    """A notification that the types of the SDK do not have."""

    method: str
    params: dict[str, Any]


def _task_ids(ctx: ServerRequestContext[None]) -> Sequence[str]:
    """Return the tasks that a client subscribes to; the types of the SDK do not have them.

    Raises:
        MethodError: they are no texts.
    """
    raw = ctx.params or {}
    shape = request_shape(ctx.method, is_modern=True)
    if shape is not None and not shape(raw):
        raise MethodError(INVALID_PARAMS, "Invalid request parameters", "")
    return raw["notifications"].get("taskIds") or ()
