"""Announcements of changed resources, from handlers to the transports that have subscribers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

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
