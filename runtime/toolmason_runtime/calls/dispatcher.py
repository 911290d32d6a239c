"""The interface between a transport and the dispatcher of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolmason_runtime.calls.call import Context, Method
from toolmason_runtime.shared.catalogue import ServerEntry
from toolmason_runtime.wire.resource_updates import ResourceUpdates


class KnownClient:
    """The part of a `Context` that lists, searches and refusals need: they run no handler."""

    def __init__(self, client_name: str) -> None:
        self.client_name = client_name
        """The client's own name for itself (`clientInfo.name`); empty if unknown."""


@dataclass(frozen=True, slots=True)
class WatchedTasks:
    """Tasks that a client has subscribed to."""

    known: list[str]
    """Their ids, without those of tasks that do not exist."""
    changes: AsyncIterator[dict[str, Any]]
    """The state of each at once and after every change, as in `notifications/tasks`; ends after the last one ended."""


class DispatcherProtocol(Protocol):
    """Answers the requests for tools, prompts and resources of one server."""

    updates: ResourceUpdates
    before_handler: Callable[[], None] | None
    """Called before a handler runs; its exception ends the request."""

    @property
    def server(self) -> ServerEntry:
        """The catalogue's entry of the server."""
        ...

    @property
    def methods(self) -> Mapping[str, Method]:
        """The methods that this server answers."""
        ...

    def dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> Coroutine[Any, Any, dict[str, Any]]:
        """Return the result of one request; its `resultType` is `input_required` if the client must respond first.

        Raises:
            MethodError: the request is invalid.
        """
        ...

    async def watch_tasks(self, identities: Collection[str], context: Context) -> WatchedTasks:
        """Return the tasks among `identities` that the client has, and their changes.

        Raises:
            MethodError: the client does not declare the extension for tasks.
        """
        ...

    def instructions(self, client_name: str) -> str:
        """Return the instructions of the server for the client with that `clientInfo.name`; empty without any."""
        ...

    async def aclose(self) -> None:
        """Release all resources; called once, after the last request."""
        ...
