"""A hostile HTTP API, and a hostile MCP server at `/mcp`, with sockets alone: the table has a row for each kind."""

from __future__ import annotations

import gzip
import json
import socketserver
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hostile_upstream import MB, RESULTS, answer

JSON = "application/json"
BIG = 16 * MB - 100
Headers = dict[str, str] | list[tuple[str, str]]
Row = Callable[[], tuple[Headers, Iterable[bytes]]]


def body(data: bytes, media_type: str = JSON, **headers: str) -> tuple[Headers, Iterable[bytes]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"content-type": media_type, "content-length": str(len(data)), **named}, [data]


def chunked(pieces: Iterable[bytes], media_type: str = JSON) -> tuple[Headers, Iterable[bytes]]:
    framed = (b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return {"content-type": media_type, "transfer-encoding": "chunked"}, _ended(framed)


def _ended(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield from pieces
    yield b"0\r\n\r\n"


def many(item: bytes, separator: bytes = b",", size: int = BIG) -> bytes:
    count = (size - len(item)) // (len(item) + len(separator))
    return b"[" + (item + separator) * count + item + b"]"


def text_of(unit: bytes, size: int = BIG) -> bytes:
    return unit * (size // len(unit))


def compressed(data: bytes) -> bytes:
    return gzip.compress(data, 1)


ROWS: dict[str, Row] = {
    # Link headers of 60 kB, at the limit of the HTTP client.
    "link-openings": lambda: body(b"[1]", link="<" * 60_000),
    "link-parameters": lambda: body(b"[1]", link="<a>" + ";x=1" * 15_000),
    "link-quotes": lambda: body(b"[1]", link='<a>; x="' + '\\"' * 30_000),
    "link-itself": lambda: body(b"[1]", link="</link-itself>; rel=next"),
    "link-many": lambda: body(b"[1]", link="<a>; rel=x, " * 5_000),
    # Values.
    "dicts": lambda: body(many(b"{}")),
    "lists": lambda: body(many(b"[]")),
    "numbers": lambda: body(many(b"1")),
    "objects": lambda: body(many(b'{"id":1,"x":[{}]}')),
    "nested": lambda: body(b"[" * (8 * MB - 100) + b"]" * (8 * MB - 100)),
    "nested-a-little": lambda: body(b"[" * 500 + b"]" * 500),
    "string": lambda: body(b'"' + text_of(b"x") + b'"'),
    "strings": lambda: body(many(b'"' + b"x" * 100 + b'"')),
    "commas": lambda: body(b'["' + text_of(b",[{") + b'"]'),
    "escapes": lambda: body(b'["' + text_of(b"\\u202e") + b'"]'),
    "short-escapes": lambda: body(b'["' + text_of(b"\\u202e", MB) + b'"]'),
    "surrogates": lambda: body(b'["' + text_of(b"\\ud800") + b'"]'),
    "wide": lambda: body(b'["' + text_of(b"x", BIG - 100) + "😀".encode() + b'"]'),
    "digits": lambda: body(b"[" + text_of(b"9") + b"]"),
    "integers": lambda: body(many(b"9" * 4_200)),
    "exponents": lambda: body(many(b"1e999", size=MB)),
    "constants": lambda: body(many(b"NaN", size=MB)),
    "names": lambda: body(b"{" + text_of(b'"a":1,', 2 * MB) + b'"b":2}'),
    "invalid": lambda: body(text_of(b'"')),
    "unfinished": lambda: body(b'["' + text_of(b"\\\\")),
    "marked": lambda: body(b"\xef\xbb\xbf[1]"),
    "invalid-utf8": lambda: body(b'["' + text_of(b"\xff") + b'"]'),
    "small-values": lambda: body(many(b"{}", size=255 * 1024)),
    # Charsets, with the kinds of text that each decodes slowest.
    "punycode": lambda: body(text_of(b"a"), "text/plain; charset=-punycode"),
    "idna": lambda: body(text_of(b"a"), "text/plain; charset=_idna_"),
    "utf-7": lambda: body(text_of(b"+AAA"), "text/plain; charset=utf-7"),
    "cp1252": lambda: body(text_of(b"\x81"), "text/plain; charset=cp1252"),
    "utf-32": lambda: body(text_of(b"\xff"), "text/plain; charset=utf-32"),
    "long-charset": lambda: body(b"a", "text/plain; charset=" + "x" * 10_000),
    "zlib": lambda: body(text_of(b"a", MB), "text/plain; charset=zlib"),
    # Text.
    "controls": lambda: body(text_of(b"\x1b"), "text/plain"),
    "invisible": lambda: body(text_of("\u200b".encode()), "text/plain"),
    "html-as-image": lambda: body(b"<script>", "image/svg+xml"),
    # Compression, chunks and headers.
    "gzip": lambda: body(compressed(many(b"{}")), content_encoding="gzip"),
    "gzip-bomb": lambda: body(compressed(b" " * (200 * MB)), content_encoding="gzip"),
    "gzip-twice": lambda: body(compressed(b"[1]") * 100_000, content_encoding="gzip"),
    "bytes-alone": lambda: chunked(b"[1]"[position % 3 : position % 3 + 1] for position in range(2 * MB)),
    "endless": lambda: chunked(iter(lambda: b"x" * 65_536, b"")),
    "many-headers": lambda: ([("content-length", "3"), *[("x-a", "b")] * 10_000], [b"[1]"]),
    "cookies": lambda: ([("content-length", "3"), *[("set-cookie", "a=b")] * 100_000], [b"[1]"]),
    "long-header": lambda: body(b"[1]", x_a="b" * MB),
    "long-location": lambda: body(b"", location="/" + "../" * 20_000),
    "retry-after": lambda: body(b"[1]", retry_after="9" * 50_000),
}
EVENTS: dict[str, Callable[[], Iterable[bytes]]] = {
    "event without end": lambda: iter(lambda: b"data: " + b"x" * 65_536 + b"\n", b""),
    "line without end": lambda: iter(lambda: b"x" * 65_536, b""),
    "endless comments": lambda: iter(lambda: b": x\n\n" * 10_000, b""),
}
"""Streams of events that never answer."""


class Handler(socketserver.StreamRequestHandler):
    """Answers one request after the other."""

    def handle(self) -> None:
        with suppress(OSError):
            while line := self.rfile.readline():
                method, path, _ = line.decode().split(" ")
                length = 0
                while (header := self.rfile.readline().lower()) not in (b"\r\n", b""):
                    length = int(header[15:]) if header.startswith(b"content-length:") else length
                self._answer(method, path, self.rfile.read(length))

    def _answer(self, method: str, path: str, sent: bytes) -> None:
        status = "302 Found" if path == "/long-location" else "429 Slow" if path == "/retry-after" else "200 OK"
        if path == "/mcp":
            status, (headers, pieces) = self._mcp(method, sent)
        else:
            headers, pieces = ROWS[path[1:]]() if path[1:] in ROWS else body(b"[]")
        pairs = headers.items() if isinstance(headers, dict) else headers
        head = "".join(f"{name}: {value}\r\n" for name, value in pairs)
        self.wfile.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode())
        for piece in pieces:
            self.wfile.write(piece)

    def _mcp(self, method: str, sent: bytes) -> tuple[str, tuple[Headers, Iterable[bytes]]]:
        if method != "POST":
            return "405 No", body(b"")
        kind: Any = json.loads(sent).get("params", {}).get("arguments", {}).get("kind", "")
        if kind in EVENTS:
            return "200 OK", chunked(EVENTS[kind](), "text/event-stream; charset=-punycode")
        data = answer(sent)
        if kind == "compressed":
            return "200 OK", body(compressed(data), content_encoding="gzip")
        if kind.startswith("event: ") and kind[7:] in RESULTS:
            data = answer(sent.replace(b"event: ", b""))
            return "200 OK", body(b"event: message\ndata: " + data + b"\n\n", "text/event-stream")
        return ("200 OK", body(data)) if data else ("202 Accepted", body(b""))


class Server(socketserver.ThreadingTCPServer):
    """The API on a free port of loopback."""

    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def serving() -> Iterator[str]:
    """Serve until the end of the block, in a process of its own; yield the URL."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
