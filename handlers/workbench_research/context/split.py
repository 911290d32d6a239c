"""Split files into several questions, for trees larger than the window, and plan how their answers are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from workbench_research.context.number import TextFile

MAX_LINE_SHARE: Final = 0.9
"""Share of a window that the lines of one piece may fill: the estimate of a line is not exact."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a file that belong into one question, 1-based, both included."""

    path: str
    first: int
    last: int
    tokens: int
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The questions in order, each with its pieces, and the merges.

    `merges` are levels; each merge of a level has the indexes of the answers that it joins: of the questions in the
    first level, of the merges of the level before in others. The last level has one merge. One question has none.
    """

    questions: tuple[tuple[Piece, ...], ...] = field(repr=False)
    merges: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @property
    def steps(self) -> int:
        """Questions to the model in all, for progress."""
        return len(self.questions) + sum(map(len, self.merges))


def split(
    files: Sequence[TextFile],
    window: int,
    count: Callable[[str], int],
    *,
    answer_tokens: int = 2_000,
    overhead: int = 20,
) -> Plan:
    """Split files into questions of at most `window` tokens, in the order of their paths.

    A directory stays together where it fits. A file that is larger than the window is split between lines. `count`
    returns the tokens of a text, `overhead` are those of the delimiters of a file, and `answer_tokens` those of each
    answer, by which answers are merged.

    Raises:
        ValueError: the window has no room for a line, or for two answers.
    """
    if window < max(2 * answer_tokens, 10 * overhead):
        raise ValueError(f"a window of {window} tokens has no room for two answers")
    pieces = [piece for file in sorted(files, key=_order) for piece in _pieces(file, window, count, overhead)]
    questions = tuple(_fill(_group(pieces), window))
    return Plan(questions, merge_levels(len(questions), max(2, window // answer_tokens)))


def merge_levels(answers: int, fan_in: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return the levels of merges of so many answers, with at most `fan_in` answers in one merge."""
    levels = []
    while answers > 1:
        merges = -(-answers // fan_in)
        size, larger = divmod(answers, merges)  # even sizes, so that no part of a tree counts more than another
        bounds = [index * size + min(index, larger) for index in range(merges + 1)]
        levels.append(tuple(tuple(range(first, last)) for first, last in pairwise(bounds)))
        answers = merges
    return tuple(levels)


def _order(file: TextFile) -> tuple[str, ...]:
    return tuple(file.path.split("/"))


def _pieces(file: TextFile, window: int, count: Callable[[str], int], overhead: int) -> list[Piece]:
    lines = file.lines
    costs = [count(f"{number}|{line}\n") for number, line in enumerate(lines, 1)]
    room = int((window - overhead) * MAX_LINE_SHARE)
    if sum(costs) <= room:
        return [Piece(file.path, 1, len(lines), sum(costs) + overhead)]
    pieces = []
    first = 1
    tokens = 0
    for number, cost in enumerate(costs, 1):
        if tokens and tokens + cost > room:
            pieces.append(Piece(file.path, first, number - 1, tokens + overhead, is_whole=False))
            first, tokens = number, 0
        tokens += min(cost, room)  # longer lines are cut when they are numbered
    pieces.append(Piece(file.path, first, len(lines), tokens + overhead, is_whole=False))
    return pieces


def _group(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces by directory, in order."""
    groups: list[list[Piece]] = []
    directory = None
    for piece in pieces:
        if (parent := piece.path.rpartition("/")[0]) != directory:
            groups.append([])
            directory = parent
        groups[-1].append(piece)
    return groups


def _fill(groups: Sequence[Sequence[Piece]], window: int) -> list[tuple[Piece, ...]]:
    questions: list[list[Piece]] = [[]]
    used = 0
    for group in groups:
        size = sum(piece.tokens for piece in group)
        if used and used + size > window and (size <= window or used > window // 2):
            questions.append([])
            used = 0
        for piece in group:
            if used and used + piece.tokens > window:
                questions.append([])
                used = 0
            questions[-1].append(piece)
            used += piece.tokens
    return [tuple(question) for question in questions if question]
