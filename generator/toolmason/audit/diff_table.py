"""Two texts beside each other in a bounded width, as `diff --side-by-side` shows them, with what is alike left out."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any, Final, NamedTuple

from toolmason.diagnostics.terminal import paint

MIN_WIDTH: Final = 40
_AROUND: Final = 3
"""Lines alike that are shown on either side of a difference."""
_MIN_GAP: Final = 3
"""Lines alike that are worth leaving out."""
_MAX_MATCHED: Final = 5_000
"""Lines a side that are matched with each other; longer texts are cut to what differs between start and end."""
_STYLES: Final = {"|": ("red", "green"), "<": ("red", "red"), ">": ("green", "green")}


class Row(NamedTuple):
    """A line of each text. `mark` is empty where both are alike, `|`, `<` or `>` where they differ, `~` for a gap."""

    left: str
    mark: str
    right: str


def pretty(value: Any) -> list[str]:
    """Give a JSON value as indented lines without anything that a terminal would obey."""
    return [visible(line) for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]


def visible(text: str) -> str:
    """Write what cannot be seen as JSON would: text of others may hold sequences that a terminal obeys."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0x7F or char in "\n\r\t" else f"\\u{ord(char):04x}"


def in_order_of(value: Any, model: Any) -> Any:
    """Give `value` with its keys in the order they have in `model`: a key that only moved is no difference."""
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: in_order_of(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list):
        return [in_order_of(each, other) for each, other in zip_longest(value, model)][: len(value)]
    return value


def rows(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Put two texts beside each other, the differences with a few lines around them."""
    found: list[Row] = []
    for is_alike, those, these in _blocks(left, right):
        if not is_alike:
            found += [
                Row(a or "", "<" if b is None else ">" if a is None else "|", b or "")
                for a, b in zip_longest(those, these)
            ]
        else:
            found += [Row(line, "", line) for line in those]
    return list(_without_what_is_alike(found))


def _blocks(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    if max(len(left), len(right)) > _MAX_MATCHED:
        start = _alike(left, right)
        end = _alike(left[start:][::-1], right[start:][::-1])
        middle = (left[start : len(left) - end], right[start : len(right) - end])
        yield True, left[:start], right[:start]
        yield False, *middle
        yield True, left[len(left) - end :], right[len(right) - end :]
        return
    for kind, a, b, c, d in SequenceMatcher(None, left, right).get_opcodes():
        yield kind == "equal", left[a:b], right[c:d]


def _alike(left: Sequence[str], right: Sequence[str]) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


def _without_what_is_alike(found: Sequence[Row]) -> Iterator[Row]:
    shown = [False] * len(found)
    for index, row in enumerate(found):
        if row.mark:
            for near in range(max(0, index - _AROUND), min(len(found), index + _AROUND + 1)):
                shown[near] = True
    for is_shown, some in groupby(zip(found, shown, strict=True), key=itemgetter(1)):
        those = [row for row, _ in some]
        if is_shown or len(those) < _MIN_GAP:
            yield from those
        else:
            text = f"... {len(those)} lines alike"
            yield Row(text, "~", text)


def side_by_side(found: Sequence[Row], width: int, *, colour: bool) -> Iterator[str]:
    """Print rows in `width` columns. A line too long for its half goes on in the next."""
    half = (max(width, MIN_WIDTH) - 3) // 2
    for row in found:
        mark = "" if row.mark == "~" else row.mark
        styles = ("cyan", "cyan") if row.mark == "~" else _STYLES.get(row.mark, ())
        for left, right in zip_longest(wrapped(row.left, half), wrapped(row.right, half), fillvalue=""):
            pad = " " * (half - cells(left))
            if not styles:
                yield f"{left}{pad}   {right}".rstrip()
                continue
            shown = f"{_painted(left, styles[0], colour)}{pad} {mark or ' '} {_painted(right, styles[1], colour)}"
            yield shown.rstrip()


def _painted(text: str, style: str, colour: bool) -> str:
    return paint(text, style, colour=colour) if text else ""


def wrapped(text: str, width: int) -> list[str]:
    """Break a line into pieces of at most `width` columns, those after the first indented as the line is."""
    indent = " " * min(len(text) - len(text.lstrip(" ")) + 2, width // 2)
    pieces: list[str] = []
    piece, used = "", 0
    for char in text:
        wide = cells(char)
        if used + wide > width:
            space = piece.rfind(" ") + 1
            cut = space if space > max(len(indent), len(piece) // 2) else len(piece)
            pieces.append(piece[:cut])
            piece = indent + piece[cut:]
            used = cells(piece)
        piece += char
        used += wide
    return [*pieces, piece]


def cells(text: str) -> int:
    """Count the columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
