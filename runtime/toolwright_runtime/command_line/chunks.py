"""Texts too long for one answer, kept to be fetched in parts."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from tempfile import TemporaryFile
from typing import IO, Final

import anyio.to_thread
from toolwright_runtime.errors import ToolError

PART_CHARS: Final = 20_000
"""Characters of one part: about 5,000 tokens of English."""
MOST_CHUNKS: Final = 32
MOST_BYTES: Final = 512 * 1024 * 1024

_LONGEST_ID_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A text in a file without a name, whose parts can be read in any order."""

    chars: int
    starts: tuple[int, ...] = field(repr=False)
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

    Every part of a text has `part_chars` characters, but for its last.
    """

    def __init__(
        self, *, part_chars: int = PART_CHARS, most_chunks: int = MOST_CHUNKS, most_bytes: int = MOST_BYTES
    ) -> None:
        self.part_chars = part_chars
        self._most_chunks = most_chunks
        self._most_bytes = most_bytes
        self._chunks: dict[str, Chunk] = {}

    async def add(self, texts: Iterable[str]) -> Chunk:
        """Keep a text, which is taken piece by piece in another thread. The oldest ones make room for it.

        Raises:
            OSError: it cannot be written down.
        """
        chunk = await anyio.to_thread.run_sync(_written, texts, self.part_chars)
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
            f'nothing is kept as chunk "{chunk_id[:_LONGEST_ID_SHOWN]}": a cacheKey stands in the last line of an '
            f"output that was cut, and only the newest {self._most_chunks} are kept. Run the command again to get one"
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


def _written(texts: Iterable[str], part_chars: int) -> Chunk:
    """Write a text down and note where its parts begin."""
    file = TemporaryFile()  # noqa: SIM115  it lives as long as the chunk
    try:
        starts, chars, size = [0], 0, 0
        for text in texts:
            # Up to the end of the part that was begun, then whole ones.
            ends = [0, *range(part_chars - chars % part_chars, len(text), part_chars), len(text)]
            for begin, end in pairwise(ends):
                if end > begin and chars and chars % part_chars == 0:
                    starts.append(size)
                size += file.write(text[begin:end].encode("utf-8", "replace"))
                chars += end - begin
        file.flush()
    except BaseException:
        file.close()
        raise
    return Chunk(chars=chars, starts=(*starts, size), file=file)
