"""A server over streamable HTTP: on loopback, in both eras, and gone when told to."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp import Client
from oracle import MODERN
from stdio_peer import PATIENCE_S
from toolwright_runtime.ending import Ending
from toolwright_runtime.http import is_loopback, serve

pytestmark = pytest.mark.anyio


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the sample on a free port; give the process and the address it names."""
    command = [sys.executable, "-m", "sample_server", "--classic", "--http", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        while "debug" in arguments and said and not said.startswith("serving"):
            said = process.stderr.readline()
        found = re.fullmatch(r"serving MCP at (http://\S+:\d+/mcp)\n", said)
        assert found, said + process.stderr.read()
        yield process, found[1]
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def post(address: str, headers: dict[str, str]) -> int:
    """Send an `initialize` and give the status of the response."""
    host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
    params: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "0"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    connection.request("POST", "/mcp", body, accepted | headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
async def test_both_eras_are_served_at_one_address(mode: str) -> None:
    with serving() as (_, address):
        async with Client(address, mode=mode) as client:
            listed = await client.list_tools()
            result = await client.call_tool("count_words", {"text": "a b", "label": None})

    assert listed.tools[0].name == "count_words"
    assert result.structured_content == {"words": 2, "longest": "a", "shortest": "a"}


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_what_is_asked_and_answered_is_logged_at_no_level(mode: str) -> None:
    with serving("--log-level", "debug") as (process, address):
        async with Client(address, mode=mode) as client:
            result = await client.call_tool("count_words", {"text": "a-private-question", "label": None})
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()

    assert result.structured_content == {"words": 1, "longest": "a-private-question", "shortest": "a-private-question"}
    assert "DEBUG" in said
    assert "a-private-question" not in said


def test_requests_for_another_host_or_from_another_origin_are_refused() -> None:
    with serving() as (_, address):
        here = post(address, {})
        other_host = post(address, {"Host": "evil.example"})
        other_origin = post(address, {"Origin": "http://evil.example"})

    assert (here, other_host, other_origin) == (200, 421, 403)


def test_named_host_is_allowed() -> None:
    with serving("--allow-host", "tools.example") as (_, address):
        assert post(address, {"Host": "tools.example"}) == 200
        assert post(address, {"Host": "evil.example"}) == 421


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_signal_ends_the_server_silently_though_a_client_is_connected(number: signal.Signals) -> None:
    with serving("--farewell", "state is closed") as (process, address):
        async with Client(address, mode="legacy") as client:
            await client.call_tool("show_state", {})
            process.send_signal(number)
            status = process.wait(PATIENCE_S)
        assert process.stderr is not None
        said = process.stderr.read()

    assert (status, said) == (0, "state is closed\n")


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_loopback_is_told_from_what_others_can_reach(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


def test_address_that_others_can_reach_is_refused_before_anything_is_made() -> None:
    def make_server() -> Any:
        raise AssertionError("nothing should be made")

    with pytest.raises(ValueError, match="can be reached from other machines"):
        serve(make_server, Ending(), host="0.0.0.0", port=0)
