"""Confusion matrices: numbers of queries by the wanted tool and the first hit, or by their categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_ROWS: Final = 60
"""Maximum rows; the names with the most wrong first hits are shown."""
CELL: Final = 26
"""Width and height of a cell."""
LETTER: Final = 7
"""Width of a Latin letter of a label; that of 12 pixels of a monospaced font."""
PADDING: Final = 10
"""Space beside the labels."""
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


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a heat map with at least one query: its place, count and share of the queries of its row."""

    row: str
    column: str
    x: int
    y: int
    count: int
    share: float

    @property
    def is_right(self) -> bool:
        """Whether the first hit is the wanted one."""
        return self.row == self.column


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix as a picture; all lengths are in pixels.

    `left` and `top` are the lengths of the labels. Labels of columns are vertical.
    """

    matrix: Matrix
    left: int
    top: int
    cells: tuple[Cell, ...]

    @property
    def width(self) -> int:
        """The width of the picture."""
        return self.left + CELL * len(self.matrix.columns) + 1

    @property
    def height(self) -> int:
        """The height of the picture."""
        return self.top + CELL * len(self.matrix.rows) + 1


def heat_map(matrix: Matrix) -> HeatMap:
    """Return the picture of a matrix."""
    left, top = (PADDING + LETTER * max(map(_width, names), default=0) for names in (matrix.rows, matrix.columns))
    cells = (
        Cell(row, column, left + CELL * x, top + CELL * y, matrix.counts[row, column], matrix.share(row, column))
        for y, row in enumerate(matrix.rows)
        for x, column in enumerate(matrix.columns)
        if matrix.counts.get((row, column))
    )
    return HeatMap(matrix, left, top, tuple(cells))


def _width(label: str) -> int:
    """Return the width of a label in letters: those of many scripts are twice as wide as Latin ones."""
    return sum(1 if letter.isascii() else 2 for letter in label)


def category_matrix(confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str]) -> Matrix:
    """Return the matrix of the categories with queries or first hits, in the order of the manifest."""
    counts: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in confusion.items():
        counts[categories[wanted], categories.get(first, NOTHING)] += count
    names = tuple(dict.fromkeys(categories.values()))
    used = {name for cell in counts for name in cell}
    chosen = used if len(used) <= MAX_ROWS else _most_confused(counts)
    return _matrix(counts, tuple(name for name in names if name in chosen))


def tool_matrix(confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str]) -> Matrix:
    """Return the matrix of the tools that are confused with another one, in the order of the manifest."""
    counts = {(wanted, first or NOTHING): count for (wanted, first), count in confusion.items()}
    chosen = _most_confused(counts)
    return _matrix(counts, tuple(name for name in categories if name in chosen))


def _most_confused(counts: Mapping[tuple[str, str], int]) -> set[str]:
    """Return the names, at most `MAX_ROWS`, with the most queries that find another name first."""
    errors: Counter[str] = Counter()
    for (wanted, first), count in counts.items():
        if wanted != first:
            errors.update({wanted: count, first: count})
    errors.pop(NOTHING, None)
    return {name for name, _ in errors.most_common(MAX_ROWS)}


def _matrix(counts: Mapping[tuple[str, str], int], names: tuple[str, ...]) -> Matrix:
    """Return the matrix of `names`. First hits with other names are counted as `OTHERS`."""
    known = {*names, NOTHING}
    cells: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in counts.items():
        if wanted in known:
            cells[wanted, first if first in known else OTHERS] += count
    extra = (name for name in (OTHERS, NOTHING) if any(name == first for _, first in cells))
    return Matrix(names, (*names, *extra), cells)
