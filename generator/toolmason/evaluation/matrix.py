"""Confusion matrices: numbers of queries by the wanted tool and the first hit, or by their categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmason.pictures.heat_map import Count, HeatMap, heat_map
from toolmason.pictures.labels import short_number

MAX_ROWS: Final = 60
"""Maximum rows; the names with the most wrong first hits are shown."""
NOTHING: Final = "(nothing)"
"""Column of queries without a hit."""
OTHERS: Final = "(others)"
"""Column of all names that have no column of their own."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Numbers of queries. A row is the wanted name, a column the name that ranks first."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: Mapping[tuple[str, str], int]

    def share(self, row: str, column: str) -> float:
        """Return the share of a row's queries in this cell."""
        total = sum(self.counts.get((row, name), 0) for name in self.columns)
        return self.counts.get((row, column), 0) / total if total else 0.0


def picture(title: str, matrix: Matrix) -> HeatMap:
    """Return the picture of a matrix: cells with queries, on the diagonal those that find the wanted name."""
    counts = (
        Count(
            row=y,
            column=x,
            text=short_number(matrix.counts[row, column]),
            title=f"{row}: {column} first, {matrix.counts[row, column]:,} {_noun(matrix.counts[row, column])}",
            kind="right" if row == column else "wrong",
            share=matrix.share(row, column),
        )
        for y, row in enumerate(matrix.rows)
        for x, column in enumerate(matrix.columns)
        if matrix.counts.get((row, column))
    )
    return heat_map(title, matrix.rows, matrix.columns, counts)


def _noun(count: int) -> str:
    return "query" if count == 1 else "queries"


def category_matrix(confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str]) -> Matrix:
    """Return the matrix of the categories with queries or first hits, in the order of the manifest."""
    counts: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in confusion.items():
        counts[categories[wanted], categories.get(first, NOTHING)] += count
    names = tuple(dict.fromkeys(categories.values()))
    used = {name for cell in counts for name in cell}
    chosen = used if len(used) <= MAX_ROWS else _most_confused(counts)
    return _matrix(counts, tuple(name for name in names if name in chosen))


def tool_matrix(
    confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str], *, limit: int = MAX_ROWS
) -> Matrix:
    """Return the matrix of the tools that are confused with another one, at most `limit`, in manifest order."""
    counts = {(wanted, first or NOTHING): count for (wanted, first), count in confusion.items()}
    chosen = _most_confused(counts, limit)
    return _matrix(counts, tuple(name for name in categories if name in chosen))


def _most_confused(counts: Mapping[tuple[str, str], int], limit: int = MAX_ROWS) -> set[str]:
    """Return the names, at most `limit`, with the most queries that find another name first."""
    errors: Counter[str] = Counter()
    for (wanted, first), count in counts.items():
        if wanted != first:
            errors.update({wanted: count, first: count})
    errors.pop(NOTHING, None)
    return {name for name, _ in errors.most_common(limit)}


def _matrix(counts: Mapping[tuple[str, str], int], names: tuple[str, ...]) -> Matrix:
    """Return the matrix of `names`. First hits with other names are counted as `OTHERS`."""
    known = {*names, NOTHING}
    cells: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in counts.items():
        if wanted in known:
            cells[wanted, first if first in known else OTHERS] += count
    extra = (name for name in (OTHERS, NOTHING) if any(name == first for _, first in cells))
    return Matrix(names, (*names, *extra), cells)
