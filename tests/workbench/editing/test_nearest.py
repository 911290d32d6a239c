"""The places that a model may have meant: the right line, a similarity that people expect, bounded work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.editing.text.folding import fold
from workbench_handlers.editing.text.nearest import MAX_PLACES, MAX_PREVIEW_CHARS, describe_nearest, nearest_places

SOURCE = """import os

def load(path):
    return os.path.join(path, "config.toml")

def store(path, text):
    with open(path, "w") as file:
        file.write(text)

class Reader:
    def load(self, path):
        return load(path)
"""
TEN_MEGABYTES = 10_000_000


@pytest.mark.parametrize(
    ("text", "wanted", "line", "percent"),
    [
        (SOURCE, "def load(paht):", 3, (80, 99)),
        (SOURCE, "def load(path):\n\treturn os.path.join(path, 'config.toml')", 3, (85, 99)),
        (SOURCE, 'with open(path, "w") as file:\n    file.write(text)', 7, (80, 99)),
        (SOURCE, "    def load(self, name):\n        return load(name)\n", 11, (80, 99)),
        (SOURCE.replace("\n", "\r\n"), "def store(path, txt):", 6, (90, 99)),
        (SOURCE.replace("\n", "\r"), "class Raeder:", 10, (80, 99)),
        ("total = compute(first, second) + offset_of_the_whole_line * 3\n", "compute(frist, second)", 1, (85, 99)),
        ("}\n{\n}\n];\n", "};", 1, (50, 80)),
        ("abc", "abd", 1, (60, 70)),
        ("".join(f"value_{i} = {i}\n" for i in range(5000)), "value_3210 = 3211", 3211, (90, 99)),
        (
            "x" * 50_000 + "function render(a,b){return a}" + "y" * 50_000,
            "function render(a, b){return a}",
            1,
            (80, 99),
        ),
    ],
)
def test_the_best_place_is_where_the_text_was_meant(
    text: str, wanted: str, line: int, percent: tuple[int, int]
) -> None:
    best = nearest_places(text, wanted)[0]

    assert best.line == line
    assert percent[0] <= best.similarity * 100 <= percent[1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("", "a"), ("abc\n", "xyz"), ("a" * 100, "b" * 2000), ("\n" * 100, "\n" * 200), (SOURCE, "€€€")],
)
def test_a_text_without_similar_places_has_none(text: str, wanted: str) -> None:
    assert nearest_places(text, wanted) == []
    assert "re-read the file with read_files" in describe_nearest(text, wanted)


def test_a_message_lists_the_best_places_first_with_their_similarity() -> None:
    text = "".join(f"entry {i}: the text of the entry\n" for i in range(20))

    first, *places, last = describe_nearest(text, "entry 12: the test of the entry").splitlines()

    assert first == "The nearest places are:"
    assert places[0] == "line 13 (96 % similar): `entry 12: the text of the entry`"
    assert len(places) == MAX_PLACES
    assert last == "Re-read the lines (read_files with start_line=13 and end_line=13) and copy them exactly"


def test_a_preview_is_short_and_shows_no_invisible_character() -> None:
    long = "key = " + "v" * 300

    message = describe_nearest(f"{long}\nkey = \u202evalue\x1b[0m\n", f"{long}x\n")
    escaped = describe_nearest("key = value" + "\u200b" * 150, "key = valeu" + "\u200b" * 150).splitlines()[1]
    hidden = describe_nearest("key = \u202evalue\x1b[0m\n", "key = value[0m\n")

    assert f"`{long[: MAX_PREVIEW_CHARS - 1]}…`" in message
    assert escaped.startswith("line 1 (9")
    assert len(escaped) == len("line 1 (99 % similar): ``") + MAX_PREVIEW_CHARS
    assert r"`key = \u202evalue\x1b[0m\n`" in hidden


def test_places_do_not_overlap() -> None:
    text = "".join(f"item {i // 2}\n" for i in range(12))

    assert [place.line for place in nearest_places(text, "item 1\nitem 2\nitem 3\nitem 4\n")] == [5]


def test_the_preview_of_a_long_line_shows_the_place() -> None:
    text = "".join(f"value_{i} = {i};" for i in range(2_000))

    assert nearest_places(text, "value_1234 = 1243;")[0].text.startswith("value_1234 = 1234;")


def calls(work: Callable[[], object]) -> int:
    """The number of calls, of functions in Python and in C, that a piece of work makes."""
    count = 0

    def profile(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


RANDOM = Random(7)
WORDS = [f"word{i}" for i in range(300)]
LARGE = {
    "prose": "".join(f"{' '.join(RANDOM.choices(WORDS, k=12))}\n" for _ in range(TEN_MEGABYTES // 90)),
    "one line": "function a(){return 1};" * (TEN_MEGABYTES // 23),
    "empty lines": "\n" * TEN_MEGABYTES,
    "one character": "a" * TEN_MEGABYTES,
    "two characters": "ab\n" * (TEN_MEGABYTES // 3),
}
WANTED = {
    "prose": " ".join(WORDS[:200]),
    "line": "word1 word2 wrod3 word4",
    "braces": "}\n" * 1_000,
    "one character": "a" * 1_999 + "b",
    "two characters": "ab\n" * 600 + "ba",
    "long": "word1 function a b\n" * 100_000,
}


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_the_work_in_ten_megabytes_is_bounded(text: str, wanted: str) -> None:
    assert calls(lambda: nearest_places(text, wanted)) < 1_000_000  # a loop over the text makes ten times as many


@given(st.text(st.sampled_from("ab \n\r\u2019€"), max_size=200), st.text(st.sampled_from("ab \n\r\u2019€"), min_size=1))
def test_places_are_in_the_text_and_in_order(text: str, wanted: str) -> None:
    places = nearest_places(text, wanted)

    assert len(places) <= MAX_PLACES
    assert [place.similarity for place in places] == sorted((place.similarity for place in places), reverse=True)
    for place in places:
        assert place.text in fold(text, "" if "\n" in text else "\r")
        assert 0.5 <= place.similarity <= 1
        assert 1 <= place.line <= text.count("\n") + text.count("\r") + 1
