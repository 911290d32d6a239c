"""Bounded buffer for one output stream: the beginning in memory, more in a file, the rest only counted."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Final

MAX_IN_MEMORY: Final = 256 * 1024
"""Maximum bytes of one stream in memory."""
MAX_IN_FILE: Final = 64 * 1024 * 1024
"""Maximum bytes of one stream in its file; further bytes are counted and dropped."""

_PIECE: Final = 256 * 1024


class Capture:
    """The output of one stream of a program.

    The file has no name: other processes cannot open it, and the system removes it even after SIGKILL.
    """

    def __init__(self, *, max_memory_bytes: int = MAX_IN_MEMORY, max_file_bytes: int = MAX_IN_FILE) -> None:
        self._max_memory_bytes = max_memory_bytes
        self._max_file_bytes = max_file_bytes
        self._head = bytearray()
        self._file: IO[bytes] | None = None
        self._file_bytes = 0
        self._is_closed = False
        self.size = 0
        """Bytes written, dropped ones included."""
        self.is_blank = True
        """Whether the output has only white space."""

    @property
    def dropped_bytes(self) -> int:
        """Bytes that are not stored."""
        return self.size - len(self._head) - self._file_bytes

    def write(self, data: bytes) -> None:
        """Append bytes."""
        if self._is_closed:
            return
        self.size += len(data)
        self.is_blank = self.is_blank and not data.strip()
        room = self._max_memory_bytes - len(self._head)
        self._head += data[:room]
        self._spool(data[room:])

    def texts(self) -> Iterator[str]:
        """Yield the stored output. Invalid UTF-8 becomes U+FFFD; no character is split."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for piece in self._pieces():
            yield decoder.decode(piece)
        # A character that the limit cuts in two is not invalid output: it is dropped.
        if not self.dropped_bytes:
            yield decoder.decode(b"", final=True)

    def close(self) -> None:
        """Delete the stored output; later writes are ignored."""
        self._is_closed = True
        if self._file is not None:
            self._file.close()

    def _spool(self, data: bytes) -> None:
        rest = data[: self._max_file_bytes - self._file_bytes]
        try:
            while rest:
                count = self._open().write(rest)
                self._file_bytes += count
                rest = rest[count:]
        except OSError:
            # A full disk must not end the program. Later output is dropped too, so that the stored part has no gap.
            self._max_file_bytes = self._file_bytes

    def _open(self) -> IO[bytes]:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  it lives as long as this object
        return self._file

    def _pieces(self) -> Iterator[bytes]:
        yield bytes(self._head)
        if self._file is not None:
            self._file.seek(0)
            remaining = self._file_bytes
            while remaining and (piece := self._file.read(min(remaining, _PIECE))):
                remaining -= len(piece)
                yield piece
