"""The framing of HTTP/1.1 requests, checked before they are parsed, so that no proxy can see other requests.

A parser that accepts an ambiguous request may find its end elsewhere than a proxy did, and answer the rest of its body
as a request of another client (request smuggling: RFC 9112, sections 6.1, 6.3 and 11.2).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

MAX_HEAD_BYTES: Final = 65_536
"""Maximum bytes of the head of a request."""
MAX_CHUNKS: Final = 65_536
"""Maximum chunks of a body; each costs as much time as some kilobytes."""
_MAX_CHUNK_LINE: Final = 1024
_MAX_TRAILER_BYTES: Final = 8192
_MAX_TRAILERS: Final = 100
_MAX_LENGTH_DIGITS: Final = 18

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD: Final = re.compile(_TOKEN + rb":[^\x00-\x08\x0a-\x1f\x7f]*")
"""A header: no white space before the colon, no control character, no continuation of the header before it."""
_REQUEST_LINE: Final = re.compile(
    rb"(?P<method>" + _TOKEN + rb") (?:/[\x21\x22\x24-\x7e]*|\*) HTTP/1\.(?P<minor>[01])(?=\r|\Z)"
)
"""The target is a path or `*`: a host in the target could differ from the header `Host`."""
_FIELDS: Final = re.compile(rb"(?:\r\n%b)*" % _FIELD.pattern)
_KNOWN_FIELD: Final = re.compile(rb"\r\n(content-length|host|transfer-encoding|upgrade):([^\r]*)", re.IGNORECASE)
_BAD_LINE_END: Final = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\x00")
_CHUNK_LINE: Final = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,16})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")


class FramingError(ValueError):
    """A request whose end or headers are ambiguous."""


class _Part(Enum):
    """The part of a request that is read."""

    HEAD = auto()
    BODY = auto()
    CHUNK_LINE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILER = auto()


class RequestFraming:
    """Follows the requests of one connection through its bytes, in time linear in their number."""

    def __init__(self) -> None:
        self._part = _Part.HEAD
        self._line = b""
        """Bytes of an incomplete head or line."""
        self._remaining = 0
        """Bytes of the body or chunk that have not arrived."""
        self._chunks = self._trailers = 0
        """Numbers in this request."""
        self.is_http_1_0 = False
        """Whether the version of this request is HTTP/1.0."""
        self.method = b""
        """The method of this request."""

    @property
    def is_between(self) -> bool:
        """Whether no byte of the next request has arrived."""
        return self._part is _Part.HEAD and not self._line

    @property
    def is_in_body(self) -> bool:
        """Whether a part of the body has not arrived."""
        return self._part is not _Part.HEAD

    def feed(self, data: bytes) -> tuple[bytes, int]:
        """Check the bytes that follow those of the last call, up to the end of a request.

        Return them in the form for the parser, and the number of bytes read. The head comes whole, without `Upgrade`
        and trailing white space; chunks have no extensions; trailers are dropped, since they must not become headers.

        Raises:
            FramingError: a request is ambiguous. The connection must be closed.
        """
        parts: list[bytes] = []
        position = 0
        while position < len(data):
            match self._part:
                case _Part.HEAD:
                    part, position = self._read_head(data, position)
                case _Part.BODY | _Part.CHUNK:
                    part, position = self._read_body(data, position)
                case _Part.CHUNK_LINE:
                    part, position = self._read_chunk_line(data, position)
                case _Part.CHUNK_END:
                    part, position = self._read_chunk_end(data, position)
                case _Part.TRAILER:
                    part, position = self._read_trailer(data, position)
            parts.append(part)
            if self.is_between:
                break
        return b"".join(parts), position

    def _read_body(self, data: bytes, position: int) -> tuple[bytes, int]:
        part = data[position : position + self._remaining]
        self._remaining -= len(part)
        if not self._remaining:
            self._part = _Part.CHUNK_END if self._part is _Part.CHUNK else _Part.HEAD
        return part, position + len(part)

    def _read_chunk_end(self, data: bytes, position: int) -> tuple[bytes, int]:
        line, position = self._until(data, position, b"\r\n", 1)
        if line:
            raise FramingError("a chunk is longer than its size")
        if line is None:
            return b"", position
        self._part = _Part.CHUNK_LINE
        return b"\r\n", position

    def _until(self, data: bytes, position: int, end: bytes, maximum: int) -> tuple[bytes | None, int]:
        """Return the bytes up to `end`, which may have begun earlier, and the next position; None if it is missing."""
        start = len(self._line)
        self._line += data[position : position + maximum + len(end)]
        found = self._line.find(end, max(0, start - len(end) + 1))
        if found < 0:
            if len(self._line) > maximum:
                raise FramingError("the head of a request is too long")
            return None, len(data)
        line, self._line = self._line[:found], b""
        return line, position + found + len(end) - start

    def _read_head(self, data: bytes, position: int) -> tuple[bytes, int]:
        checked = max(0, len(self._line) - 1)
        head, position = self._until(data, position, b"\r\n\r\n", MAX_HEAD_BYTES)
        if head is None:
            # A head that ends with bare line feeds ends earlier for some parsers.
            if _BAD_LINE_END.search(self._line, checked):
                raise FramingError("a line of the head must end with CR LF")
            return b"", position
        request_line = _REQUEST_LINE.match(head)
        if not request_line:
            raise FramingError("the request line is invalid")
        if not _FIELDS.fullmatch(head, request_line.end()):
            raise FramingError("a header is invalid")
        self.method = request_line["method"]
        self.is_http_1_0 = request_line["minor"] == b"0"
        known: dict[bytes, list[bytes]] = {b"host": [], b"content-length": [], b"transfer-encoding": [], b"upgrade": []}
        for name, value in _KNOWN_FIELD.findall(head):
            known[name.lower()].append(value.strip(b" \t"))
        if len(known[b"host"]) > 1 or not (known[b"host"] or self.is_http_1_0):
            raise FramingError("a request must have one `Host`")
        is_chunked, self._remaining = _body(
            known[b"content-length"], known[b"transfer-encoding"], is_http_1_0=self.is_http_1_0
        )
        self._chunks = self._trailers = 0
        if is_chunked:
            self._part = _Part.CHUNK_LINE
        elif self._remaining:
            self._part = _Part.BODY
        if known[b"upgrade"]:
            # A server may ignore it (RFC 9110, section 7.8); parsers expect another protocol in place of the body.
            head = _KNOWN_FIELD.sub(lambda field: b"" if field[1].lower() == b"upgrade" else field[0], head)
        head += b"\r\n\r\n"
        if b" \r\n" in head or b"\t\r\n" in head:
            head = b"\r\n".join(line.rstrip(b" \t") for line in head.split(b"\r\n"))
        return head, position

    def _read_chunk_line(self, data: bytes, position: int) -> tuple[bytes, int]:
        line, position = self._until(data, position, b"\r\n", _MAX_CHUNK_LINE)
        if line is None:
            return b"", position
        found = _CHUNK_LINE.fullmatch(line)
        if not found:
            raise FramingError("the size of a chunk is invalid")
        self._remaining = int(found["size"], 16)
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            raise FramingError("the body has too many chunks")
        self._part = _Part.CHUNK if self._remaining else _Part.TRAILER
        return b"%x\r\n" % self._remaining, position

    def _read_trailer(self, data: bytes, position: int) -> tuple[bytes, int]:
        line, position = self._until(data, position, b"\r\n", _MAX_TRAILER_BYTES)
        if line is None:
            return b"", position
        if not line:
            self._part = _Part.HEAD
            return b"\r\n", position
        self._trailers += 1
        if self._trailers > _MAX_TRAILERS or not _FIELD.fullmatch(line):
            raise FramingError("a trailer is invalid")
        return b"", position


def _body(lengths: list[bytes], codings: list[bytes], *, is_http_1_0: bool) -> tuple[bool, int]:
    """Return whether a body is chunked, and its length otherwise.

    Raises:
        FramingError: the headers are ambiguous.
    """
    if codings:
        if lengths or [coding.lower() for coding in codings] != [b"chunked"] or is_http_1_0:
            raise FramingError("Transfer-Encoding must be `chunked`, without Content-Length, in HTTP/1.1")
        return True, 0
    if not lengths:
        return False, 0
    [length, *others] = lengths
    if others or not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
        raise FramingError("Content-Length must be one number")
    return False, int(length)
