"""The process of the server generated from `notes.toml`, and its clients."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from issuer import Issuer
from mcp import Client
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.types import Implementation

PATIENCE_S = 30.0
Environment = dict[str, str]

ABOUT = Implementation(name="toolmason", version="1")
"""A client that sees bare names."""


@dataclass
class Notes:
    """The running server."""

    url: str
    issuer: Issuer

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/mcp")

    def call(self, token: str = "", tool: str = "whoami", /, **arguments: Any) -> httpx2.Response:
        """Call a tool in one request of 2026-07-28."""
        return self.request(token, {"name": tool, "arguments": arguments})

    def request(self, token: str, params: dict[str, Any]) -> httpx2.Response:
        tool, params = params["name"], {**params, "_meta": META}
        headers = {"mcp-method": "tools/call", "mcp-name": tool, "mcp-protocol-version": "2026-07-28"}
        return self.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, token, headers)

    def post(self, message: Any, token: str = "", headers: dict[str, str] | None = None) -> httpx2.Response:
        sent = {"accept": "application/json, text/event-stream", **(headers or {})}
        if token:
            sent["authorization"] = f"Bearer {token}"
        return httpx2.post(self.url, json=message, headers=sent, timeout=PATIENCE_S)

    @asynccontextmanager
    async def client(self, token: str, mode: str) -> AsyncIterator[Client]:
        """Open a client with a fixed token."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, client_info=ABOUT) as client,
        ):
            yield client

    @asynccontextmanager
    async def authorizing_client(self, name: str, mode: str) -> AsyncIterator[Client]:
        """Open a client that gets its tokens itself, as MCP describes."""
        provider = ClientCredentialsOAuthProvider(self.url, Storage(), name, name, issuer=self.issuer.url)
        async with (
            httpx2.AsyncClient(auth=provider, timeout=PATIENCE_S) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, client_info=ABOUT) as client,
        ):
            yield client


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "toolmason", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


class Storage(TokenStorage):
    """Tokens in memory."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def serving_notes(issuer: Issuer, environment: Environment, *arguments: str) -> Iterator[Notes]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    process = subprocess.Popen(
        [sys.executable, "-m", "notes_server", "--http", "--port", str(port), *arguments],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**environment, "NOTES_ISSUER": issuer.url, "NOTES_URL": url},
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert re.fullmatch(rf"serving MCP at {re.escape(url)}\n", line), line + process.stderr.read()
        yield Notes(url, issuer)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
