"""A server over streamable HTTP: on loopback, in both eras, and gone when told to."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from mcp import Client
from oracle import ERAS, LEGACY, MODERN
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
    assert '"level": "debug"' in said
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


class Raw:
    """A client that says what it likes, byte for byte."""

    def __init__(self, address: str, version: str, open_until: ExitStack) -> None:
        host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
        self._place = (host, int(port))
        self._open_until = open_until
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
        }
        self._about: dict[str, Any] = {"protocolVersion": version, "clientInfo": {"name": "x", "version": "0"}}
        self._is_modern = version == MODERN
        if not self._is_modern:
            params = {**self._about, "capabilities": {"elicitation": {}}}
            opened = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            self._headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message: dict[str, Any] | bytes) -> http.client.HTTPResponse:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection = http.client.HTTPConnection(*self._place, timeout=PATIENCE_S)
        self._open_until.callback(connection.close)
        connection.request("POST", "/mcp", body, self._headers)
        return self._open_until.enter_context(connection.getresponse())

    def call(self, name: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Give what is said to a call, message by message as they come."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if self._is_modern:
            about = {**self._about, "clientCapabilities": {}}
            params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
            self._headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
        for line in self.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}):
            text = line.decode().removeprefix("data:").strip()
            if text.startswith("{"):
                yield json.loads(text)


@pytest.mark.parametrize("version", ERAS)
def test_half_a_character_is_refused_to_the_model_as_over_stdio(version: str) -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = Raw(address, version, stack)
        refused = next(client.call("shout", {"text": "a \ud800 b \U0001f600"}))
        taken = next(client.call("shout", {"text": "b \U0001f600"}))

    assert refused["result"]["isError"] is True
    text = refused["result"]["content"][0]["text"]
    assert text.startswith(r"Argument 'text' holds `\ud800`, half a character, at character 3")
    assert taken["result"]["content"][0]["text"] == "B \U0001f600"


@pytest.mark.parametrize("result", [b"[]", b"null", b'"\\ud800"'])
def test_malformed_answer_fails_the_call_that_waits_for_it_and_is_refused(result: bytes) -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = Raw(address, LEGACY, stack)
        said = client.call("ask", {})
        asked = next(said)
        refused = client.post(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], result))
        answer = next(said)

    assert asked["method"] == "elicitation/create"
    assert refused.status == 400
    assert answer["id"] == 1
    assert "did not answer elicitation/create: its answer is malformed" in answer["result"]["content"][0]["text"]
