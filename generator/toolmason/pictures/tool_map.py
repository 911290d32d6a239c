"""A map of tools: one square for each tool, below the name of its category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason.pictures.bars import WIDTH
from toolmason.pictures.labels import LETTER, Label, label, letters

SIZE: Final = 20
"""Width of a square."""
_STEP: Final = 24
_HEAD: Final = 22
_GAP: Final = 8
_PER_LINE: Final = WIDTH // _STEP


@dataclass(frozen=True, slots=True)
class Mark:
    """The data of a tool: `kind` selects the colour, `frame` the border."""

    kind: str
    letter: str
    frame: str
    is_open: bool
    """Whether it has the corner of tools that reach other systems."""
    title: str


@dataclass(frozen=True, slots=True)
class Square:
    """A drawn tool."""

    mark: Mark
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Group:
    """A drawn category. `y` is the top of its label."""

    label: Label
    text: str
    y: int
    squares: tuple[Square, ...]


@dataclass(frozen=True, slots=True)
class ToolMap:
    """The picture."""

    title: str
    groups: tuple[Group, ...]
    height: int

    @property
    def width(self) -> int:
        """The width of the picture in pixels."""
        return WIDTH


def tool_map(title: str, marks: Mapping[str, Sequence[Mark]]) -> ToolMap:
    """Return the picture of the tools by category."""
    y = 0
    groups = []
    for name, own in marks.items():
        squares = tuple(
            Square(mark, 1 + _STEP * (place % _PER_LINE), y + _HEAD + _STEP * (place // _PER_LINE))
            for place, mark in enumerate(own)
        )
        text = str(len(own))
        limit = int(WIDTH / LETTER) - letters(text) - 2
        groups.append(Group(label(name, limit), text, y, squares))
        y += _HEAD + _STEP * -(-len(own) // _PER_LINE) + _GAP
    return ToolMap(title, tuple(groups), max(y - _GAP, 1))
