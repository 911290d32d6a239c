"""The databases of a running server: connections for each, in its lifetime."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.specs.database import Database

if TYPE_CHECKING:
    from toolmason_runtime.sql.connections import Connections


class Databases:
    """The connections to databases; in the state of every call of a server with `[databases]`."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, bool], Connections] = {}
        self._lock = threading.Lock()

    def connections(self, database: Database, *, read_only: bool) -> Connections:
        """Return the connections of a database. It takes long at the first call: use a worker thread.

        Raises:
            ToolError: the environment lacks the URL, or the driver is not installed.
        """
        # Imported at the first call, because it imports SQLAlchemy.
        from toolmason_runtime.sql.open import open_connections, shares_mode

        read_only = database.read_only if shares_mode(database) else read_only
        with self._lock:
            key = (database.name, read_only)
            if key not in self._open:
                self._open[key] = open_connections(database, os.environ, read_only=read_only)
            return self._open[key]

    async def aclose(self) -> None:
        """Close all connections that no call uses."""
        every, self._open = [*self._open.values()], {}
        for connections in every:
            connections.close()


def open_state(catalogue: Catalogue) -> Databases:  # noqa: ARG001  the interface of kinds
    """Return the databases of a server; each is connected at its first call."""
    return Databases()
