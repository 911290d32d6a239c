"""No client of a server over HTTP takes the place, the memory or the time of the others."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from http_peer import BEARER, TOKEN_FILE, RawClient, fetch, post, serving
from oracle import ERAS, LEGACY, MODERN
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.limits import client_of
from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets and limits of Unix")


def place_of(address: str) -> tuple[str, int]:
    host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
    return host, int(port)


@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked\r\n", b"Content-Length: 104857600\r\n"])
def test_body_that_is_too_large_is_answered_and_not_read(head: bytes) -> None:
    chunk = b"x" * 65_536
    part = b"%x\r\n%b\r\n" % (len(chunk), chunk) if head.startswith(b"Transfer") else chunk
    with serving() as (_, address), socket.create_connection(place_of(address), timeout=PATIENCE_S) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + head + b"\r\n"
        )
        sent = 0
        with suppress(ConnectionError):
            while sent < 100 * 1024 * 1024:
                sent += connection.send(part)
        received = b""
        with suppress(ConnectionResetError):
            while data := connection.recv(65_536):
                received += data

    # What the server has read, and what the buffers of both sockets hold.
    assert sent < MAX_MESSAGE_BYTES + 16 * 1024 * 1024
    assert received.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in received.lower()
    assert received.count(b"HTTP/1.1 ") == 1


def test_body_of_a_refused_request_is_read_if_it_is_small() -> None:
    small, large = (b"x" * size for size in (10_000, 100_000_000))
    head = "POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n"
    with serving() as (_, address), socket.create_connection(place_of(address), timeout=PATIENCE_S) as connection:
        for _ in range(2):
            connection.sendall(head.format(len(small)).encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")
            connection.sendall(small)
        connection.sendall(head.format(len(large)).encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 404 ")
        with pytest.raises(ConnectionError):
            connection.sendall(large)


@pytest.mark.parametrize("version", ERAS)
def test_one_client_has_a_limit_of_its_own(version: str) -> None:
    limits = ("--max-requests", "10", "--max-client-requests", "2")
    with serving(*limits) as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        waiting = [client.lines("wait", {}, {"progressToken": turn}) for turn in range(2)]
        for said in waiting:
            assert "notifications/progress" in next(line for line in said if line.startswith("data: {"))
        refused = client.post({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        other = http.client.HTTPConnection(*place_of(address), timeout=PATIENCE_S, source_address=("127.0.0.2", 0))
        other.request("POST", "/mcp", b"{}", {"Content-Type": "application/json"})

        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        assert other.getresponse().status == 400
        other.close()


class User:
    """A user as the SDK's middleware puts it into a scope."""

    def __init__(self, subject: str | None, client_id: str, issuer: str) -> None:
        self.access_token = type("Token", (), {"subject": subject, "client_id": client_id, "claims": {"iss": issuer}})()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"client": ("192.0.2.1", 1)}, {"client": ("192.0.2.1", 2)}, True),
        ({"client": ("192.0.2.1", 1)}, {"client": ("192.0.2.2", 1)}, False),
        ({"client": ("192.0.2.1", 1)}, {"client": ("::ffff:192.0.2.1", 1)}, True),
        ({"client": ("2001:db8::1", 1)}, {"client": ("2001:db8::ffff:1", 1)}, True),
        ({"client": ("2001:db8::1", 1)}, {"client": ("2001:db8:0:1::1", 1)}, False),
        ({"client": ("fe80::1%eth0", 1)}, {"client": ("fe80::1", 1)}, True),
        ({"user": User("ada", "a", "i"), "client": ("192.0.2.1", 1)}, {"user": User("ada", "b", "i")}, True),
        ({"user": User("ada", "a", "i")}, {"user": User("bob", "a", "i")}, False),
        ({"user": User("ada", "a", "i")}, {"user": User("ada", "a", "j")}, False),
        ({"user": User(None, "a", "i")}, {"user": User(None, "b", "i")}, False),
    ],
)
def test_a_client_is_the_subject_of_its_token_or_its_address(one: Any, other: Any, is_same: bool) -> None:
    assert (client_of(one) == client_of(other)) is is_same


def test_a_request_over_a_unix_socket_belongs_to_no_client() -> None:
    assert client_of({"client": None}) == client_of({}) == client_of({"client": ("", 0)}) == ""


def opened(address: str, source: str) -> tuple[int, str, str | None]:
    """Open a session from an address of loopback; return the status, the id of the session and the time to repeat."""
    connection = http.client.HTTPConnection(*place_of(address), timeout=PATIENCE_S, source_address=(source, 0))
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", body, accepted)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, response.headers["Mcp-Session-Id"] or "", response.headers["Retry-After"]


def is_open(address: str, session: str) -> bool:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    return fetch(address, "POST", "/mcp", body, **headers, **{"Mcp-Session-Id": session})[0] == 200


def test_client_with_many_sessions_loses_only_its_own_oldest_session() -> None:
    with serving("--max-client-sessions", "3") as (_, address):
        other = opened(address, "127.0.0.2")
        own = [opened(address, "127.0.0.1") for _ in range(8)]
        places = [is_open(address, session) for _, session, _ in own]

        assert {status for status, _, _ in (other, *own)} == {200}
        assert places == [False] * 5 + [True] * 3
        assert is_open(address, other[1])


def test_client_whose_sessions_are_all_in_use_is_refused_with_the_time_to_repeat() -> None:
    with serving("--max-client-sessions", "2") as (_, address), ExitStack() as stack:
        for _ in range(2):
            stream = RawClient(address, LEGACY, stack).stream()
            assert stream.status == 200
        refused, other = opened(address, "127.0.0.1"), opened(address, "127.0.0.2")

    assert (refused[0], refused[2]) == (503, "10")
    assert other[0] == 200


FEW = """
from toolmason_runtime.transports import http_sessions
from toolmason_runtime.transports.http import serve
from toolmason_runtime.transports.shutdown import Shutdown
from sample_server.server import build_server

http_sessions.MAX_SESSIONS = 4
serve(build_server, Shutdown(), port=0)
"""


def test_others_connect_while_one_client_has_all_sessions() -> None:
    with serving(command=["-m", "code_server", FEW]) as (_, address):
        flood = [opened(address, "127.0.0.1") for _ in range(9)]
        others = [opened(address, f"127.0.0.{number}") for number in (2, 3)]

        assert {status for status, _, _ in (*flood, *others)} == {200}
        assert [is_open(address, session) for _, session, _ in others] == [True, True]
        assert [is_open(address, session) for _, session, _ in flood] == [False] * 7 + [True] * 2


def test_log_contains_no_full_session_id_and_no_token() -> None:
    arguments = ("--log-level", "info", "--token-file", TOKEN_FILE, "--max-client-sessions", "1")
    with serving(*arguments) as (process, address), ExitStack() as stack:
        token = BEARER["Authorization"].removeprefix("Bearer ")
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **BEARER}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        sessions = [fetch(address, "POST", "/mcp", body, **accepted)[1]["Mcp-Session-Id"] for _ in range(2)]
        fetch(address, "DELETE", "/mcp", **accepted, **{"Mcp-Session-Id": sessions[1]})
        for unknown in (sessions[0], sessions[1], "0123456789abcdef" * 2):
            assert fetch(address, "POST", "/mcp", body, **accepted, **{"Mcp-Session-Id": unknown})[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        log = process.stderr.read()
        stack.close()

    assert f"{sessions[0][:8]}..." in log
    assert f"{sessions[1][:8]}..." in log
    assert [secret for secret in (*sessions, token, "0123456789abcdef" * 2) if secret in log] == []


STALLED = """
import socket
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.transports import http, http_connection
from toolmason_runtime.transports.shutdown import Shutdown
from sample_server.server import build_server

http_connection.Connection.stall_s = {stall_s}
http_connection.MAX_UNSENT_BYTES = {max_bytes}
listen = http.listen

def small(host, port):
    listener = listen(host, port)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return listener

http.listen = small
shutdown = Shutdown()
shutdown.install()
http.serve(lambda: build_server(Selection("classic")), shutdown, port=0)
"""


def asking(text: str) -> bytes:
    """Return a call of `shout` of 2026-07-28."""
    about = {"protocolVersion": MODERN, "clientInfo": {"name": "x", "version": "0"}, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
    call = {"name": "shout", "arguments": {"text": text}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += "Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\nMcp-Name: shout\r\n"
    return f"{head}MCP-Protocol-Version: {MODERN}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def never_reading(address: str, stack: ExitStack, count: int, text: str) -> list[socket.socket]:
    """Open connections with a small buffer, and send a request on each."""
    connections = []
    for _ in range(count):
        connection = stack.enter_context(socket.socket())
        connection.settimeout(PATIENCE_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(place_of(address))
        connection.sendall(asking(text))
        connections.append(connection)
    return connections


def answered(address: str) -> float:
    """Ask for a small answer; return the seconds until it is there."""
    start = time.monotonic()
    with socket.create_connection(place_of(address), timeout=PATIENCE_S) as connection:
        connection.sendall(asking("small"))
        received = b""
        while b"SMALL" not in received:
            data = connection.recv(65_536)
            assert data, received
            received += data
    return time.monotonic() - start


def test_a_connection_without_a_request_stays_open_for_a_slow_client() -> None:
    with serving() as (_, address), socket.create_connection(place_of(address), timeout=PATIENCE_S) as connection:
        for pause_s in (6, 0):  # uvicorn itself closes after 5 s
            connection.sendall(asking("slow"))
            received = b""
            while b"SLOW" not in received:
                data = connection.recv(65_536)
                assert data, received
                received += data
            time.sleep(pause_s)


def test_clients_that_never_read_do_not_delay_the_next_one_and_are_disconnected() -> None:
    code = STALLED.format(stall_s=3, max_bytes=1 << 30)
    with serving(command=["-m", "code_server", code]) as (process, address), ExitStack() as stack:
        alone_s = max(answered(address) for _ in range(3))
        silent = never_reading(address, stack, 100, "x" * 200_000)
        beside_s = [answered(address) for _ in range(5)]
        assert process.stderr is not None
        said = {process.stderr.readline() for _ in silent}

    assert max(beside_s) < max(10 * alone_s, 2)
    assert all("disconnected a client: it has read nothing of its answer for 3 s" in line for line in said)


def test_clients_that_never_read_share_a_limit_of_bytes() -> None:
    code = STALLED.format(stall_s=600, max_bytes=1_000_000)
    with serving(command=["-m", "code_server", code]) as (process, address), ExitStack() as stack:
        never_reading(address, stack, 12, "x" * 200_000)
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(6)]
        answered(address)

    assert all("it does not read its answers, and too many bytes wait" in line for line in said)


@pytest.mark.parametrize("version", ERAS)
def test_answer_larger_than_the_limit_of_unsent_bytes_is_sent_as_fast_as_the_client_reads(version: str) -> None:
    code = STALLED.format(stall_s=600, max_bytes=1_000_000)
    with serving(command=["-m", "code_server", code]) as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        *_, answer = client.call("shout", {"text": "x" * 3_000_000})

    text = answer["result"]["content"][0]["text"]
    assert len(text) == 3_000_000


def test_client_that_reads_slowly_gets_its_whole_answer() -> None:
    code = STALLED.format(stall_s=1, max_bytes=1 << 30)
    with serving(command=["-m", "code_server", code]) as (_, address), ExitStack() as stack:
        [slow] = never_reading(address, stack, 1, "x" * 200_000)
        received = b""
        start = time.monotonic()
        while received.count(b"X") < 200_000:
            data = slow.recv(4096)
            assert data
            received += data
            if time.monotonic() - start < 3:
                time.sleep(0.1)

    assert time.monotonic() - start > 2


def test_server_accepts_clients_after_more_connections_than_descriptors() -> None:
    command = [
        "sh",
        "-c",
        'ulimit -n 64; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "sample_server",
        "--classic",
        "--http",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stderr is not None
        address = process.stderr.readline().split()[3]
        for _ in range(120):
            stack.enter_context(socket.create_connection(place_of(address), timeout=PATIENCE_S))
        seconds = answered(address)
        status = post(address, {})

    assert seconds < 10
    assert status == 200
