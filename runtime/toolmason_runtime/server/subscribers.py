"""The clients that subscribe to resources, with the SDK, in both protocol eras."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from mcp import types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from pydantic import BaseModel
from toolmason_runtime.protocol.errors import INVALID_PARAMS, MethodError
from toolmason_runtime.server.dispatch import Dispatcher

MAX_SUBSCRIPTIONS: Final = 1000
"""Maximum number of subscriptions of one connection."""
Forward = Callable[[ServerRequestContext[None], BaseModel], Awaitable[dict[str, Any]]]
"""Passes a request to the dispatcher."""


class Subscribers:
    """Sends the announcements of a dispatcher to the clients that subscribe to the resource.

    Clients of 2026-07-28 open a stream with `subscriptions/listen`, older ones send `resources/subscribe`.
    """

    def __init__(self, dispatcher: Dispatcher, forward: Forward) -> None:
        self._forward = forward
        self._streams = InMemorySubscriptionBus()
        self._connections: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        dispatcher.updates.listen(self._send)

    def serve(self, server: Server[None]) -> None:
        """Add the methods of subscriptions to `server`."""
        server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        listen = ListenHandler(self._streams)
        server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, listen)

    async def _send(self, uri: str) -> None:
        await self._streams.publish(ResourceUpdated(uri))
        for connection, uris in list(self._connections.items()):
            if uri in uris:
                await connection.send_resource_updated(uri)

    async def _subscribe(self, ctx: ServerRequestContext[None], params: types.SubscribeRequestParams) -> dict[str, Any]:
        result = await self._forward(ctx, params)
        uris = self._uris(ctx)
        if len(uris) >= MAX_SUBSCRIPTIONS:
            raise MethodError(
                INVALID_PARAMS, f"at most {MAX_SUBSCRIPTIONS} subscriptions; unsubscribe from others first"
            )
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
