"""Tools that are similar in meaning to the words of a query, from the file that `toolmason embed` writes.

The lines of words are sorted, so a word is found in the bytes of the file by bisection: the first search does not
parse the file.
"""

from __future__ import annotations

from collections.abc import Iterable

HEADER = "toolmason-postings 1"
"""First line of the file, with the version of its format."""


class SemanticPostings:
    """The scores of tools by word, in the content of `semantic.postings`.

    Raises:
        ValueError: the format is not supported.
    """

    def __init__(self, content: bytes) -> None:
        content = content.replace(b"\r\n", b"\n")  # Git for Windows may check the package out so.
        end = content.find(b"\n\n") + 1 or len(content)
        first, *others = content[:end].rstrip(b"\n").split(b"\n")
        if first != HEADER.encode():
            raise ValueError(f"semantic.postings does not start with `{HEADER}`: generate the server again")
        self._tools = [line.split(b" ", 2)[1].decode() for line in others[1:]]
        self._content = content
        self._start = end + 1

    def scores(self, words: Iterable[str]) -> dict[str, float]:
        """Return the sum of the scores of each tool for `words`. Words without a line have no effect."""
        sums: dict[bytes, int] = {}
        for word in words:
            parts = self._line(word.encode()).split(b" ")
            for tool, score in zip(parts[1::2], parts[2::2], strict=True):
                sums[tool] = sums.get(tool, 0) + int(score)
        return {self._tools[int(tool)]: total for tool, total in sums.items()}

    def _line(self, word: bytes) -> bytes:
        """Return the line of `word`, empty if it has none."""
        low, high = self._start, len(self._content)
        while low < high:
            # `low` and `high` are starts of lines, and the line of `word` is one of those between.
            start = self._content.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._content.find(b"\n", start) + 1 or len(self._content)
            line = self._content[start : end - 1]
            found = line.partition(b" ")[0]
            if found == word:
                return line
            if found < word:
                low = end
            else:
                high = start
        return b""
