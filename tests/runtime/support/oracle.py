"""Holds every message against the wire models of its protocol version, as the SDK's types know them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, methods

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ERAS = (LEGACY, MODERN)


@dataclass
class Oracle:
    """Watches one connection from both ends; raises at the first message that its version does not know."""

    version: str
    seen: list[dict[str, Any]] = field(default_factory=list)
    """What the server sent."""
    _asked: dict[Any, str] = field(default_factory=dict)

    def from_client(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            self._asked[message["id"]] = message["method"]

    def from_server(self, message: dict[str, Any]) -> None:
        assert message.get("jsonrpc") == "2.0", message
        self.seen.append(message)
        if message.get("method") == "notifications/tasks":
            _check_task(message["params"])
        elif "method" in message:
            parse = methods.parse_server_request if "id" in message else methods.parse_server_notification
            parse(message["method"], self.version, message.get("params"))
        elif "error" in message:
            error = ErrorData.model_validate(message["error"])
            assert error.code <= -32000, "codes above are for applications, 0 is a leak"
        else:
            self._check_result(self._asked.pop(message["id"]), message["result"])

    def _check_result(self, method: str, result: dict[str, Any]) -> None:
        if method in {"tasks/update", "tasks/cancel"}:
            assert result.keys() <= {"resultType", "_meta"}
            return
        if method == "tasks/get" or result.get("resultType") == "task":
            assert result["resultType"] == ("complete" if method == "tasks/get" else "task")
            _check_task(result)
            return
        known = methods.serialize_server_result(method, self.version, result)
        # Also a result that asks the client for more is one of a call; it needs no field, so anything would pass as it.
        lost = {path for path in members(result) - members(known) if "_meta" not in path}
        assert not lost, f"{method} gave what {self.version} does not know: {lost}"
        if self.version == MODERN:
            assert result["resultType"] in {"complete", "input_required"}
        else:
            assert not result.keys() & {"resultType", "ttlMs", "cacheScope"}


def _check_task(task: dict[str, Any]) -> None:
    """Check a `Task` of SEP-2663, which the SDK's types do not have."""
    required = {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"}
    optional = {"_meta", "resultType", "statusMessage"}
    own = {"input_required": "inputRequests", "completed": "result", "failed": "error"}.get(task["status"])
    is_created = task.get("resultType") == "task"
    of_status = {own} if own and not is_created else set()
    assert required | of_status <= task.keys() <= required | optional | of_status, task
    assert isinstance(task["ttlMs"], int)
    assert isinstance(task["pollIntervalMs"], int)


def members(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the paths of all members that are not null."""
    match value:
        case dict():
            return {path}.union(*(members(item, (*path, name)) for name, item in value.items() if item is not None))
        case list():
            return {path}.union(*(members(item, path) for item in value))
    return {path}


Ends = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def watched(server: Server[Any], oracle: Oracle) -> AsyncIterator[Ends]:
    """Run `server` in memory with `oracle` between it and the client: a transport for `mcp.Client`."""
    to_server, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    server_out, from_server = anyio.create_memory_object_stream[SessionMessage](16)
    to_client, client_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    client_out, from_client = anyio.create_memory_object_stream[SessionMessage](16)

    async def forth() -> None:
        async with from_client, to_server:
            async for message in from_client:
                oracle.from_client(plain(message))
                await to_server.send(message)

    async def back() -> None:
        async with from_server, to_client:
            async for message in from_server:
                oracle.from_server(plain(message))
                await to_client.send(message)

    async def serve() -> None:
        await server.run(server_in, server_out, server.create_initialization_options())

    async with anyio.create_task_group() as tasks:
        for each in (forth, back, serve):
            tasks.start_soon(each)
        async with client_in, client_out:
            yield client_in, client_out


def plain(message: SessionMessage) -> dict[str, Any]:
    wire: dict[str, Any] = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    return wire
