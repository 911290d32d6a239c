"""Upstreams over streamable HTTP on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

pytestmark = pytest.mark.anyio

Talk = Callable[..., AbstractAsyncContextManager[Client]]
SERVER = Path(__file__).parents[2] / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


def text_of(result: CallToolResult) -> str:
    """Return all texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    """A free port, also in the environment of our server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    monkeypatch.setenv("DESK_PORT", str(number))
    return number


@contextmanager
def everything(port: int) -> Iterator[None]:
    """Run the sample server on a port."""
    with subprocess.Popen(
        ["node", SERVER, "streamableHttp"], env={**os.environ, "PORT": str(port)}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            assert any("listening" in line for line in process.stderr)
            yield
        finally:
            process.kill()


async def test_tools_of_a_remote_upstream_can_be_called_after_its_restart(talking: Talk, port: int) -> None:
    async with talking() as client:
        absent = await client.call_tool("echo_remote", {"message": "zero"})
        with everything(port):
            first = await client.call_tool("echo_remote", {"message": "one"})
        between = await client.call_tool("echo_remote", {"message": "two"})
        with everything(port):
            last = await client.call_tool("echo_remote", {"message": "three"})

    assert "could not be reached" in text_of(absent)
    assert (text_of(first), text_of(last)) == ("Echo: one", "Echo: three")
    assert between.is_error


@contextmanager
def guarded(project: Path, port: int, token: Path) -> Iterator[None]:
    """Run the desk itself on a port, for requests with a bearer token."""
    command = [sys.executable, "-m", "desk_server", "--http", "--port", str(port), "--token-file", str(token)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project / "generated"), *sys.path])}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert "serving MCP" in process.stderr.readline()
            yield
        finally:
            process.terminate()


async def test_variables_in_headers_have_the_values_of_the_servers_environment(
    talking: Talk, desk_project: Path, port: int, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(os.environ["DESK_TOKEN"], encoding="utf-8")
    token.chmod(0o600)
    token.chmod(0o600)
    with guarded(desk_project, port, token):
        async with talking() as client:
            result = await client.call_tool("echo_remote", {"message": "hello"})

    assert text_of(result) == "Echo: hello"
