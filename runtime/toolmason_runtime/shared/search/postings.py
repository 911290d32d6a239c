"""Tools that are similar in meaning to the words of a query, from the file that `toolmason embed` writes.

The lines of words are compressed, and sorted, so that a word is found by bisection: nothing else is parsed.
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Callable, Container, Mapping
from functools import lru_cache

HEADER = "toolmason-postings 2"
"""First line of the file, with the version of its format."""
MAX_WORDS = 4096
"""Maximum words whose numbers are kept."""
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


def open_postings(load: Callable[[], bytes | SemanticPostings], tools: Container[str]) -> SemanticPostings:
    """Return the postings of a server with these `tools`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or that of another server.
    """
    content = load()
    postings = SemanticPostings(content) if isinstance(content, bytes) else content
    if postings.tools and not any(name in tools for name in postings.tools):
        raise ValueError("none of its tools is one of this server")
    return postings


def damage_text(path: str, error: Exception) -> str:
    """Return the message for an unusable file: what is wrong, what follows, and the remedy."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return (
        f"{path} is unusable, so searches find tools by words only: {reason}; reinstall the server, "
        "or in its project run: toolmason generate"
    )


class SemanticPostings:
    """The scores of tools by word, in the content of `semantic.postings`.

    Raises:
        ValueError: the format is not supported, or the content is damaged.
    """

    def __init__(self, content: bytes) -> None:
        content = content.replace(b"\r\n", b"\n")  # Git for Windows may check the package out so.
        if not content.startswith(HEADER.encode() + b"\n"):
            raise ValueError(f"it does not start with `{HEADER}`")
        if not content.endswith(b"\n"):
            raise ValueError("its last line is cut off")
        head, _, packed = content.partition(b"\n\n")
        rows = [line.split(b" ") for line in head.split(b"\n") if line.startswith(b"tool ")]
        if not all(len(row) > 1 for row in rows):
            raise ValueError("a line of a tool has no name")
        self._head = head
        self.tools = [row[1].decode() for row in rows]
        """The names of the tools, also of those that the server does not have."""
        words = unpack(packed, len(rows)) if packed else b""
        self._content = words if words.endswith(b"\n") or not words else words + b"\n"
        self._columns = lru_cache(maxsize=MAX_WORDS)(self._find_columns)

    @property
    def model(self) -> str:
        """The SHA-256 of the model."""
        _, line, *_ = self._head.split(b"\n", 2)
        return line.removeprefix(b"model ").strip().decode()

    def vectors(self) -> dict[str, bytes]:
        """Return the vectors of the tools as int8, by name.

        Raises:
            ValueError: a vector is missing, or no Base64.
        """
        rows = [line.split(b" ") for line in self._head.split(b"\n") if line.startswith(b"tool ")]
        if any(len(row) < 4 for row in rows):
            raise ValueError("a line of a tool has no vector")
        return {row[1].decode(): b64decode(row[3], validate=True) for row in rows}

    def scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return for each tool, by its index in `tools`, the sum of its scores for the words, times their weights.

        A word that was not embedded has no effect.
        """
        sums: dict[int, float] = {}
        for word, weight in weights.items():
            columns = self._columns(word)
            for tool, score in zip(columns[::2], columns[1::2], strict=True):
                sums[tool] = sums.get(tool, 0.0) + weight * score
        return sums

    def best(self, word: str) -> int | None:
        """Return the score of the tool that is most similar to `word`; None for a word that was not embedded."""
        columns = self._columns(word)
        return columns[1] if columns else None

    def _find_columns(self, word: str) -> tuple[int, ...]:
        """Return the numbers in the line of a word, tools and scores in turn; empty if it has none, or is damaged."""
        try:
            columns = tuple(map(int, self._line(word.encode()).split()[1:]))
        except ValueError:  # an edited file: the search uses the other words
            return ()
        is_valid = len(columns) % 2 == 0 and all(0 <= tool < len(self.tools) for tool in columns[::2])
        return columns if is_valid else ()

    def _line(self, word: bytes) -> bytes:
        """Return the line of a word, found by bisection; empty if there is none."""
        content = self._content
        # The line begins at `first` or later, and before `end`; both are beginnings of lines.
        first, end = 0, len(content)
        while first < end:
            start = content.rfind(b"\n", first, (first + end) // 2) + 1 or first
            stop = content.find(b"\n", start)
            line = content[start:stop]
            key = line.partition(b" ")[0]
            if key == word:
                return line
            first, end = (stop + 1, end) if key < word else (first, start)
        return b""
