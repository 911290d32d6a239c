"""The clients that subscribe to resources, with the SDK, in both protocol eras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from mcp import types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from pydantic import BaseModel
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.wire.resource_updates import MAX_SUBSCRIPTIONS, too_many_subscriptions

Forward = Callable[[ServerRequestContext[None], BaseModel], Awaitable[dict[str, Any]]]
"""Passes a request to the dispatcher."""


class Subscribers:
    """Sends the announcements of a dispatcher to the clients that subscribe to the resource.

    Clients of 2026-07-28 open a stream with `subscriptions/listen`, older ones send `resources/subscribe`.
    """

    def __init__(self, dispatcher: Dispatcher, forward: Forward) -> None:
        self._forward = forward
        self._streams = InMemorySubscriptionBus()
        self._listen_handler = ListenHandler(self._streams)
        self._connections: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        dispatcher.updates.listen(self._send)

    def serve(self, server: Server[None]) -> None:
        """Add the methods of subscriptions to `server`."""
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
        """Open a stream for the resources that a client can subscribe to; the acknowledgement omits all else."""
        uris = dict.fromkeys(params.notifications.resource_subscriptions or ())
        if len(uris) > MAX_SUBSCRIPTIONS:
            raise too_many_subscriptions()
        served = [uri for uri in uris if await self._is_served(ctx, uri)]
        supported = types.SubscriptionFilter(resource_subscriptions=served)
        return await self._listen_handler(ctx, params.model_copy(update={"notifications": supported}))

    async def _is_served(self, ctx: ServerRequestContext[None], uri: str) -> bool:
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
