"""Confusion matrices: the wanted tool of each query by the first hit, for categories and for confused tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_TOOLS: Final = 60
"""Maximum rows of the matrix of tools: those with the most wrong first hits."""
NOTHING: Final = "(nothing)"
"""Column of queries without a hit."""
OTHERS: Final = "(others)"
"""Column of tools that have no column of their own."""


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


def category_matrix(confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str]) -> Matrix:
    """Return the matrix of all categories with queries or first hits, in the order of the manifest."""
    counts: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in confusion.items():
        counts[categories[wanted], categories.get(first, NOTHING)] += count
    return _matrix(counts, tuple(dict.fromkeys(categories.values())))


def tool_matrix(confusion: Mapping[tuple[str, str], int], categories: Mapping[str, str]) -> Matrix:
    """Return the matrix of the tools that are confused with another one, at most `MAX_TOOLS`, in manifest order."""
    errors: Counter[str] = Counter()
    for (wanted, first), count in confusion.items():
        if wanted != first:
            errors.update({wanted: count, first: count})
    errors.pop("", None)
    chosen = {name for name, _ in errors.most_common(MAX_TOOLS)}
    counts: Counter[tuple[str, str]] = Counter()
    for (wanted, first), count in confusion.items():
        if wanted in chosen:
            counts[wanted, first if first in chosen else OTHERS if first else NOTHING] += count
    return _matrix(counts, tuple(name for name in categories if name in chosen))


def _matrix(counts: Mapping[tuple[str, str], int], names: tuple[str, ...]) -> Matrix:
    used = {name for cell in counts for name in cell}
    rows = tuple(name for name in names if name in used)
    return Matrix(rows, (*rows, *(name for name in (OTHERS, NOTHING) if name in used)), counts)
