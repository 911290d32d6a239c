"""Ambiguous requests get at most one answer, and nothing after them on their connection is answered."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest
from http_peer import serving
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.request_framing import MAX_CHUNKS, FramingError, RequestFraming

HOST = b"Host: 127.0.0.1\r\n"
HIDDEN = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def request(headers: bytes, body: bytes = b"", *, first: bytes = b"POST /mcp HTTP/1.1\r\n") -> bytes:
    return first + HOST + headers + b"\r\n" + body


EMPTY_CHUNKS = b"0\r\n\r\n"
AMBIGUOUS = {
    "length and coding": request(b"Content-Length: 4\r\n" + CHUNKED, EMPTY_CHUNKS),
    "coding and length": request(CHUNKED + b"Content-Length: 4\r\n", EMPTY_CHUNKS),
    "length 0 and coding": request(b"Content-Length: 0\r\n" + CHUNKED, EMPTY_CHUNKS),
    "two lengths": request(b"Content-Length: 2\r\nContent-Length: 4\r\n", b"{}{}"),
    "same length twice": request(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}"),
    "list of lengths": request(b"Content-Length: 2, 2\r\n", b"{}"),
    "length with a sign": request(b"Content-Length: +2\r\n", b"{}"),
    "negative length": request(b"Content-Length: -2\r\n", b"{}"),
    "hexadecimal length": request(b"Content-Length: 0x2\r\n", b"{}"),
    "length with an underscore": request(b"Content-Length: 1_0\r\n", b"{}" * 5),
    "length without a number": request(b"Content-Length:\r\n"),
    "length in other digits": request("Content-Length: \u0662\r\n".encode(), b"{}"),
    "endless length": request(b"Content-Length: " + b"9" * 40 + b"\r\n", b"{}"),
    "two codings": request(b"Transfer-Encoding: chunked, identity\r\n", EMPTY_CHUNKS),
    "coding twice": request(CHUNKED * 2, EMPTY_CHUNKS),
    "coding before another": request(b"Transfer-Encoding: gzip, chunked\r\n", EMPTY_CHUNKS),
    "unknown coding": request(b"Transfer-Encoding: xchunked\r\n", EMPTY_CHUNKS),
    "identity": request(b"Transfer-Encoding: identity\r\n", b"{}"),
    "quoted coding": request(b'Transfer-Encoding: "chunked"\r\n', EMPTY_CHUNKS),
    "coding with a parameter": request(b"Transfer-Encoding: chunked;q=1\r\n", EMPTY_CHUNKS),
    "coding after a vertical tab": request(b"Transfer-Encoding: \x0bchunked\r\n", EMPTY_CHUNKS),
    "coding in a continued line": request(b"Transfer-Encoding:\r\n chunked\r\n", EMPTY_CHUNKS),
    "space before the colon": request(b"Transfer-Encoding : chunked\r\n", EMPTY_CHUNKS),
    "coding in HTTP/1.0": request(CHUNKED, EMPTY_CHUNKS, first=b"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\n"),
    "header with a bare line feed": request(b"A: b\nContent-Length: 2\r\n", b"{}"),
    "header with a bare carriage return": request(b"A: b\rContent-Length: 2\r\n"),
    "head with bare line feeds": b"POST /mcp HTTP/1.1\nHost: 127.0.0.1\n\n",
    "header with NUL": request(b"A: b\x00c\r\n"),
    "header without a name": request(b": b\r\n"),
    "header without a colon": request(b"Content-Length 2\r\n", b"{}"),
    "continued header": request(b"A: b\r\n c: d\r\n"),
    "line break in the target": request(b"", first=b"GET /mcp\rX HTTP/1.1\r\n"),
    "chunk of no hexadecimal size": request(CHUNKED, b"0x2\r\n{}\r\n" + EMPTY_CHUNKS),
    "chunk with a negative size": request(CHUNKED, b"-2\r\n{}\r\n" + EMPTY_CHUNKS),
    "chunk with a huge size": request(CHUNKED, b"1" + b"0" * 16 + b"2\r\n{}\r\n" + EMPTY_CHUNKS),
    "chunk that is too long": request(CHUNKED, b"2\r\n{}XX\r\n" + EMPTY_CHUNKS),
    "chunk with a bare line feed": request(CHUNKED, b"2\n{}\n0\n\n"),
    "extension with a bare carriage return": request(CHUNKED, b"2;a\rb\r\n{}\r\n" + EMPTY_CHUNKS),
    "extension with a bare line feed": request(CHUNKED, b"2;a\nb\r\n{}\r\n" + EMPTY_CHUNKS),
    "trailer with a bare line feed": request(CHUNKED, b"2\r\n{}\r\n0\r\nA: b\n\n"),
    "trailer without a colon": request(CHUNKED, b"2\r\n{}\r\n0\r\nA\r\n\r\n"),
}
VALID = {
    "length": request(b"Content-Length: 2\r\n", b"{}"),
    "length with white space": request(b"Content-Length: \t2 \t\r\n", b"{}"),
    "no body": HIDDEN,
    "chunks": request(CHUNKED, b"1\r\n{\r\n1\r\n}\r\n" + EMPTY_CHUNKS),
    "coding in upper case": request(b"TRANSFER-ENCODING: Chunked\r\n", b"2\r\n{}\r\n" + EMPTY_CHUNKS),
    "extension": request(CHUNKED, b'2;a=1;b="c"\r\n{}\r\n' + EMPTY_CHUNKS),
    "size with zeros": request(CHUNKED, b"0002\r\n{}\r\n" + EMPTY_CHUNKS),
    "trailer": request(CHUNKED, b"2\r\n{}\r\n0\r\nA: b\r\n\r\n"),
    "header with any text": request("A: \u00e9\t(b)\r\nContent-Length: 2\r\n".encode(), b"{}"),
}


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[str, int]]:
    """The address of a server."""
    with serving(env={"PYTHONPATH": os.pathsep.join(sys.path)}) as (_, address):
        host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
        yield host, int(port)


def answers(place: tuple[str, int], sent: bytes, *, until: int = 100) -> list[int]:
    """Return the statuses of the answers until the server closes the connection, or until there are so many."""
    received = b""
    with socket.create_connection(place, timeout=PATIENCE_S) as connection:
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            while len(statuses := _statuses(received)) < until and (part := connection.recv(65_536)):
                received += part
    return statuses if len(statuses) >= until else _statuses(received)


def _statuses(received: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_ambiguous_request_is_refused_and_its_connection_is_closed(place: tuple[str, int], case: str) -> None:
    assert answers(place, AMBIGUOUS[case] + HIDDEN) == [400]


@pytest.mark.parametrize("case", ["length and coding", "two lengths", "extension with a bare carriage return"])
def test_ambiguous_request_that_arrives_in_pieces_is_refused(place: tuple[str, int], case: str) -> None:
    received = b""
    with socket.create_connection(place, timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(ConnectionError):
            for byte in AMBIGUOUS[case] + HIDDEN:
                connection.sendall(bytes((byte,)))
        with suppress(ConnectionResetError):
            while part := connection.recv(65_536):
                received += part

    assert _statuses(received) in ([400], [])


def test_ambiguous_request_after_another_one_is_refused(place: tuple[str, int]) -> None:
    assert answers(place, HIDDEN + AMBIGUOUS["length and coding"] + HIDDEN) == [200, 400]


@pytest.mark.parametrize("case", VALID)
def test_valid_request_keeps_its_connection(place: tuple[str, int], case: str) -> None:
    first, second = answers(place, VALID[case] + HIDDEN, until=2)

    assert first in {200, 400, 406}  # an empty object is no message
    assert second == 200


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_pieces_of_any_size_have_the_same_framing(size: int) -> None:
    def is_refused(data: bytes) -> bool:
        framing = RequestFraming()
        try:
            for start in range(0, len(data), size):
                piece = data[start : start + size]
                while piece:
                    _, taken = framing.feed(piece)
                    piece = piece[taken:]
        except FramingError:
            return True
        return False

    assert not is_refused(b"".join(VALID.values()) * 2)
    assert [case for case, data in AMBIGUOUS.items() if not is_refused(data + HIDDEN)] == []


def test_body_of_too_many_chunks_is_refused() -> None:
    framing = RequestFraming()
    framing.feed(request(CHUNKED))
    framing.feed(b"1\r\na\r\n" * MAX_CHUNKS)

    with pytest.raises(FramingError, match="too many chunks"):
        framing.feed(b"1\r\na\r\n")
