"""A sample server over HTTP or as an ASGI application, and raw HTTP requests and a raw client for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from oracle import MODERN
from stdio_peer import PATIENCE_S

TOKEN_FILE = str(Path(__file__).with_name("token_of_tests"))
Path(TOKEN_FILE).chmod(0o600)  # git keeps no other permissions than those to execute
BEARER = {"Authorization": "Bearer a-token-that-only-tests-use"}
SAMPLE = ("-m", "sample_server", "--classic", "--http", "--port", "0")


@contextmanager
def serving(
    *arguments: str, command: Sequence[str] = SAMPLE, env: Mapping[str, str] | None = None, note: str = ""
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the sample on a free port; yield the process and its address. `note` is a pattern."""
    process = subprocess.Popen(
        [sys.executable, *command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **(env or {})},
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        while "debug" in arguments and said and not said.startswith("serving"):
            said = process.stderr.readline()
        found = re.fullmatch(rf"serving MCP at (http://\S+:\d+/mcp){note}\n", said)
        assert found, said + process.stderr.read()
        yield process, found[1]
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def post(address: str, headers: dict[str, str], path: str = "/mcp") -> int:
    """Send an `initialize` and return the status of the response."""
    host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
    params: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "toolmason", "version": "0"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    connection.request("POST", path, body, accepted | headers)
    status = connection.getresponse().status
    connection.close()
    return status


@contextmanager
def asgi(*, app: str = "app", env: Mapping[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the sample with uvicorn, by default without authorization; yield the process and its address."""
    command = [sys.executable, "-m", "uvicorn", f"sample_server.asgi:{app}", "--port", "0", "--no-access-log"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, encoding="utf-8", env={**os.environ, "SAMPLE_OPEN": "1", **(env or {})}
    )
    try:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        while lines[-1] and "running on" not in lines[-1]:
            lines.append(process.stderr.readline())
        found = re.search(r"http://127\.0\.0\.1:\d+", lines[-1])
        yield process, f"{found[0]}/mcp" if found else "".join(lines)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def fetch(
    address: str, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection(address.removeprefix("http://").removesuffix("/mcp"), timeout=PATIENCE_S)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, response.headers, text


class RawClient:
    """A client that sends any bytes in any order."""

    def __init__(self, address: str, version: str, open_until: ExitStack) -> None:
        host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
        self._place = (host, int(port))
        self._open_until = open_until
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
        }
        self._about: dict[str, Any] = {"protocolVersion": version, "clientInfo": {"name": "toolmason", "version": "0"}}
        self._is_modern = version == MODERN
        if not self._is_modern:
            params = {**self._about, "capabilities": {"elicitation": {}}}
            opened = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            self._headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message: dict[str, Any] | bytes, **headers: str) -> http.client.HTTPResponse:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self._send("POST", body, headers)

    def stream(self, **headers: str) -> http.client.HTTPResponse:
        """Open the stream of messages that belong to no request."""
        return self._send("GET", None, headers)

    def end_session(self) -> http.client.HTTPResponse:
        return self._send("DELETE", None, {})

    def _send(self, method: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(*self._place, timeout=PATIENCE_S)
        self._open_until.callback(connection.close)
        connection.request(method, "/mcp", body, self._headers | headers)
        return self._open_until.enter_context(connection.getresponse())

    def disconnect(self) -> None:
        """Close all connections; the session stays open."""
        self._open_until.close()

    def resumed(self, line: str) -> Iterator[str]:
        """Reconnect with the event id in `line`, and yield the lines that follow."""
        stream = self.stream(**{"Last-Event-ID": line.removeprefix("id: ")})
        yield from (line.decode().rstrip() for line in stream)

    def call(
        self, name: str, arguments: dict[str, Any], meta: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the messages that answer a call as they arrive."""
        for line in self.lines(name, arguments, meta):
            text = line.removeprefix("data:").strip()
            if text.startswith("{"):
                yield json.loads(text)

    def lines(self, name: str, arguments: dict[str, Any], meta: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Yield the lines that answer a call as they arrive."""
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": dict(meta or {})}
        if self._is_modern:
            about = {**self._about, "clientCapabilities": {}}
            params["_meta"] |= {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
            self._headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
        for line in self.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}):
            yield line.decode().rstrip()
