"""Texts too long for one answer, kept to be fetched in parts."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Final

import anyio.to_thread
from toolmason_runtime.protocol.answer_size import MAX_CHARACTER_SIZE, fitting_length, text_budget
from toolmason_runtime.protocol.errors import ToolError

MEASURED_CHARS: Final = 2_000_000
"""Characters of a text that are split into parts as large as fit; it is rare that anybody reads on behind them."""
MAX_CHUNKS: Final = 32
MAX_BYTES: Final = 512 * 1024 * 1024

_MAX_ID_SHOWN_LENGTH: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A text in a file without a name, whose parts can be read in any order."""

    chars: int
    starts: Sequence[int] = field(repr=False)
    """Where each part begins, in bytes, and where the last one ends."""
    file: IO[bytes] = field(repr=False)
    # Whoever knows it can read the text, and a server may have more than one client.
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def parts(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return self.starts[-1]

    def part(self, number: int) -> str:
        """Give a part; the first is 1.

        Raises:
            ToolError: there is no such part.
        """
        if not 1 <= number <= self.parts:
            message = f'part {number} does not exist: chunk "{self.id}" has the parts 1 to {self.parts}'
            raise ToolError(message, code="INVALID_CHUNK_INDEX")
        start, end = self.starts[number - 1 : number + 1]
        self.file.seek(start)
        return self.file.read(end - start).decode()


class ChunkStore:
    """The newest long texts of a server: `most_chunks` at most, and no more than one if they have over `most_bytes`.

    Every part of a text has as many characters as have together the size `part_size` (see `size_of`); left out, that
    of one answer.
    """

    def __init__(
        self, *, part_size: int | None = None, most_chunks: int = MAX_CHUNKS, most_bytes: int = MAX_BYTES
    ) -> None:
        self.part_size = text_budget() if part_size is None else part_size
        self._most_chunks = most_chunks
        self._most_bytes = most_bytes
        self._chunks: dict[str, Chunk] = {}

    async def add(self, texts: Iterable[str]) -> Chunk:
        """Keep a text, which is taken piece by piece in another thread. The oldest ones make room for it.

        Raises:
            OSError: it cannot be written down.
        """
        chunk = await anyio.to_thread.run_sync(_written, texts, self.part_size)
        self._chunks[chunk.id] = chunk
        while len(self._chunks) > 1 and self._is_too_much():
            self._chunks.pop(next(iter(self._chunks))).file.close()
        return chunk

    def get(self, chunk_id: str, part: int) -> str:
        """Give one part of a text, exactly.

        Raises:
            ToolError: it is not kept, or has no such part.
        """
        return self.find(chunk_id).part(part)

    def find(self, chunk_id: str) -> Chunk:
        """Give the text that was kept under an id.

        Raises:
            ToolError: there is none.
        """
        if chunk_id in self._chunks:
            return self._chunks[chunk_id]
        message = (
            f'nothing is kept as chunk "{chunk_id[:_MAX_ID_SHOWN_LENGTH]}": the first line of an output that was cut '
            f"names its cacheKey, and only the newest {self._most_chunks} are kept. Run the command again to get one"
        )
        raise ToolError(message, code="CACHE_EXPIRED")

    def close(self) -> None:
        """Let go of all texts."""
        for chunk in self._chunks.values():
            chunk.file.close()
        self._chunks.clear()

    def _is_too_much(self) -> bool:
        total = sum(chunk.size for chunk in self._chunks.values())
        return len(self._chunks) > self._most_chunks or total > self._most_bytes


def _written(texts: Iterable[str], part_size: int) -> Chunk:
    """Write a text down and note where its parts begin."""
    file = TemporaryFile()  # noqa: SIM115  it lives as long as the chunk
    try:
        starts, chars = array("q", [0]), 0
        for part in _parts(texts, part_size):
            starts.append(starts[-1] + file.write(part.encode("utf-8", "replace")))
            chars += len(part)
        file.flush()
    except BaseException:
        file.close()
        raise
    return Chunk(chars=chars, starts=starts if chars else (0, 0), file=file)


def _parts(texts: Iterable[str], part_size: int) -> Iterator[str]:
    """Split a text, which comes piece by piece, into parts of the size `part_size`; none is empty."""
    pending, done = "", 0
    for text in texts:
        pending, start = pending + text, 0
        # A text with more characters than `part_size` is larger than one part, whatever follows.
        while len(pending) - start > part_size:
            part = _part(pending[start : start + part_size], part_size, done)
            yield part
            start, done = start + len(part), done + len(part)
        pending = pending[start:]
    while pending:
        part = _part(pending, part_size, done)
        yield part
        pending, done = pending[len(part) :], done + len(part)


def _part(text: str, part_size: int, done: int) -> str:
    """Return the beginning of `text` that fits. Measuring takes time: behind `MEASURED_CHARS` the worst is assumed."""
    fitting = fitting_length(text, part_size) if done < MEASURED_CHARS else part_size // MAX_CHARACTER_SIZE
    return text[: max(1, fitting)]
