"""The geometry of pictures: long labels are cut, and many bars are summarised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.pictures.bars import MAX_BARS, WIDTH, Amounts, Part, bar_chart
from toolmason.pictures.heat_map import Count, heat_map
from toolmason.pictures.labels import label, letters, short_number, xml
from toolmason.pictures.tool_map import SIZE, Mark, tool_map


@given(st.text(), st.integers(2, 60))
def test_a_label_fits_and_keeps_the_whole_text(text: str, limit: int) -> None:
    shown = label(text, limit)
    assert letters(shown.shown) <= limit
    assert shown.shown.isprintable()
    assert shown.shown in {shown.full, f"{shown.full[: len(shown.shown) - 1]}…", shown.shown}
    assert (shown.shown == shown.full) is (letters(shown.full) <= limit)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("名前", 4), ("e\u0301", 1), ("שלום", 8), ("é", 1), ("", 0), ("…", 1)]
)
def test_the_width_of_a_text_is_that_of_its_letters(text: str, width: int) -> None:
    assert letters(text) == width


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (987, "987"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (12_345, "12k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (3_400_000, "3.4M"),
    ],
)
def test_a_number_has_at_most_four_letters(number: int, text: str) -> None:
    assert short_number(number) == text


@given(st.integers(0, 99_000_000))
def test_any_number_of_tokens_is_short(number: int) -> None:
    assert len(short_number(number)) <= 4


@given(st.lists(st.lists(st.integers(0, 10_000), min_size=1, max_size=3), max_size=60))
def test_bars_stay_in_the_picture_and_lose_no_amount(rows: list[list[int]]) -> None:
    kinds = ("read", "write", "destructive")
    amounts = [
        Amounts(f"name {place}", tuple(Part(kind, amount) for kind, amount in zip(kinds, row, strict=False)), "1")
        for place, row in enumerate(rows)
    ]
    chart = bar_chart("Amounts", amounts, [(kind, kind) for kind in kinds])

    assert len(chart.bars) == min(len(rows), MAX_BARS)
    assert chart.height == 36 * len(chart.bars)
    for bar in chart.bars:
        assert sum(segment.width for segment in bar.segments) <= 100.05
    if len(rows) > MAX_BARS:
        rest = rows[MAX_BARS - 1 :]
        assert chart.bars[-1].label.shown == f"({len(rest)} more)"
        assert chart.bars[-1].text == f"{sum(map(sum, rest)):,}"


def test_a_legend_has_lines_of_the_smallest_width() -> None:
    chart = bar_chart("Amounts", [], [(str(number), "a long explanation") for number in range(6)])
    assert {key.y for key in chart.legend} == {0, 20, 40}
    assert all(key.x + 16 + 7 * 18 <= WIDTH for key in chart.legend)
    assert chart.legend_height == 64


def test_a_heat_map_has_room_for_its_labels() -> None:
    picture = heat_map(
        "Counts",
        ["a" * 300, "b"],
        ["Claude Code", "Codex"],
        [Count(1, 1, "7", "seven", "amount", 1.0)],
        is_vertical=False,
    )
    assert picture.cell_width >= 11 * 7
    assert picture.rows[0].label.shown == f"{'a' * 27}…"
    assert picture.left >= picture.rows[0].label.width
    [cell] = picture.cells
    assert (cell.x, cell.y, cell.opacity) == (picture.left + picture.cell_width, picture.top + 26, 1.0)


def test_squares_of_a_map_do_not_overlap() -> None:
    mark = Mark("read", "R", "never", is_open=False, title="a tool")
    picture = tool_map("Tools", {"one": [mark] * 30, "two": [mark], "none": []})
    places = [(square.x, square.y) for group in picture.groups for square in group.squares]

    assert len(set(places)) == 31
    assert all(x + SIZE <= picture.width and y + SIZE <= picture.height for x, y in places)
    assert picture.groups[1].y > max(square.y for square in picture.groups[0].squares) + SIZE


def test_text_of_a_picture_is_escaped() -> None:
    assert xml('<a b="c">&\x00\u202e') == "&lt;a b=&quot;c&quot;&gt;&amp;\\x00\\u202e"
