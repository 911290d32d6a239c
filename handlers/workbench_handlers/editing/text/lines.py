"""Split text into lines and compare two lists of lines, in bounded time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

MAX_PAIRS: Final = 40_000
"""Maximum pairs of lines that one exact comparison examines; larger parts are divided at lines that occur once."""
MAX_ALL_PAIRS: Final = 1_000_000
"""Maximum pairs of lines that the exact comparisons of two files examine together."""
MAX_DIVIDED_LINES: Final = 500_000
"""Maximum lines of both files in all parts that are divided."""
MAX_DEPTH: Final = 12
"""Maximum number of times that a part is divided. A part beyond a limit counts as changed as a whole."""


class Block(NamedTuple):
    """Consecutive lines that are equal on both sides, or that differ. Positions count from 0, ends are exclusive."""

    is_equal: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split_lines(text: str) -> list[str]:
    r"""Return the lines with their line breaks, as `read_files` counts them: only `\n` ends one.

    In a text without `\n`, `\r` does.
    """
    mark = line_end(text)
    *lines, last = text.split(mark)
    return [line + mark for line in lines] + ([last] if last else [])


def line_end(text: str) -> str:
    r"""Return the character that ends lines: `\n`, or `\r` in a text that contains it and no `\n`."""
    return "\r" if "\n" not in text and "\r" in text else "\n"


def compare_lines(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the blocks of two lists of lines, in order and without gaps. Equal and changed blocks alternate."""
    blocks: list[Block] = []
    i = j = 0
    for old_start, new_start, size in [*_join_runs(_equal_runs(old, new)), (len(old), len(new), 0)]:
        if i < old_start or j < new_start:
            blocks.append(Block(False, i, old_start, j, new_start))
        i, j = old_start + size, new_start + size
        if size:
            blocks.append(Block(True, old_start, i, new_start, j))
    return blocks


def hunks(blocks: Sequence[Block], context: int) -> Iterator[list[Block]]:
    """Yield groups of changed blocks with at most `context` equal lines before and after each."""
    group: list[Block] = []
    for index, (is_equal, i1, i2, j1, j2) in enumerate(blocks):
        if not is_equal:
            group.append(Block(is_equal, i1, i2, j1, j2))
            continue
        is_last = index == len(blocks) - 1
        if group and not is_last and i2 - i1 <= 2 * context:
            group.append(Block(True, i1, i2, j1, j2))
            continue
        size = min(context, i2 - i1)
        if group:
            yield [*group, Block(True, i1, i1 + size, j1, j1 + size)] if size else group
        group = [Block(True, i2 - size, i2, j2 - size, j2)] if size else []
    if any(not block.is_equal for block in group):
        yield group


def _equal_runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the runs of equal lines, as (start in old, start in new, length), in order."""
    runs: list[tuple[int, int, int]] = []
    budget, line_budget = MAX_ALL_PAIRS, MAX_DIVIDED_LINES
    parts = [(0, len(old), 0, len(new), 0)]
    while parts:
        i1, i2, j1, j2, depth = parts.pop()
        start, end = i1, i2
        while i1 < i2 and j1 < j2 and old[i1] == new[j1]:
            i1, j1 = i1 + 1, j1 + 1
        while i1 < i2 and j1 < j2 and old[i2 - 1] == new[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
        runs += [(start, j1 - (i1 - start), i1 - start), (i2, j2, end - i2)]
        pairs = (i2 - i1) * (j2 - j1)
        if 0 < pairs <= min(MAX_PAIRS, budget):
            budget -= pairs
            matcher = SequenceMatcher(None, old[i1:i2], new[j1:j2], autojunk=False)
            runs += [(i1 + run.a, j1 + run.b, run.size) for run in matcher.get_matching_blocks()]
        elif pairs and depth < MAX_DEPTH and (size := i2 - i1 + j2 - j1) <= line_budget:
            line_budget -= size
            anchors = [(i1 + i, j1 + j) for i, j in _anchors(old[i1:i2], new[j1:j2])]
            cuts = [(i1, j1), *anchors, (i2, j2)] if anchors else []
            parts += [(a[0], b[0], a[1], b[1], depth + 1) for a, b in pairwise(cuts)]
    return sorted(run for run in runs if run[2])


def _join_runs(runs: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    joined: list[tuple[int, int, int]] = []
    for i, j, size in runs:
        if joined and (joined[-1][0] + joined[-1][2], joined[-1][1] + joined[-1][2]) == (i, j):
            i, j, size = joined[-1][0], joined[-1][1], joined.pop()[2] + size  # noqa: PLW2901  one run of two
        joined.append((i, j, size))
    return joined


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of lines that occur once on each side: the longest list in one order (patience diff)."""
    counts = Counter(old)
    new_counts = Counter(new)
    positions = {line: j for j, line in enumerate(new) if new_counts[line] == 1 and counts[line] == 1}
    pairs = [(i, positions[line]) for i, line in enumerate(old) if line in positions]
    ends: list[int] = []  # the smallest last position in `new` of an ordered list, by its length
    last: list[int] = []  # the index of the pair at that end
    before: list[int] = []  # the index of the pair before each pair, or -1
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [j]  # in place of a larger end, or behind all
        last[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]
