"""A server over streamable HTTP: on loopback, in both eras, and gone when told to."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import select
import signal
import socket
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from http_peer import BEARER, TOKEN_FILE, RawClient, post, serving
from malformed import NO_JSON, REFUSED, UNANSWERED
from mcp import Client
from oracle import ERAS, LEGACY, MODERN
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.http import listen, serve
from toolmason_runtime.transports.http_access import AccessError
from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES
from toolmason_runtime.transports.open_access import is_loopback
from toolmason_runtime.transports.shutdown import Shutdown

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
async def test_both_eras_are_served_at_one_address(mode: str) -> None:
    with serving() as (_, address):
        async with Client(address, mode=mode) as client:
            listed = await client.list_tools()
            result = await client.call_tool("count_words", {"text": "a b", "label": None})

    assert listed.tools[0].name == "count_words"
    assert result.structured_content == {"words": 2, "longest": "a", "shortest": "a"}


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_arguments_and_results_are_not_logged_at_any_level(mode: str) -> None:
    with serving("--log-level", "debug") as (process, address):
        async with Client(address, mode=mode) as client:
            result = await client.call_tool("count_words", {"text": "a-private-question", "label": None})
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()

    assert result.structured_content == {"words": 1, "longest": "a-private-question", "shortest": "a-private-question"}
    assert '"level": "debug"' in said
    assert "a-private-question" not in said


def answer(
    address: str, headers: dict[str, str], method: str = "POST", body: str | None = None
) -> http.client.HTTPResponse:
    """Send one request that opens no session and return the response, read to its end."""
    place = address.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(place, timeout=PATIENCE_S)
    connection.request(method, "/mcp", body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_only_the_names_and_the_port_of_the_server_are_served() -> None:
    with serving() as (_, address):
        port = address.removesuffix("/mcp").rpartition(":")[2]
        own = [f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "127.0.0.1"]
        other = [
            "evil.example",
            f"evil.example:{port}",
            f"127.0.0.1:{port}@evil.example",
            "127.0.0.1:evil.example",
            f"127.0.0.1:{port}.evil.example",
            f"127.0.0.1.evil.example:{port}",
            "localhost:1",
            "127.0.0.1:",
            "",
        ]

        assert {host: post(address, {"Host": host}) for host in own} == dict.fromkeys(own, 200)
        assert {host: post(address, {"Host": host}) for host in other} == dict.fromkeys(other, 421)


def test_other_methods_get_405_with_the_allowed_ones() -> None:
    methods = ["PUT", "PATCH", "TRACE", "PROPFIND", "M-SEARCH", "BREW", "get", "Post", "OPTIONS"]
    with serving() as (_, address):
        refused = [answer(address, {}, method) for method in methods]

    assert [(response.status, response.headers["Allow"]) for response in refused] == [(405, "GET, POST, DELETE")] * len(
        methods
    )


def test_pages_of_other_origins_and_other_ports_are_refused() -> None:
    with serving() as (_, address):
        port = address.removesuffix("/mcp").rpartition(":")[2]
        foreign = [
            "http://evil.example",
            "http://127.0.0.1",
            "http://127.0.0.1:1",
            f"http://localhost:{port}",
            f"http://127.0.0.1:{port}@evil.example",
            "http://127.0.0.1:1@evil.example",
            "null",
            "",
        ]

        assert post(address, {"Origin": f"http://127.0.0.1:{port}"}) == 200
        assert {origin: post(address, {"Origin": origin}) for origin in foreign} == dict.fromkeys(foreign, 403)


def test_named_host_is_allowed_with_the_port_of_the_server_and_a_named_port_alone() -> None:
    names = ("--allow-host", "tools.example", "--allow-host", "Tunnel.example:9000")
    with serving(*names, "--token-file", TOKEN_FILE) as (_, address):
        port = address.removesuffix("/mcp").rpartition(":")[2]
        hosts = ["tools.example", f"tools.example:{port}", "tunnel.example:9000"]

        assert {host: post(address, {"Host": host} | BEARER) for host in hosts} == dict.fromkeys(hosts, 200)
        for host in ("evil.example", "tools.example:9000", "tunnel.example", f"tunnel.example:{port}"):
            assert post(address, {"Host": host} | BEARER) == 421


def test_pages_of_an_allowed_origin_get_cors_headers() -> None:
    page = {"Origin": "https://app.example"}
    preflight = page | {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, mcp-protocol-version",
        "Access-Control-Request-Private-Network": "true",
    }
    with serving("--allow-origin", "https://App.example", "--token-file", TOKEN_FILE) as (_, address):
        asked = answer(address, preflight, "OPTIONS")
        allowed = post(address, page | BEARER)
        refused = post(address, {"Origin": "https://app.example.evil"} | BEARER)
        without_token = post(address, page)

    assert (asked.status, allowed, refused, without_token) == (200, 200, 403, 401)
    assert asked.headers["Access-Control-Allow-Origin"] == "https://app.example"
    assert "authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert asked.headers["Access-Control-Allow-Private-Network"] == "true"


@pytest.mark.parametrize(
    ("given", "challenge"),
    [
        ({}, "Bearer"),
        ({"Authorization": "Basic YTpi"}, "Bearer"),
        ({"Authorization": "Bearer"}, 'Bearer error="invalid_token"'),
        ({"Authorization": "Bearer a-token-that-only-tests-us"}, 'Bearer error="invalid_token"'),
        ({"Authorization": "Bearer \xe4"}, 'Bearer error="invalid_token"'),
    ],
)
def test_token_of_a_file_is_required_on_loopback_too(given: dict[str, str], challenge: str) -> None:
    with serving("--token-file", TOKEN_FILE) as (_, address):
        refused = [answer(address, given, method) for method in ("POST", "GET", "DELETE", "PUT")]
        accepted = post(address, BEARER)

    assert [(each.status, each.headers["WWW-Authenticate"]) for each in refused] == [(401, challenge)] * 4
    assert accepted == 200


def test_token_is_created_once_for_an_address_that_others_can_reach(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    remote = ("--host", "0.0.0.0", "--allow-host", "127.0.0.1")
    created = rf" \(bearer token in ({re.escape(str(tmp_path))}/state/sample/http-token)\)"
    tokens = []
    for _ in range(2):
        with serving(*remote, env=env, note=created) as (_, address):
            token = (tmp_path / "state" / "sample" / "http-token").read_text(encoding="ascii").strip()
            here = address.replace("0.0.0.0", "127.0.0.1")
            tokens.append(token)

            assert post(here, {}) == 401
            assert post(here, {"Authorization": f"bearer {token}"}) == 200
            assert post(here, {"Authorization": f"bearer {token}", "Host": "evil.example"}) == 421

    assert tokens[0] == tokens[1]
    assert len(tokens[0]) >= 43
    assert stat.S_IMODE((tmp_path / "state" / "sample" / "http-token").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state" / "sample").stat().st_mode) == 0o700


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
def test_loopback_hosts_are_recognised(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


def test_public_address_is_refused_before_the_server_is_created() -> None:
    def make_server() -> Any:
        raise AssertionError("nothing should be made")

    for given in ({}, {"allowed_hosts": ["a.example"]}, {"token": "a-token-that-only-tests-use"}):
        with pytest.raises(AccessError, match="is reachable from other machines"):
            serve(make_server, Shutdown(), host="0.0.0.0", port=0, **given)


@pytest.mark.parametrize("version", ERAS)
def test_half_a_character_is_refused_to_the_model_as_over_stdio(version: str) -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        refused = next(client.call("shout", {"text": "a \ud800 b \U0001f600"}))
        taken = next(client.call("shout", {"text": "b \U0001f600"}))

    assert refused["result"]["isError"] is True
    text = refused["result"]["content"][0]["text"]
    assert text.startswith(r"Argument 'text' contains the unpaired surrogate `\ud800` at character 3")
    assert taken["result"]["content"][0]["text"] == "B \U0001f600"


@pytest.mark.parametrize("result", [b"[]", b"null", b'"\\ud800"'])
def test_malformed_answer_fails_the_call_that_waits_for_it_and_is_refused(result: bytes) -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        said = client.call("ask", {})
        asked = next(said)
        refused = client.post(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], result))
        answer = next(said)

    assert asked["method"] == "elicitation/create"
    assert refused.status == 400
    assert answer["id"] == 1
    assert "did not answer elicitation/create: malformed response" in answer["result"]["content"][0]["text"]


MALFORMED = [*((line, -32700, None) for line in NO_JSON), *((line, -32600, number) for line, number in REFUSED)]


@pytest.mark.parametrize("version", ERAS)
def test_malformed_message_gets_the_error_and_the_id_that_it_gets_over_stdio(version: str) -> None:
    sent = [each for each in MALFORMED if len(each[0]) <= MAX_MESSAGE_BYTES]
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        answers = [client.post(line) for line, _, _ in sent]
        errors = [json.loads(response.read()) for response in answers]

    assert {response.status for response in answers} == {400}
    assert [(each["error"]["code"], each["id"]) for each in errors] == [(code, number) for _, code, number in sent]


@pytest.mark.parametrize("version", ERAS)
def test_malformed_notification_or_response_gets_no_error_of_the_protocol(version: str) -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        answers = [client.post(line) for line in UNANSWERED if line.strip() and len(line) <= MAX_MESSAGE_BYTES]
        bodies = [response.read() for response in answers]

    assert {(response.status, response.headers.get_content_type()) for response in answers} == {(400, "text/plain")}
    assert not any(body.startswith(b"{") for body in bodies)


def test_messages_of_another_session_are_never_replayed_even_with_equal_request_ids() -> None:
    with serving() as (_, address), ExitStack() as stack:
        one, other = RawClient(address, LEGACY, stack), RawClient(address, LEGACY, stack)
        ids, others_ids = [
            [line for line in client.lines("shout", {"text": text}) if line.startswith("id: ")]
            for client, text in ((one, "private"), (other, "own"))
        ]
        replayed = [list(other.resumed(each)) for each in ids]
        guessed = [list(other.resumed(f"id: {each}")) for each in range(10)]
        own = next(line for line in other.resumed(others_ids[0]) if line.startswith("data: {"))

    assert len(ids) == len(others_ids) == 2
    assert [line for lines in (*replayed, *guessed) for line in lines if line.startswith("data: {")] == []
    assert json.loads(own.removeprefix("data: "))["result"]["content"][0]["text"] == "OWN"


def test_only_the_path_of_the_protocol_is_served_with_or_without_a_slash_at_its_end() -> None:
    with serving() as (_, address):
        statuses = {path: post(address, {}, path) for path in ("/mcp", "/mcp/", "/mcp//", "/mcp/x", "/mcpx", "/")}

    assert statuses == {"/mcp": 200, "/mcp/": 200, "/mcp//": 404, "/mcp/x": 404, "/mcpx": 404, "/": 404}


def test_request_needs_a_session_and_must_accept_events_and_contain_json() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    given: list[dict[str, str]] = [
        {},
        {"Accept": "*/*"},
        {"Accept": "application/json"},
        {"Accept": "text/event-stream"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/jsonx"},
        {"Mcp-Session-Id": "unknown"},
    ]
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        statuses = [client.post(ping, **headers).status for headers in given]
        types = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        without_session = answer(address, types, body=json.dumps(ping))

    assert (statuses, without_session.status) == ([200, 200, 406, 406, 400, 415, 404], 400)


def test_client_that_disconnects_during_a_call_can_resume_its_stream() -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        lines = [""]
        said = client.lines("ask", {})
        while not lines[-1].startswith("data: {"):
            lines.append(next(said))
        client.disconnect()
        last_event = [line for line in lines if line.startswith("id: ")][-1]
        resumed = client.resumed(last_event)
        while next(resumed, None) is None:  # the server has not noticed yet that the client disconnected
            resumed = client.resumed(last_event)
        asked = json.loads(lines[-1].removeprefix("data: "))
        client.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
        answer = next(line for line in resumed if line.startswith("data: {"))

    assert asked["params"]["message"] == "Your name?"
    assert json.loads(answer.removeprefix("data: "))["params"]["message"] == "Your city?"


def test_stream_of_a_call_ends_with_its_session() -> None:
    with serving() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        said = client.call("ask", {})
        asked = next(said)
        ended = client.end_session()

        assert (asked["method"], ended.status, list(said)) == ("elicitation/create", 200, [])


ADJUSTED = """
from toolmason_runtime.transports import event_response, http_sessions
from toolmason_runtime.transports.http import serve
from toolmason_runtime.transports.shutdown import Shutdown
from sample_server.server import build_server

event_response.PING_S = 0.01
http_sessions.MAX_SESSIONS = 2
serve(build_server, Shutdown(), port=0)
"""


CHANGED_SDK = """
import sys
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sample_server.server import build_server
from toolmason_runtime.transports.http import serve
from toolmason_runtime.transports.shutdown import Shutdown

create = StreamableHTTPServerTransport._create_session_message
if sys.argv[1] == "changed":
    StreamableHTTPServerTransport._create_session_message = lambda self, *parts: create(self, *parts)
else:
    StreamableHTTPServerTransport._make = create
    del StreamableHTTPServerTransport._create_session_message
    StreamableHTTPServerTransport.__getattr__ = lambda self, name: self._make
shutdown = Shutdown()
shutdown.install()
serve(build_server, shutdown, port=0)
print("toolmason_runtime.transports.http_sessions" in sys.modules)
"""


@pytest.mark.parametrize("how", ["changed", "missing"])
def test_sdk_with_other_private_names_answers_with_its_own_sessions(how: str) -> None:
    with serving(how, command=["-c", CHANGED_SDK]) as (process, address), ExitStack() as stack:
        modern, legacy = (RawClient(address, era, stack) for era in (MODERN, LEGACY))
        arguments = {"tool_name": "shout", "args": {"text": "one"}}
        said = [list(client.call("call", arguments))[-1] for client in (modern, legacy)]
        status = legacy.end_session().status
        process.send_signal(signal.SIGTERM)
        used, _ = process.communicate(timeout=PATIENCE_S)

    assert [message["result"]["content"][0]["text"] for message in said] == ["ONE", "ONE"]
    assert (status, used, process.returncode) == (200, "False\n", 0)


def test_sessions_in_use_are_limited_and_one_that_ends_makes_room() -> None:
    with serving(command=["-m", "code_server", ADJUSTED]) as (_, address), ExitStack() as stack:
        clients = [RawClient(address, LEGACY, stack) for _ in range(2)]
        for client in clients:
            client.stream()
        refused = post(address, {})
        clients[0].end_session()

        assert [refused, post(address, {})] == [503, 200]


def test_stream_of_a_silent_call_begins_with_its_id_and_is_kept_open_by_comments() -> None:
    with serving(command=["-m", "code_server", ADJUSTED]) as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        said = client.lines("call", {"tool_name": "wait", "args": {}})
        lines = [next(said) for _ in range(8)]

    assert re.fullmatch(r"id: [\w-]{22}", lines[0])
    assert lines[1:] == ["data:", "retry: 500", "", ": ping", "", ": ping", ""]


async def test_small_answers_are_not_held_back() -> None:
    """Without TCP_NODELAY, which asyncio sets by the protocol of the listener, each call waits for 40 ms."""
    delays: asyncio.Queue[int] = asyncio.Queue()

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        delays.put_nowait(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen("127.0.0.1", 0) as listener:
        async with await asyncio.start_server(accepted, sock=listener):
            with socket.create_connection(listener.getsockname()):
                assert await delays.get() == 1


HALF_OPEN = [
    b"",
    b"POST /mcp HT",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\nGET /mcp HT",
]
IMPATIENT = """
from toolmason_runtime.transports.shutdown import Shutdown
from toolmason_runtime.transports.http import serve
from sample_server.server import build_server

ending = Shutdown()
ending.install()
serve(build_server, ending, port=0, request_timeout_s=3)
"""


def test_incomplete_requests_time_out_but_slow_answers_do_not() -> None:
    with serving(command=["-m", "code_server", IMPATIENT]) as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        stream = client.stream()
        place = address.removeprefix("http://").removesuffix("/mcp").split(":")
        half_open = []
        for begun in HALF_OPEN * 20:
            connection = stack.enter_context(socket.create_connection((place[0], int(place[1])), timeout=PATIENCE_S))
            connection.sendall(begun)
            half_open.append(connection)
        for connection in half_open:
            while connection.recv(65_536):
                pass

        # The stream was opened before all of them, and is what a client waits at for longer than that.
        assert stream.fp is not None
        assert select.select([stream.fp], [], [], 0)[0] == []
        assert [each["id"] for each in client.call("call", {"tool_name": "shout", "args": {"text": "a"}})] == [1]


@pytest.mark.parametrize("version", ERAS)
def test_call_that_runs_is_cancelled_before_the_state_is_closed(version: str) -> None:
    with serving("--all", "--farewell", "state is closed") as (process, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        list(client.call("show_state", {}))
        waiting = client.call("wait", {}, {"progressToken": "t"})
        assert next(waiting)["method"] == "notifications/progress"
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == "the wait was cancelled\nstate is closed\n"


@pytest.mark.parametrize("version", ERAS)
def test_finished_answer_is_sent_whole_though_the_server_ends_before_it_is_read(version: str) -> None:
    text = "x" * 3_000_000
    with serving() as (process, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        said = client.lines("shout", {"text": text})
        line = next(said)
        process.send_signal(signal.SIGTERM)
        lines = [line, *said]

        assert process.wait(PATIENCE_S) == 0
    answers = [line.removeprefix("data:").strip() for line in lines]
    [answer] = [json.loads(each) for each in answers if each.startswith("{")]
    assert answer["result"]["content"][0]["text"] == text.upper()
