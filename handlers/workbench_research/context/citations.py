r"""Check each `path:line` of an answer against the lines that were sent.

A citation is right if its lines were sent and, where the answer quotes text beside it, contain that text. Text is
quoted in backticks or in a block of code, on the same line or below it. A citation whose quoted text is elsewhere is
corrected if the place is certain: the only one in the cited file, or else the only one in all files. Others are marked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from workbench_research.backends.protocol import Part
from workbench_research.context.number import numbered_lines

MAX_CITATIONS: Final = 2_000
"""Maximum citations that are checked in one answer; further ones are marked."""
MAX_SEARCHES: Final = 1_000
"""Maximum texts of one answer that are searched for in all lines."""
MAX_PLACES: Final = 100
"""Maximum places of a text that are compared; a text with more is nowhere certain."""
MAX_QUOTE_CHARS: Final = 400
MIN_QUOTE_CHARS: Final = 4
MIN_COPY_CHARS: Final = 8
"""Minimum characters of a text in backticks that counts as a copy of a line."""
MAX_DISTANCE: Final = 200
"""Maximum characters between a citation and the text that it is about."""

_PATH: Final = r"[^\s`'\"()\[\]<>:,;|*#]"
_CITATION: Final = re.compile(
    rf"(?<!{_PATH})(?<!:)(?P<path>{_PATH}{{1,500}})[:#]L?(?P<first>\d{{1,7}})"
    r"(?:(?P<dash>[-\u2013])L?(?P<last>\d{1,7}))?(?![\d.]*\w)"
)
"""`src/a.py:12`, `src/a.py:12-20`, `src/a.py#L12-L20`."""
_QUOTE: Final = re.compile(r"``([^`\n]+)``|`([^`\n]+)`")
_FENCE: Final = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_NAME: Final = re.compile(r"[\w.$:-]+(?:\(\))?")
"""A name: `Session`, `pool.get()`, `std::vector`."""
_NUMBER: Final = re.compile(r"^\s*\d+\|")
"""A number that a model copied from the prompt."""
_SPACES: Final = re.compile(r"\s+")

Status = Literal["right", "corrected", "not sent", "no such text"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A citation of an answer. `path`, `first` and `last` are corrected; `cited` is the original text."""

    cited: str
    path: str
    first: int
    last: int
    status: Status


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer with corrected and marked citations, and the citations in order."""

    text: str
    citations: tuple[Checked, ...]

    @property
    def wrong(self) -> tuple[Checked, ...]:
        """Citations that could not be corrected; the answer marks them."""
        return tuple(checked for checked in self.citations if checked.status in {"not sent", "no such text"})


MARK: Final = {
    "not sent": " [not checked: these lines were not sent]",
    "no such text": " [the text is not at these lines]",
}


def check_citations(answer: str, parts: Iterable[Part]) -> CheckedAnswer:
    """Check the citations of an answer, and correct or mark the wrong ones. Other text is unchanged."""
    index = _Index(parts)
    quoted = _Quoted(answer)
    found = [match for match in _CITATION.finditer(answer) if index.path_of(match["path"])]
    pieces: list[str] = []
    checked: list[Checked] = []
    end = 0
    for number, match in enumerate(found):
        if quoted.is_code(match.start()):
            continue
        if len(checked) >= MAX_CITATIONS:
            break
        before = found[number - 1].end() if number else 0
        after = found[number + 1].start() if number + 1 < len(found) else len(answer)
        quotes = quoted.beside(match, before, after)
        citation = index.check(match, quotes)
        checked.append(citation)
        pieces.append(answer[end : match.start()])
        text = match[0]
        if citation.status == "corrected":
            text = _corrected(match, citation)
        pieces.append(text)
        end = match.end()
        mark = MARK.get(citation.status, "")
        if mark and not answer.startswith((mark, "`" + mark), end):
            if answer.startswith("`", end):  # a mark inside of code would be part of it
                pieces.append("`")
                end += 1
            pieces.append(mark)
    pieces.append(answer[end:])
    return CheckedAnswer("".join(pieces), tuple(checked))


def _corrected(match: re.Match[str], citation: Checked) -> str:
    sign = match[0][len(match["path"])]
    letter = "L" if match[0][len(match["path"]) + 1] == "L" else ""
    lines = f"{letter}{citation.first}"
    if match["last"] and citation.last != citation.first:
        lines += f"{match['dash']}{letter}{citation.last}"
    return f"{citation.path}{sign}{lines}"


class _Quoted:
    """The texts in backticks and in blocks of code of an answer."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self._texts = list(_QUOTE.finditer(answer))
        self._starts = [found.start() for found in self._texts]
        self._blocks = list(_FENCE.finditer(answer))
        self._block_starts = [found.start() for found in self._blocks]

    def is_code(self, offset: int) -> bool:
        """Return whether an offset is in a block of code."""
        number = bisect_right(self._block_starts, offset) - 1
        return number >= 0 and offset < self._blocks[number].end()

    def beside(self, match: re.Match[str], before: int, after: int) -> list[list[str]]:
        """Return the texts that are quoted beside a citation, each as its lines, the nearest first.

        `before` is the end of the citation before it, `after` the start of the one after it.
        """
        answer = self._answer
        line_start = answer.rfind("\n", 0, match.start()) + 1
        line_end = answer.find("\n", match.end())
        line_end = len(answer) if line_end < 0 else line_end
        first = max(line_start, before, match.start() - MAX_DISTANCE)
        last = min(line_end, after, match.end() + MAX_DISTANCE)
        quotes = []
        for found in self._texts[bisect_left(self._starts, first) : bisect_left(self._starts, last)]:
            if found.end() > last or found.start() <= match.start() < found.end():
                continue
            text = (found[1] or found[2]).strip()
            if MIN_QUOTE_CHARS <= len(text) <= MAX_QUOTE_CHARS and not _CITATION.fullmatch(text):
                distance = found.start() - match.end() if found.start() > match.start() else match.start() - found.end()
                quotes.append((distance, [text]))
        number = bisect_left(self._block_starts, line_end)
        if number < len(self._blocks) and self._block_starts[number] <= min(line_end + 3, after - 1):
            quotes.append((0, self._blocks[number][1].split("\n")))
        return [lines for _, lines in sorted(quotes, key=lambda row: row[0])]


class _Index:
    """The lines that were sent, by path and by text."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._lines: dict[str, dict[int, str]] = {}
        for part in parts:
            numbered = {number: _normal(line) for number, line in numbered_lines(part).items()}
            self._lines.setdefault(part.path, {}).update(numbered)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._lines:
            self._by_name[path.rpartition("/")[2]].append(path)
        self._texts: dict[str, _Text] = {}
        self._all = _Text(
            {(path, number): line for path, lines in self._lines.items() for number, line in lines.items()}
        )
        self._places: dict[tuple[str, ...], tuple[str, int, int] | None] = {}

    def path_of(self, text: str) -> str:
        """Return the path that a text means: itself, or the only one that ends with it; empty if it is no path."""
        text = text.removeprefix("./").removeprefix("@").rstrip("/")
        if text in self._lines:
            return text
        name = text.rpartition("/")[2]
        same = [path for path in self._by_name.get(name, ()) if path.endswith(f"/{text}")]
        if len(same) == 1:
            return same[0]
        return text if "/" in text and "." in name else ""

    def check(self, match: re.Match[str], quotes: Sequence[Sequence[str]]) -> Checked:
        """Check one citation with the texts that are quoted beside it, the nearest first."""
        path = self.path_of(match["path"])
        first = int(match["first"])
        last = max(first, int(match["last"] or first))
        lines = self._lines.get(path, {})
        is_sent = first in lines and last in lines
        plain = ([_normal(_NUMBER.sub("", line)) for line in quote] for quote in quotes)
        quotes = [filled for quote in plain if (filled := [line for line in quote if line])]
        if is_sent and (not quotes or any(_is_in(lines, quote, first, last) for quote in quotes)):
            return Checked(match[0], path, first, last, "right")
        for quote in quotes:
            if (_is_certain(quote) or (not is_sent and len(quote[0]) >= MIN_COPY_CHARS)) and (
                place := self._place(path, quote)
            ):
                return Checked(match[0], *place, "corrected")
        if not is_sent:
            return Checked(match[0], path, first, last, "not sent")
        status: Status = "no such text" if any(map(_is_certain, quotes)) else "right"
        return Checked(match[0], path, first, last, status)

    def _place(self, path: str, quote: Sequence[str]) -> tuple[str, int, int] | None:
        """Return the only place of a text in the file, else in all files."""
        key = (path, *quote)
        if key not in self._places:
            if len(self._places) >= MAX_SEARCHES:
                return None
            if path not in self._texts:
                self._texts[path] = _Text({(path, number): line for number, line in self._lines.get(path, {}).items()})
            places = self._find(self._texts[path], quote)
            if not places:
                places = self._find(self._all, quote)
            self._places[key] = places[0] if len(places) == 1 else None
        return self._places[key]

    def _find(self, text: _Text, quote: Sequence[str]) -> list[tuple[str, int, int]]:
        """Return the places of a text, at most two."""
        places: list[tuple[str, int, int]] = []
        for count, (path, number) in enumerate(text.containing(quote[0])):
            if count >= MAX_PLACES:
                return places * 2
            if end := _end_of(self._lines[path], quote, number):
                places.append((path, number, end))
                if len(places) > 1:
                    break
        return places


class _Text:
    """Lines as one text: one search of it is faster than one of each line."""

    def __init__(self, lines: Mapping[tuple[str, int], str]) -> None:
        self._numbers = list(lines)
        self._text = "\n".join(lines.values())
        self._starts = list(accumulate((len(line) + 1 for line in lines.values()), initial=0))

    def containing(self, part: str) -> Iterator[tuple[str, int]]:
        """Yield the path and the number of each line that contains `part`, which is part of one line."""
        offset = self._text.find(part)
        while offset >= 0:
            index = bisect_right(self._starts, offset) - 1
            yield self._numbers[index]
            offset = self._text.find(part, self._starts[index + 1])


def _is_certain(quote: Sequence[str]) -> bool:
    """Return whether a text in backticks is a copy of lines, not a name: `Session` may be named beside other lines."""
    return len(quote) > 1 or (len(quote[0]) >= MIN_COPY_CHARS and not _NAME.fullmatch(quote[0]))


def _is_in(lines: Mapping[int, str], quote: Sequence[str], first: int, last: int) -> bool:
    """Return whether lines contain a text, or it begins in them."""
    return any(lines.get(number) and _end_of(lines, quote, number) for number in range(first, last + 1))


def _end_of(lines: Mapping[int, str], quote: Sequence[str], number: int) -> int:
    """Return the number of the last line of a text that begins at `number`, 0 if another text is there.

    Empty lines are not in `quote`.
    """
    for text in quote:
        while lines.get(number) == "":
            number += 1
        if text not in lines.get(number, ""):
            return 0
        number += 1
    return number - 1


def _normal(text: str) -> str:
    """Return a line without differences of white space."""
    return _SPACES.sub(" ", text).strip()
