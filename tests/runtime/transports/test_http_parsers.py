"""Both parsers of uvicorn give the application the same requests, and the client the same answers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from http_peer import asgi, fetch, post, serving
from hypothesis import given, settings
from hypothesis import strategies as st
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.http_connection import Connection
from toolmason_runtime.transports.http_parsers import FastConnection, H11Connection
from toolmason_runtime.transports.request_framing import MAX_HEAD_BYTES, RequestFraming
from uvicorn.server import ServerState

pytestmark = pytest.mark.anyio
PARSERS: list[type[Connection]] = [H11Connection, FastConnection]
HOST = b"Host: 127.0.0.1\r\n"
BODY = b'{"a": "b"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"4\r\n" + BODY[:4] + b"\r\n6;a=b\r\n" + BODY[4:] + b"\r\n0\r\n"
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"


def request(
    headers: bytes = b"", body: bytes = b"", line: bytes = b"POST /echo HTTP/1.1", *, host: bytes = HOST
) -> bytes:
    return line + b"\r\n" + host + headers + b"\r\n" + body


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the request; `/stream` without a length, `/early` before the body is read."""
    body, is_last = b"", scope["path"] == "/early"
    while not is_last:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        is_last = not message["more_body"]
    fields = {name: scope[name] for name in ("method", "path", "http_version")}
    fields["query"] = scope["query_string"].decode("latin-1")
    fields["headers"] = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]]
    said = json.dumps(fields | {"body": body.decode("latin-1")}).encode() + b"\n"
    length = [] if scope["path"] == "/stream" else [(b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": said[:5], "more_body": True})
    await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": said[5:]})


@asynccontextmanager
async def listening(
    parser: type[Connection], keep_alive_s: Any = 75, **limits: Any
) -> AsyncIterator[tuple[int, ServerState]]:
    config = uvicorn.Config(
        answer,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_keep_alive=keep_alive_s,
    )
    config.load()
    state = ServerState()
    limited = type("_Limited", (parser,), limits)
    server = await asyncio.get_running_loop().create_server(lambda: limited(config, state, {}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], state
        for connection in list(state.connections):
            connection.transport.abort()


async def exchange(port: int, pieces: Sequence[bytes], answers: int) -> bytes:
    """Send the pieces one by one; return what arrives until there are so many answers, or the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    async with asyncio.timeout(PATIENCE_S):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001 if len(pieces) > 1 else 0)
        while count(received) < answers and (part := await reader.read(65_536)):
            received += part
        # A further answer would be an error.
        try:
            async with asyncio.timeout(0.05):
                received += await reader.read(65_536)
        except (TimeoutError, ConnectionError):
            pass
    writer.close()
    return received


def count(received: bytes) -> int:
    """Return how many answers are complete: each echo is a line, and a refusal ends the connection."""
    return received.count(b"}\n")


def statuses(received: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def echoes(received: bytes) -> list[Any]:
    joined = re.sub(rb"(?<=\{.met)\r\n[0-9a-f]+\r\n", b"", received)  # the chunks of `/stream`
    return [json.loads(line) for line in re.findall(rb'\{"method.*\}\n', joined)]


ACCEPTED: dict[str, bytes] = {
    "length": request(LENGTH, BODY),
    "chunks": request(CHUNKED, CHUNKS + b"\r\n"),
    "h2c of Java": request(H2C + LENGTH, BODY, host=b"Connection: Upgrade, HTTP2-Settings\r\n" + HOST),
    "h2c with chunks": request(H2C + CHUNKED, CHUNKS + b"\r\n"),
    "h2c in other cases": request(LENGTH + b"CONNECTION: upgrade\r\nuPGRADE:\tH2C \t\r\n", BODY),
    "two upgrades": request(b"Upgrade: h2c\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" + LENGTH, BODY),
    "list of upgrades": request(b"Connection: keep-alive, Upgrade\r\nUpgrade: h2c, TLS/1.0\r\n" + LENGTH, BODY),
    "upgrade to WebSocket": request(b"Connection: Upgrade\r\nUpgrade: websocket\r\n" + LENGTH, BODY),
    "upgrade that Connection lacks": request(b"Upgrade: h2c\r\n" + LENGTH, BODY),
    "upgrade of Connection alone": request(b"Connection: Upgrade\r\n" + LENGTH, BODY),
    "upgrade of a request without a body": request(H2C, line=b"GET /echo HTTP/1.1"),
    "upgrade of the proxy": request(b"Proxy-Connection: Upgrade\r\nUpgrade: h2c\r\n" + LENGTH, BODY),
    "white space around values": request(b"A: \t b \t \r\nC:d\r\nE:\r\nF: \r\n" + LENGTH, BODY),
    "length between white space": request(b"Content-Length: \t10 \t\r\n", BODY),
    "coding between white space": request(b"Transfer-Encoding: \tchunked \t\r\n", CHUNKS + b"\r\n"),
    "other characters": request("A: \u00e9\t(b)\r\n".encode() + LENGTH, BODY),
    "names of other characters": request(b"!#$%&'*+-.^_`|~09: b\r\n" + LENGTH, BODY),
    "same header twice": request(b"A: b\r\na: c\r\n" + LENGTH, BODY),
    "trailers are no headers": request(CHUNKED, CHUNKS + b"Authorization: Bearer a\r\nHost: b\r\n\r\n"),
    "extensions of chunks": request(CHUNKED, b'00a ; a="b" ;c\r\n' + BODY + b"\r\n0;d\r\n\r\n"),
    "path with escapes": request(line=b"GET /a%20b/%C3%A9?c=%20&d?e HTTP/1.1"),
    "path with a host": request(line=b"GET //b.example:80/a@b:c HTTP/1.1"),
    "path with marks": request(line=b'GET /a"<>\\^`{|}[];?"<>\\^`{|}[] HTTP/1.1'),
    "all of the server": request(line=b"OPTIONS * HTTP/1.1"),
    "upper case of Host": request(LENGTH, BODY, host=b"HOST:127.0.0.1\r\n"),
    "method of WebDAV": request(LENGTH, BODY, line=b"PROPFIND /echo HTTP/1.1"),
    "method of UPnP": request(line=b"M-SEARCH * HTTP/1.1"),
    "method that nobody defines": request(LENGTH, BODY, line=b"BREW /echo HTTP/1.1"),
    "method in lower case": request(line=b"get /echo HTTP/1.1"),
    "method in mixed case": request(CHUNKED, CHUNKS + b"\r\n", line=b"Post /echo HTTP/1.1"),
    "method of other characters": request(line=b"!#$%&'*+-.^_`|~09 /echo HTTP/1.1"),
    "method with the answer before the body": request(LENGTH, BODY, line=b"BREW /early HTTP/1.1"),
    "answer without a length": request(LENGTH, BODY, line=b"POST /stream HTTP/1.1"),
    "answer before the body": request(LENGTH, BODY, line=b"POST /early HTTP/1.1"),
    "long head": request(b"A: " + b"b" * 60_000 + b"\r\n" + LENGTH, BODY),
}
NEXT = request(line=b"GET /next HTTP/1.1")


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("case", ACCEPTED)
async def test_request_arrives_whole_and_the_next_one_on_its_connection(case: str, parser: type[Connection]) -> None:
    sent = ACCEPTED[case]
    async with listening(parser) as (port, _):
        at_once = await exchange(port, [sent + NEXT], 2)
        half = len(sent) // 2
        in_pieces = await exchange(port, [sent[:half], sent[half:], NEXT], 2)
    async with listening(H11Connection) as (port, _):
        expected = echoes(await exchange(port, [sent], 1))

    assert [statuses(said) for said in (at_once, in_pieces)] == [[200, 200]] * 2
    assert echoes(at_once)[:1] == echoes(in_pieces)[:1] == expected
    assert [echoes(said)[1]["path"] for said in (at_once, in_pieces)] == ["/next"] * 2
    if sent.endswith((BODY, b"\r\n0\r\n\r\n")) and expected[0]["path"] != "/early":
        assert expected[0]["body"] == BODY.decode()
    assert [name for name, _ in expected[0]["headers"] if name in {"upgrade", "authorization"}] == []


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("case", ["h2c of Java", "h2c with chunks", "trailers are no headers"])
async def test_request_arrives_whole_byte_by_byte(case: str, parser: type[Connection]) -> None:
    async with listening(parser) as (port, _):
        received = await exchange(port, [bytes((byte,)) for byte in ACCEPTED[case]], 1)

    [echo] = echoes(received)
    assert echo["body"] == BODY.decode()


REFUSED: dict[str, bytes] = {
    "no host": request(LENGTH, BODY, host=b""),
    "two hosts": request(b"host: b.example\r\n" + LENGTH, BODY),
    "same host twice": request(HOST + LENGTH, BODY),
    "two hosts in HTTP/1.0": request(HOST, line=b"GET /echo HTTP/1.0"),
    "target with a host": request(line=b"GET http://b.example/echo HTTP/1.1"),
    "target of a tunnel": request(line=b"CONNECT b.example:443 HTTP/1.1"),
    "target with a fragment": request(line=b"GET /echo#a HTTP/1.1"),
    "target with other characters": request(line="GET /\u00e9 HTTP/1.1".encode()),
    "target with a space": request(line=b"GET /a b HTTP/1.1"),
    "two spaces": request(line=b"GET  /echo HTTP/1.1"),
    "no version": request(line=b"GET /echo"),
    "HTTP/0.9": request(line=b"GET /echo HTTP/0.9"),
    "HTTP/2.0": request(line=b"PRI * HTTP/2.0"),
    "version in lower case": request(line=b"GET /echo http/1.1"),
    "upgrade with both lengths": request(H2C + LENGTH + CHUNKED, CHUNKS + b"\r\n"),
    "upgrade in a continued line": request(b"Connection: Upgrade\r\nA: b\r\n Upgrade: h2c\r\n" + LENGTH, BODY),
    "upgrade with a space before its colon": request(b"Upgrade : h2c\r\n" + LENGTH, BODY),
    "head that is too long": request(b"A: " + b"b" * MAX_HEAD_BYTES + b"\r\n"),
    "many headers that are too long": request(b"A: b\r\n" * (MAX_HEAD_BYTES // 6)),
    "record of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("case", REFUSED)
async def test_request_is_refused_and_its_connection_is_closed(case: str, parser: type[Connection]) -> None:
    async with listening(parser) as (port, _):
        alone = await exchange(port, [REFUSED[case] + NEXT], 1)
        behind = await exchange(port, [NEXT + REFUSED[case] + NEXT], 2)

    assert (statuses(alone), statuses(behind)) == ([400], [200, 400])


@pytest.mark.parametrize("parser", PARSERS)
async def test_requests_on_one_connection_are_answered_in_their_order(parser: type[Connection]) -> None:
    paths = [f"/{number}" for number in range(20)]
    sent = [
        request((H2C if number % 3 else b"") + LENGTH, BODY, line=f"POST {path} HTTP/1.1".encode())
        for number, path in enumerate(paths)
    ]
    async with listening(parser) as (port, _):
        received = await exchange(port, [b"".join(sent)], len(sent))

    assert [echo["path"] for echo in echoes(received)] == paths
    assert {echo["body"] for echo in echoes(received)} == {BODY.decode()}


@pytest.mark.parametrize("parser", PARSERS)
async def test_client_that_waits_for_100_gets_it(parser: type[Connection]) -> None:
    async with listening(parser) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(H2C + LENGTH + b"Expect: 100-Continue\r\n"))
        async with asyncio.timeout(PATIENCE_S):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            writer.write(BODY)
            received = await reader.readuntil(b"}\n")
        writer.close()

    assert echoes(received)[0]["body"] == BODY.decode()


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("before", [b"", NEXT])
@pytest.mark.parametrize("path", [b"/echo", b"/stream"])
async def test_answer_to_http_1_0_ends_with_its_connection(
    path: bytes, before: bytes, parser: type[Connection]
) -> None:
    old = request(LENGTH + b"Connection: keep-alive\r\n", BODY, line=b"POST %b HTTP/1.0" % path)
    async with listening(parser) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(before + old + NEXT)
        async with asyncio.timeout(PATIENCE_S):
            received = await reader.read()
        writer.close()
        assert not state.connections

    head, _, body = received[received.rindex(b"HTTP/1.1 200") :].partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert b"connection: close" in head.lower()
    assert json.loads(body)["body"] == BODY.decode()


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("started", [b"", NEXT])
@pytest.mark.parametrize(
    "part", [b"P", b"POST /echo HTTP/1.1\r\nHost", request(LENGTH, BODY[:4]), request(CHUNKED, CHUNKS)]
)
async def test_connection_ends_if_its_request_is_not_complete_in_time(
    part: bytes, started: bytes, parser: type[Connection]
) -> None:
    async with listening(parser, request_timeout_s=0.2) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(started + part)
        async with asyncio.timeout(PATIENCE_S):
            received = await reader.read()
        writer.close()

    assert statuses(received) == ([200] if started else [])


@pytest.mark.parametrize("parser", PARSERS)
async def test_half_of_the_next_request_does_not_end_a_running_one(parser: type[Connection]) -> None:
    async with listening(parser, request_timeout_s=0.005) as (port, _):
        received = await exchange(port, [request(line=b"GET /stream HTTP/1.1") + b"POST /ec"], 1)

    assert echoes(received)[0]["path"] == "/stream"


EARLY = request(LENGTH, line=b"POST /early HTTP/1.1")
IDLE: dict[str, list[bytes]] = {
    "after an answer": [NEXT],
    "after two answers": [NEXT, NEXT],
    "after answers sent at once": [NEXT + NEXT],
    "after a body in parts": [request(LENGTH, BODY[:4]), BODY[4:]],
    "after a body behind its answer": [EARLY, BODY],
    "after a body in parts behind its answer": [EARLY, BODY[:4], BODY[4:]],
    "after chunks behind their answer": [request(CHUNKED, line=b"POST /early HTTP/1.1"), CHUNKS + b"\r\n"],
    "after line ends behind an answer": [EARLY, BODY, b"\r\n"],
}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("case", IDLE)
async def test_idle_connection_ends(case: str, parser: type[Connection]) -> None:
    async with listening(parser, keep_alive_s=0.3, request_timeout_s=0.5) as (port, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in IDLE[case]:
            writer.write(piece)
            await asyncio.sleep(0.05)
        async with asyncio.timeout(PATIENCE_S):
            received = await reader.read()
        writer.close()
        assert not state.connections

    assert set(statuses(received)) <= {200, 400}
    assert statuses(received)[0] == 200


@pytest.mark.parametrize("parser", PARSERS)
async def test_idle_time_begins_after_each_answer(parser: type[Connection]) -> None:
    async with listening(parser, keep_alive_s=0.5) as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        started = asyncio.get_running_loop().time()
        for _ in range(6):
            writer.write(NEXT)
            await reader.readuntil(b"}\n")
            await asyncio.sleep(0.2)
        async with asyncio.timeout(PATIENCE_S):
            rest = await reader.read()
        writer.close()

    assert rest == b""
    assert asyncio.get_running_loop().time() - started > 1


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("method", [b"GET", b"BREW"])
async def test_running_request_is_not_idle(method: bytes, parser: type[Connection]) -> None:
    async with listening(parser, keep_alive_s=0.005) as (port, _):
        received = await exchange(port, [request(line=method + b" /stream HTTP/1.1") * 2], 2)

    assert [echo["path"] for echo in echoes(received)] == ["/stream"] * 2


@given(st.lists(st.sampled_from(sorted(ACCEPTED)), min_size=1, max_size=4), st.data())
@settings(max_examples=200, deadline=None)
def test_pieces_of_any_size_give_the_parser_the_same_bytes(cases: list[str], data: st.DataObject) -> None:
    sent = b"".join(ACCEPTED[case] for case in cases)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=8)))
    framing = RequestFraming()
    parsed: list[bytes] = [b""]
    for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        piece = sent[start:end]
        while piece:
            part, size = framing.feed(piece)
            piece = piece[size:]
            parsed[-1] += part
            if framing.is_between:
                parsed.append(b"")

    expected = [RequestFraming().feed(ACCEPTED[case]) for case in cases]
    assert [size for _, size in expected] == [len(ACCEPTED[case]) for case in cases]
    assert parsed == [*(part for part, _ in expected), b""]


def test_server_without_httptools_serves_with_h11(tmp_path: Path) -> None:
    tmp_path.joinpath("httptools.py").write_text("raise ImportError('no wheel for this platform')\n", encoding="utf-8")
    with serving(env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}) as (_, address):
        assert post(address, {}) == 200


def test_a_body_dropped_by_the_asgi_server_is_logged_with_the_fix() -> None:
    pytest.importorskip("httptools", exc_type=ImportError)
    upgrade = {"Content-Type": "application/json", "Connection": "Upgrade", "Upgrade": "h2c"}
    with asgi() as (process, address):
        assert fetch(address, "POST", "/mcp", "{}", **upgrade)[0] == 400
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)

    assert "start uvicorn with `--http h11`" in said
