"""Horizontal bars, each below its label. A bar may consist of several parts, such as kinds of tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason.pictures.labels import LETTER, Label, label, letters

WIDTH: Final = 334
"""The smallest width in pixels, that of a phone without its margins."""
MAX_BARS: Final = 24
"""Maximum bars of a picture; the rest is one bar."""
_ROW: Final = 36
"""Height of a label and its bar."""
_LEGEND_ROW: Final = 20
_SWATCH: Final = 16
_GAP: Final = 14


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar. `kind` decides on its colour, `noun` describes the amount."""

    kind: str
    amount: int
    noun: str = ""


@dataclass(frozen=True, slots=True)
class Amounts:
    """The data of a bar: a name, the amounts, and their sum as a text."""

    name: str
    parts: tuple[Part, ...]
    text: str

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(part.amount for part in self.parts)


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend, with its place."""

    kind: str
    text: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A drawn part: its place and width in percent of the picture."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A drawn bar. `y` is the top of its label, in pixels."""

    label: Label
    text: str
    title: str
    y: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """The picture, without its legend. Its width is that of the page, at least `WIDTH`; other lengths are in pixels."""

    title: str
    legend: tuple[Key, ...]
    legend_height: int
    bars: tuple[Bar, ...]
    height: int


def bar_chart(title: str, rows: Sequence[Amounts], legend: Iterable[tuple[str, str]] = ()) -> BarChart:
    """Return the picture of amounts.

    Args:
        title: the description for screen readers.
        rows: the bars, with those of the largest amount as wide as the picture. Of more than `MAX_BARS`, the last ones
            become one bar.
        legend: the kinds of parts, and the meaning of each.
    """
    keys = legend_of(legend)
    shown = _summarized(rows)
    longest = max((row.total for row in rows), default=0) or 1
    bars = tuple(_bar(row, _ROW * place, longest) for place, row in enumerate(shown))
    return BarChart(title, keys, keys[-1].y + _LEGEND_ROW + 4 if keys else 0, bars, _ROW * len(bars))


def legend_of(entries: Iterable[tuple[str, str]]) -> tuple[Key, ...]:
    """Return the entries of a legend in lines of at most `WIDTH`."""
    keys: list[Key] = []
    x = y = 0
    for kind, text in entries:
        width = _SWATCH + round(LETTER * letters(text))
        if x and x + width > WIDTH:
            x, y = 0, y + _LEGEND_ROW
        keys.append(Key(kind, text, x, y))
        x += width + _GAP
    return tuple(keys)


def _summarized(rows: Sequence[Amounts]) -> Sequence[Amounts]:
    if len(rows) <= MAX_BARS:
        return rows
    rest = rows[MAX_BARS - 1 :]
    amounts: dict[str, Part] = {}
    for part in (part for row in rest for part in row.parts):
        known = amounts.get(part.kind, Part(part.kind, 0, part.noun))
        amounts[part.kind] = Part(part.kind, known.amount + part.amount, part.noun)
    parts = tuple(amounts.values())
    total = sum(part.amount for part in parts)
    return [*rows[: MAX_BARS - 1], Amounts(f"({len(rest):,} more)", parts, f"{total:,}")]


def _bar(row: Amounts, y: int, longest: int) -> Bar:
    # The rest of many rows may be larger than the largest one: it is drawn as wide as the picture.
    scale = 100 / max(longest, row.total)
    x, segments = 0.0, []
    for part in row.parts:
        if part.amount:
            width = round(part.amount * scale, 2)
            segments.append(Segment(part.kind, round(x, 2), width))
            x += width
    limit = int(WIDTH / LETTER) - letters(row.text) - 2
    named = "; ".join(f"{part.amount:,} {part.noun}".rstrip() for part in row.parts if part.amount)
    full = label(row.name, 10_000).full
    return Bar(label(row.name, limit), row.text, f"{full}: {named or row.text}", y, tuple(segments))
