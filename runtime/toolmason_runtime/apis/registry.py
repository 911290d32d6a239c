"""The APIs of a running server: one client for each, in its lifetime."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolmason_runtime.apis.spec import Api

if TYPE_CHECKING:
    from toolmason_runtime.apis.client import ApiClient
    from toolmason_runtime.protocol.catalogue import Catalogue


def open_state(catalogue: Catalogue) -> Apis:  # noqa: ARG001  the signature of all kinds
    """Return the connections of a server."""
    return Apis()


class Apis:
    """The connections to HTTP APIs; in the state of every call of a server with `[apis]`."""

    def __init__(self) -> None:
        self._clients: dict[str, ApiClient] = {}

    def client(self, api: Api) -> ApiClient:
        """Return the client of an API.

        Raises:
            ToolError: the environment lacks a variable of its settings.
        """
        # Imported at the first call, because it imports the HTTP client.
        from toolmason_runtime.apis.client import ApiClient
        from toolmason_runtime.apis.settings import load_settings

        if api.name not in self._clients:
            self._clients[api.name] = ApiClient(load_settings(api, os.environ))
        return self._clients[api.name]

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._clients = [*self._clients.values()], {}
        for client in clients:
            await client.aclose()
