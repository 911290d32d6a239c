"""Tools that are similar in meaning to the words of a query, from the file that `toolmason embed` writes.

The lines of words are compressed, and sorted, so a word is found by bisection among those with its first letter: the
first search does not parse them.
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Mapping

HEADER = "toolmason-postings 2"
"""First line of the file, with the version of its format."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""Maximum bytes of the lines of words."""


def unpack(packed: bytes, tools: int) -> bytes:
    """Return the lines of words, which are compressed with zlib, in Base64, after a line with the number of tools.

    Raises:
        ValueError: the data is damaged, or for another number of tools than `tools`.
    """
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(b64decode(packed.translate(None, b"\n"), validate=True), MAX_UNPACKED_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError("the compressed lines of words are damaged") from error
    if not reader.eof or reader.unused_data:
        raise ValueError("the compressed lines of words are cut off, or too long")
    count, _, lines = text.partition(b"\n")
    if count != b"%d" % tools:
        raise ValueError("the lines of words are those of other tools")
    return lines


def model_hash(content: bytes) -> str:
    """Return the SHA-256 of the model that made the content of `semantic.postings`."""
    _, line, *_ = content.split(b"\n", 2)
    return line.removeprefix(b"model ").strip().decode()


def embedded_tools(content: bytes) -> dict[str, bytes]:
    """Return the vectors of the tools as int8, by name.

    Raises:
        ValueError: a vector is not valid Base64.
    """
    head = content.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    rows = (line.split(b" ") for line in head.split(b"\n") if line.startswith(b"tool "))
    return {row[1].decode(): b64decode(row[3], validate=True) for row in rows}


class SemanticPostings:
    """The scores of tools by word, in the content of `semantic.postings`.

    Raises:
        ValueError: the format is not supported, or the content is damaged.
    """

    def __init__(self, content: bytes) -> None:
        content = content.replace(b"\r\n", b"\n")  # Git for Windows may check the package out so.
        if not content.startswith(HEADER.encode() + b"\n"):
            raise ValueError(f"it does not start with `{HEADER}`")
        head, _, packed = content.partition(b"\n\n")
        rows = [line.split(b" ") for line in head.split(b"\n") if line.startswith(b"tool ")]
        self.tools = [row[1].decode() for row in rows]
        """The names of the tools, also of those that the server does not have."""
        self._content = b"\n" + (unpack(packed, len(rows)) if packed else b"")
        self._lines: dict[bytes, list[bytes]] = {}
        """The lines of words by their first letter, split when the first of them is looked up."""

    def scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return for each tool, by its index in `tools`, the sum of its scores for the words, times their weights.

        A word that was not embedded has no effect.
        """
        sums: dict[int, float] = {}
        for word, weight in weights.items():
            columns = [int(number) for number in self._line(word.encode() + b" ").split()[1:]]
            for tool, score in zip(columns[::2], columns[1::2], strict=True):
                sums[tool] = sums.get(tool, 0.0) + weight * score
        return sums

    def best(self, word: str) -> int | None:
        """Return the score of the tool that is most similar to `word`; None for a word that was not embedded."""
        numbers = self._line(word.encode() + b" ").split()
        return int(numbers[2]) if numbers else None

    def _line(self, start: bytes) -> bytes:
        """Return the line that begins with `start`, a word and a space; empty if there is none."""
        initial = start[:1]
        if (lines := self._lines.get(initial)) is None:
            first = self._content.find(b"\n" + initial)
            last = self._content.rfind(b"\n" + initial)
            end = self._content.find(b"\n", last + 1)
            lines = self._lines[initial] = self._content[first + 1 : end].splitlines() if first >= 0 else []
        position = bisect_left(lines, start)
        line = lines[position] if position < len(lines) else b""
        return line if line.startswith(start) else b""
