"""Announcements of changed resources, from handlers to the transports that have subscribers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError

MAX_SUBSCRIPTIONS: Final = 1000
"""Maximum number of subscriptions of one connection, or of one stream (2026-07-28)."""
Listener = Callable[[str], Awaitable[None]]
"""A transport: sends the URI of a changed resource to its subscribers."""


class ResourceUpdates:
    """Passes each announcement to all listeners; it is in the state of every call."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` with the URI of each changed resource."""
        self._listeners.append(listener)

    async def announce(self, uri: str) -> None:
        """Pass a URI to all listeners."""
        for listener in self._listeners:
            await listener(uri)


def too_many_subscriptions() -> MethodError:
    """Return the error for a client that subscribes to too much."""
    return MethodError(INVALID_PARAMS, f"at most {MAX_SUBSCRIPTIONS} subscriptions; unsubscribe from others first")
