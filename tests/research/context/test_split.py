"""Files are split into questions within the window, and the answers are merged in even levels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.context.number import TextFile
from workbench_research.context.split import merge_levels, split


def count(text: str) -> int:
    return len(text) // 3 + 1


FILES = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map("/".join),
    st.lists(st.integers(0, 300).map("x".__mul__), min_size=1, max_size=30).map(lambda lines: "\n".join([*lines, ""])),
    max_size=12,
)


@given(FILES, st.integers(400, 3_000))
def test_each_line_is_in_one_question_and_each_question_fits(texts: dict[str, str], window: int) -> None:
    files = [TextFile(path, text) for path, text in texts.items()]

    plan = split(files, window, count, answer_tokens=100)

    covered = [
        (piece.path, line)
        for question in plan.questions
        for piece in question
        for line in range(piece.first, piece.last + 1)
    ]
    expected = [(file.path, line) for file in files for line in range(1, len(file.lines) + 1)]
    assert sorted(covered) == sorted(expected)
    assert covered == sorted(covered, key=lambda row: (row[0].split("/"), row[1]))
    assert all(sum(piece.tokens for piece in question) <= window for question in plan.questions)
    assert split(list(reversed(files)), window, count, answer_tokens=100) == plan


def test_a_directory_stays_together() -> None:
    files = [TextFile(f"{directory}/{name}.py", "x" * 600 + "\n") for directory in "abc" for name in "xyz"]

    plan = split(files, 1_000, count, answer_tokens=100)

    assert [{piece.path[0] for piece in question} for question in plan.questions] == [{"a"}, {"b"}, {"c"}]
    assert plan.merges == (((0, 1, 2),),)
    assert plan.steps == 4


def test_one_question_needs_no_merge() -> None:
    plan = split([TextFile("a.py", "x = 1\n")], 1_000, count, answer_tokens=100)

    assert (len(plan.questions), plan.merges, plan.steps) == (1, (), 1)


def test_a_window_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room"):
        split([], 100, count)


@given(st.integers(0, 500), st.integers(2, 40))
def test_merges_join_every_answer_once_and_evenly(answers: int, fan_in: int) -> None:
    levels = merge_levels(answers, fan_in)

    remaining = answers
    for level in levels:
        assert [index for merge in level for index in merge] == list(range(remaining))
        sizes = [len(merge) for merge in level]
        assert max(sizes) <= fan_in
        assert max(sizes) - min(sizes) <= 1
        remaining = len(level)
    assert remaining == min(answers, 1)
