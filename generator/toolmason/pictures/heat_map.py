"""Tables of numbers whose cells are coloured: the more of the row's sum, or of the largest number, the stronger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason.pictures.labels import Label, label

CELL: Final = 26
"""Height of a cell, and width of one without a wider column label."""
PADDING: Final = 10
"""Space beside the labels."""
MAX_LABEL: Final = 28
"""Maximum letters of a label."""


@dataclass(frozen=True, slots=True)
class Count:
    """The number of a cell, by the positions of its row and column. `share` is the strength of its colour."""

    row: int
    column: int
    text: str
    title: str
    kind: str
    share: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A drawn cell."""

    x: int
    y: int
    text: str
    title: str
    kind: str
    opacity: float


@dataclass(frozen=True, slots=True)
class Place:
    """A drawn label: of a row at its right end, of a column at its middle or, if vertical, at its lower end."""

    label: Label
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The picture; all lengths are in pixels. `left` and `top` are the lengths of the labels."""

    title: str
    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    cells: tuple[Cell, ...]
    left: int
    top: int
    cell_width: int
    is_vertical: bool
    """Whether the labels of columns are vertical."""

    @property
    def width(self) -> int:
        """The width of the picture."""
        return self.left + self.cell_width * len(self.columns) + 1

    @property
    def height(self) -> int:
        """The height of the picture."""
        return self.top + CELL * len(self.rows) + 1

    @property
    def grid(self) -> str:
        """The path of the lines between cells."""
        xs = [self.left + self.cell_width * place for place in range(len(self.columns) + 1)]
        ys = [self.top + CELL * place for place in range(len(self.rows) + 1)]
        vertical = "".join(f"M{x}.5 {self.top}V{self.height}" for x in xs)
        return vertical + "".join(f"M{self.left} {y}.5H{self.width}" for y in ys)


def heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], counts: Iterable[Count], *, is_vertical: bool = True
) -> HeatMap:
    """Return the picture of `counts`. Without `is_vertical`, cells are as wide as the labels of columns."""
    row_labels, column_labels = ([label(name, MAX_LABEL) for name in names] for names in (rows, columns))
    longest = max((each.width for each in column_labels), default=0)
    left = PADDING + max((each.width for each in row_labels), default=0)
    top = PADDING + longest if is_vertical else CELL
    cell_width = CELL if is_vertical else max(CELL, longest + PADDING)
    middle = 17 if is_vertical else cell_width // 2
    return HeatMap(
        title=title,
        rows=tuple(Place(each, left - 5, top + CELL * place + 17) for place, each in enumerate(row_labels)),
        columns=tuple(
            Place(each, left + cell_width * place + middle, top - (5 if is_vertical else 9))
            for place, each in enumerate(column_labels)
        ),
        cells=tuple(
            Cell(
                x=left + cell_width * count.column,
                y=top + CELL * count.row,
                text=count.text,
                title=count.title,
                kind=count.kind,
                opacity=round(0.2 + 0.8 * count.share, 2),
            )
            for count in counts
        ),
        left=left,
        top=top,
        cell_width=cell_width,
        is_vertical=is_vertical,
    )
