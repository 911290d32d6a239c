"""The framing of HTTP/1.1 requests, checked before they are parsed, so that no proxy can see other requests.

A parser that accepts an ambiguous request may find its end elsewhere than a proxy did, and answer the rest of its body
as a request of another client (request smuggling: RFC 9112, sections 6.1, 6.3 and 11.2).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

MAX_HEAD_BYTES: Final = 65_536
"""Maximum bytes of the head of a request. The parser may have a lower limit."""
MAX_CHUNKS: Final = 65_536
"""Maximum chunks of a body; each costs as much time as some kilobytes."""
_MAX_CHUNK_LINE: Final = 1024
_MAX_TRAILER_BYTES: Final = 8192
_MAX_TRAILERS: Final = 100
_MAX_LENGTH_DIGITS: Final = 18

_FIELD: Final = re.compile(rb"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):(?P<value>[^\x00-\x08\x0a-\x1f\x7f]*)")
"""A header: no white space before the colon, no control character, no continuation of the header before it."""
_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e\x80-\xff]+ HTTP/(?P<version>\d\.\d)")
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

    def feed(self, data: bytes) -> None:
        """Check the bytes that follow those of the last call.

        Raises:
            FramingError: a request is ambiguous. The connection must be closed.
        """
        position = 0
        while position < len(data):
            match self._part:
                case _Part.HEAD:
                    position = self._read_head(data, position)
                case _Part.BODY | _Part.CHUNK:
                    position = self._skip(data, position)
                case _Part.CHUNK_LINE:
                    position = self._read_chunk_line(data, position)
                case _Part.CHUNK_END:
                    position = self._read_chunk_end(data, position)
                case _Part.TRAILER:
                    position = self._read_trailer(data, position)

    def _skip(self, data: bytes, position: int) -> int:
        taken = min(self._remaining, len(data) - position)
        self._remaining -= taken
        if not self._remaining:
            self._part = _Part.CHUNK_END if self._part is _Part.CHUNK else _Part.HEAD
        return position + taken

    def _read_chunk_end(self, data: bytes, position: int) -> int:
        line, position = self._until(data, position, b"\r\n", 1)
        if line:
            raise FramingError("a chunk is longer than its size")
        if line is not None:
            self._part = _Part.CHUNK_LINE
        return position

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

    def _read_head(self, data: bytes, position: int) -> int:
        head, position = self._until(data, position, b"\r\n\r\n", MAX_HEAD_BYTES)
        if head is None:
            # A head that ends with bare line feeds ends earlier for some parsers.
            if _BAD_LINE_END.search(self._line):
                raise FramingError("a line of the head must end with CR LF")
            return position
        is_chunked, self._remaining = _body(head)
        self._chunks = self._trailers = 0
        if is_chunked:
            self._part = _Part.CHUNK_LINE
        elif self._remaining:
            self._part = _Part.BODY
        return position

    def _read_chunk_line(self, data: bytes, position: int) -> int:
        line, position = self._until(data, position, b"\r\n", _MAX_CHUNK_LINE)
        if line is None:
            return position
        found = _CHUNK_LINE.fullmatch(line)
        if not found:
            raise FramingError("the size of a chunk is invalid")
        self._remaining = int(found["size"], 16)
        self._chunks += 1
        if self._chunks > MAX_CHUNKS:
            raise FramingError("the body has too many chunks")
        self._part = _Part.CHUNK if self._remaining else _Part.TRAILER
        return position

    def _read_trailer(self, data: bytes, position: int) -> int:
        line, position = self._until(data, position, b"\r\n", _MAX_TRAILER_BYTES)
        if line is None:
            return position
        self._trailers += 1
        if not line:
            self._part = _Part.HEAD
        elif self._trailers > _MAX_TRAILERS or not _FIELD.fullmatch(line):
            raise FramingError("a trailer is invalid")
        return position


def _body(head: bytes) -> tuple[bool, int]:
    """Return whether the body after `head` is chunked, and its length otherwise.

    Raises:
        FramingError: the head is invalid or ambiguous.
    """
    first, *lines = head.split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(first)
    if not request_line:
        raise FramingError("the request line is invalid")
    lengths, codings = list[bytes](), list[bytes]()
    for line in lines:
        field = _FIELD.fullmatch(line)
        if not field:
            raise FramingError("a header is invalid")
        name, value = field["name"].lower(), field["value"].strip(b" \t")
        if name == b"content-length":
            lengths.append(value)
        elif name == b"transfer-encoding":
            codings.append(value.lower())
    if codings:
        if lengths or codings != [b"chunked"] or request_line["version"] != b"1.1":
            raise FramingError("Transfer-Encoding must be `chunked`, without Content-Length, in HTTP/1.1")
        return True, 0
    if not lengths:
        return False, 0
    [length, *others] = lengths
    if others or not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
        raise FramingError("Content-Length must be one number")
    return False, int(length)
