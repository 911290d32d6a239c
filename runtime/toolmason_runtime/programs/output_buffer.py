"""What a program writes, kept as it comes: the beginning in memory, more of it in a file, the end of it perhaps not."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Final

MAX_IN_MEMORY: Final = 256 * 1024
"""Bytes of one stream that are held in memory."""
MAX_IN_FILE: Final = 64 * 1024 * 1024
"""Bytes of one stream that are held in a file besides; what comes after them is counted and dropped."""

_PIECE: Final = 256 * 1024


class Capture:
    """One stream of a program.

    The file has no name, so nobody else can open it and nothing of it is left behind, however the server ends.
    """

    def __init__(self, *, most_in_memory: int = MAX_IN_MEMORY, most_in_file: int = MAX_IN_FILE) -> None:
        self._most_in_memory = most_in_memory
        self._most_in_file = most_in_file
        self._head = bytearray()
        self._file: IO[bytes] | None = None
        self._in_file = 0
        self._is_closed = False
        self.size = 0
        """Bytes that were written, dropped ones included."""
        self.is_blank = True
        """Whether there was nothing but white space."""

    @property
    def dropped(self) -> int:
        """Bytes that are not kept."""
        return self.size - len(self._head) - self._in_file

    def feed(self, data: bytes) -> None:
        """Take what was written next."""
        if self._is_closed:
            return
        self.size += len(data)
        self.is_blank = self.is_blank and not data.strip()
        room = self._most_in_memory - len(self._head)
        self._head += data[:room]
        self._spool(data[room:])

    def texts(self) -> Iterator[str]:
        """Give what is kept, piece by piece. What is no UTF-8 becomes U+FFFD; no character is split."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for piece in self._pieces():
            yield decoder.decode(piece)
        # A character that the limit cut in two was none of the program's mistakes.
        if not self.dropped:
            yield decoder.decode(b"", final=True)

    def close(self) -> None:
        """Let go of what is kept."""
        self._is_closed = True
        if self._file is not None:
            self._file.close()

    def _spool(self, data: bytes) -> None:
        rest = data[: self._most_in_file - self._in_file]
        try:
            while rest:
                written = self._opened().write(rest)
                self._in_file += written
                rest = rest[written:]
        except OSError:
            # A full disk must not end the program that is run. What follows has no place after a gap.
            self._most_in_file = self._in_file

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  it lives as long as this object
        return self._file

    def _pieces(self) -> Iterator[bytes]:
        yield bytes(self._head)
        if self._file is not None:
            self._file.seek(0)
            left = self._in_file
            while left and (piece := self._file.read(min(left, _PIECE))):
                left -= len(piece)
                yield piece
