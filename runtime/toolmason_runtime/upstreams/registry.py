"""The upstreams of a running server: one connection each, and the calls that wait for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.specs.pins import REVIEW_COMMAND
from toolmason_runtime.shared.specs.upstream import Upstream, UpstreamTool
from toolmason_runtime.upstreams.connection import Connection
from toolmason_runtime.upstreams.running_call import KEY_PREFIX, RunningCall


def open_state(catalogue: Catalogue) -> Upstreams:  # noqa: ARG001  the signature of all kinds
    """Return the connections of a server."""
    return Upstreams()


class Upstreams:
    """The connections to upstreams; in the state of every call of a server with `[upstreams]`."""

    def __init__(self) -> None:
        self._connections: dict[str, Connection] = {}
        self._waiting: dict[str, RunningCall] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def connection(self, upstream: Upstream, call: ToolCall, roots: tuple[str, ...] = ()) -> Connection:
        """Return the open connection to an upstream; start it for `call` if there is none.

        `roots` are the project directories of the call, for `{roots}` in the permissions of the upstream.
        """
        connection = self._connections.get(upstream.name)
        if connection is None or connection.is_over:
            connection = self._connections[upstream.name] = Connection(upstream, call, roots)
        return connection

    @property
    def warnings(self) -> tuple[str, ...]:
        """The differences of the tools of the running upstreams from the manifest, as sentences."""
        return tuple(
            f"Upstream `{name}`: {problem}. Compare its tools with `{REVIEW_COMMAND}`, which names the command that "
            "approves a changed tool."
            for name, connection in self._connections.items()
            for problem in connection.problems
        )

    def run(self, tool: UpstreamTool, arguments: Mapping[str, Any], call: ToolCall) -> RunningCall:
        """Return the call that waits for the answers of `call` (2026-07-28), else a new one."""
        for key in call.answered:
            waiting = self._waiting.get(key.split("-")[1]) if key.startswith(f"{KEY_PREFIX}-") else None
            if waiting is not None and waiting.tool == tool and waiting.arguments == arguments:
                del self._waiting[waiting.id]
                return waiting
        return RunningCall(self, tool, arguments, call)

    def keep(self, waiting: RunningCall) -> None:
        """Keep a call until the client repeats it with the answer to its question."""
        self._waiting[waiting.id] = waiting

    def forget(self, waiting: RunningCall) -> None:
        """Drop a call that nobody has repeated."""
        self._waiting.pop(waiting.id, None)

    def start(self, task: asyncio.Task[Any]) -> None:
        """Keep a reference to a task until it is done: an event loop has only weak ones."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Cancel all calls, and end every upstream with its processes."""
        for task in self._tasks:
            task.cancel()
        connections, self._connections = [*self._connections.values()], {}
        self._waiting.clear()
        await asyncio.gather(*(connection.aclose() for connection in connections))
