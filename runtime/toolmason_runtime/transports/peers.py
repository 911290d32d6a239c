"""Sessions of other processes: a request reaches the process that has its session, whichever one accepted it.

A session of 2025-11-25 or earlier lives in one process. Its id contains, sealed with the state key, the path of a Unix
socket on which that process answers the others. So a balancer, or the socket that workers share, may pass each request
to any process of the machine. The socket of a dead process refuses connections: its sessions no longer exist.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import httpcore2
import uvicorn
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState
from mcp.types import INVALID_REQUEST
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from toolmason_runtime.transports.http_parsers import FastConnection
from uvicorn.server import ServerState

CONNECT_TIMEOUT_S: Final = 5.0
"""Seconds that another process has to accept a connection."""
_MARK: Final = b"session "
"""Beginning of every sealed text, so that no other text with the same key passes as the id of a session."""
_NOT_FORWARDED: Final = frozenset(
    (
        b"connection",
        b"content-length",
        b"date",
        b"keep-alive",
        b"server",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
"""Headers of one connection, and those that each server adds itself."""
_log = logging.getLogger(__name__)


def session_not_found() -> JSONResponse:
    """Return the response to a request for a session that does not exist: the client opens a new one."""
    error = {"code": INVALID_REQUEST, "message": "Session not found"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 404)


class Peers:
    """The processes on this machine with the same state key; `keys[0]` seals, all others are accepted as well."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._codec = AESGCMRequestStateCodec(keys)
        self._socket = ""

    def new_id(self) -> str:
        """Return the id of a new session of this process."""
        return self._codec.seal(_MARK + secrets.token_hex(16).encode() + self._socket.encode())

    def owner(self, session_id: str) -> str:
        """Return the socket of the other process that has a session; empty for one of this process or an invalid id."""
        try:
            text = self._codec.unseal(session_id)
        except InvalidRequestState:
            return ""
        path = text[len(_MARK) + 32 :].decode() if text.startswith(_MARK) else ""
        return "" if path == self._socket else path

    @asynccontextmanager
    async def serving(self, app: ASGIApp) -> AsyncIterator[None]:
        """Answer the other processes with `app`; without Unix sockets (Windows), only the requests sent to this one."""
        directory = Path(tempfile.mkdtemp(prefix="mcp-"))  # readable by this user alone
        try:
            listener = await _listen(app, directory / "s")
        except (AttributeError, NotImplementedError, OSError) as error:
            shutil.rmtree(directory, ignore_errors=True)
            _log.warning("other processes cannot pass on requests for sessions of this one: %s", error)
            yield
            return
        self._socket = str(directory / "s")
        try:
            yield
        finally:
            listener.close()
            shutil.rmtree(directory, ignore_errors=True)

    async def forward(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request with a complete body to the process at `path`, and its response to the client."""
        if not _is_private(Path(path).parent):
            await session_not_found()(scope, _nothing, send)
            return
        body = (await receive())["body"] if scope["method"] == "POST" else b""
        answering = asyncio.create_task(_answer(path, scope, body, send))
        watching = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait((answering, watching), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, watching):
                task.cancel()
            await asyncio.wait((answering, watching))
        if not answering.cancelled() and (error := answering.exception()):
            raise error


async def _answer(path: str, scope: Scope, body: bytes, send: Send) -> None:
    is_started = False
    target = scope.get("raw_path") or scope["path"].encode()
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    url = httpcore2.URL(scheme=b"http", host=b"localhost", port=80, target=target + query)
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _NOT_FORWARDED]
    limits = {"timeout": {"connect": CONNECT_TIMEOUT_S}}
    try:
        async with (
            httpcore2.AsyncConnectionPool(uds=path) as connection,
            connection.stream(scope["method"], url, headers=headers, content=body, extensions=limits) as response,
        ):
            await send(_start(response))
            is_started = True
            async for part in response.aiter_stream():
                await send({"type": "http.response.body", "body": part, "more_body": True})
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        _log.info("the process of a session does not answer: %s", type(error).__name__)
        if isinstance(error.__context__, ConnectionRefusedError):
            _remove_socket(Path(path))
        if not is_started:
            await session_not_found()(scope, _nothing, send)
            return
    # A stream that ends without its response: the client asks for the rest, and learns that the session has ended.
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_private(directory: Path) -> bool:
    """Return whether a directory belongs to this user alone.

    The directory of an ended process is removed. Another user could create one of the same name, and would get the
    requests of its clients, with their tokens.
    """
    try:
        about = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not stat.S_IMODE(about.st_mode) & 0o077


def _remove_socket(path: Path) -> None:
    """Remove the socket of a process that was killed, and its directory."""
    with suppress(OSError):
        path.unlink()
        path.parent.rmdir()


async def _listen(app: ASGIApp, path: Path) -> asyncio.Server:
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", proxy_headers=False)
    config.load()
    state = ServerState()
    make: Callable[[], asyncio.Protocol] = lambda: FastConnection(config, state, {})  # noqa: E731
    return await asyncio.get_running_loop().create_unix_server(make, path)


def _start(response: httpcore2.Response) -> Message:
    headers = [(name, value) for name, value in response.headers if name.lower() not in _NOT_FORWARDED]
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
