"""Parts of a text: nothing is lost, each is small enough, and they end where a reader would stop."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.chunks import cutting
from toolmason_runtime.chunks.cutting import cut, truncated
from toolmason_runtime.shared.answer_size import size_of

PLENTY = 1_000_000

CHARACTERS = (
    *(
        "a",
        "Zed",
        "_",
        "7",
        "e\u0301",
        "n\u0303\u0323",
        " \u0301",
        ".\ufe0f",
        "\u3002\ufe00",
        "\u0915\u094d\u0937\u093f",
    ),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd"),
    *("\u1100\u1161\u11a8", "\u6f22", "\u304b\u3099", "\U0001d4b3", "\x01", "\\", '"', "\t", "\u2764\ufe0f"),
)
"""Each is one character to a reader, of at most 25 bytes."""
BETWEEN = (" ", "  ", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", ". ", "\u3002", "```\n", "# ", "\u2028")

texts = st.one_of(
    st.text(st.characters()),
    st.lists(st.sampled_from([*CHARACTERS, *BETWEEN]), max_size=200).map("".join),
)


def parts_of(*pieces: str, size: int = PLENTY, max_bytes: int = PLENTY) -> list[str]:
    return list(cut(pieces, size=size, max_bytes=max_bytes))


def bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def escaped_size(text: str) -> int:
    """The size of a text as a string inside of the JSON text of a result."""
    return size_of(json.dumps(text, ensure_ascii=False)[1:-1])


@given(st.lists(texts, max_size=4), st.integers(30, 300), st.integers(8, 300))
def test_parts_join_to_the_text_and_each_is_within_both_limits(pieces: list[str], size: int, max_bytes: int) -> None:
    parts = parts_of(*pieces, size=size, max_bytes=max_bytes)

    assert "".join(parts) == "".join(pieces)
    assert all(len(part) == 1 or escaped_size(part) <= size for part in parts)
    assert all(len(part) == 1 or bytes_of(part) <= max_bytes for part in parts)
    assert all(parts)


@given(texts, st.lists(st.integers(0, 300), max_size=4), st.integers(30, 100))
def test_parts_do_not_depend_on_the_pieces(text: str, ends: list[int], size: int) -> None:
    places = [0, *sorted(ends), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]

    assert parts_of("".join(pieces), size=size) == parts_of(*pieces, size=size)


@given(st.lists(st.sampled_from([*CHARACTERS, *BETWEEN]), max_size=300).map("".join), st.integers(60, 120))
def test_no_part_begins_inside_a_character_of_a_reader(text: str, max_bytes: int) -> None:
    boundaries = {match.end() for match in regex.finditer(r"\X", text)}

    assert set(accumulate(map(len, parts_of(text, max_bytes=max_bytes)))) <= boundaries


@pytest.mark.parametrize(
    ("text", "max_bytes", "expected"),
    [
        pytest.param("", 10, [], id="nothing"),
        pytest.param("short", 10, ["short"], id="a text that fits is whole"),
        pytest.param("one\n\ntwo\n\nthree", 10, ["one\n\ntwo\n\n", "three"], id="paragraphs"),
        pytest.param(
            "one\r\n\r\ntwo\r\n\r\nthree", 14, ["one\r\n\r\ntwo\r\n\r\n", "three"], id="paragraphs of Windows"
        ),
        pytest.param("one one\n\ntwo\nthree", 14, ["one one\n\n", "two\nthree"], id="a paragraph before a line"),
        pytest.param("a\n\nb two three\nfour", 16, ["a\n\nb two three\n", "four"], id="only in the second half"),
        pytest.param("one two\nthree four\nfive", 11, ["one two\n", "three four\n", "five"], id="lines"),
        pytest.param("abcdefghijkl", 8, ["abcdefgh", "ijkl"], id="inside a line"),
        pytest.param("e\u0301" * 5, 8, ["e\u0301e\u0301", "e\u0301e\u0301", "e\u0301"], id="around marks"),
        pytest.param("e" + "\u0301" * 8, 9, ["e" + "\u0301" * 4, "\u0301" * 4], id="one character larger than a part"),
        pytest.param("\U0001f1e9\U0001f1ea" * 3, 20, ["\U0001f1e9\U0001f1ea" * 2, "\U0001f1e9\U0001f1ea"], id="flags"),
    ],
)
def test_parts_end_where_a_reader_would_stop(text: str, max_bytes: int, expected: list[str]) -> None:
    assert parts_of(text, max_bytes=max_bytes) == expected


@pytest.mark.parametrize("character", ['"', "\\", "\x01", "\u6f22", "x"])
def test_parts_are_full_as_the_json_of_a_result_has_them(character: str) -> None:
    *parts, _ = parts_of(character * 30_000, size=3_000)

    assert {escaped_size(part) > 2_900 for part in parts} == {True}


def test_a_text_is_measured_only_at_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MEASURED_CHARS", 10_000)
    parts = parts_of("\x01" * 30_000, size=3_000)

    assert len(parts[0]) > 150
    assert {len(part) for part in parts[-5:-1]} == {150}
    assert max(map(escaped_size, parts)) <= 3_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\u6f22\u5b57\u4eee\u540d\u3002" * 100_000, id="no spaces"),
        pytest.param("\n" * 500_000, id="blank lines"),
        pytest.param("a" + "\u0301" * 200_000, id="one character"),
        pytest.param("\U0001f1e9" * 100_000, id="flags"),
        pytest.param("\x01" * 500_000, id="control characters"),
    ],
)
def test_work_grows_in_proportion_to_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def count(function: object) -> object:
        def counted(piece: str, *rest: int) -> object:
            nonlocal looked
            looked += len(piece)
            return function(piece, *rest)  # type: ignore[operator]

        return counted

    for name in ("size_of", "fitting_length", "truncated"):
        monkeypatch.setattr(cutting, name, count(getattr(cutting, name)))
    parts = parts_of(text, size=34_500, max_bytes=10_240)

    assert "".join(parts) == text
    assert looked < 50 * len(text)


@given(st.text(st.characters()), st.integers(0, 60))
def test_truncated_text_is_the_longest_beginning_that_fits(text: str, max_bytes: int) -> None:
    beginning = truncated(text, max_bytes)

    assert text.startswith(beginning)
    assert bytes_of(beginning) <= max_bytes
    assert beginning == text or bytes_of(text[: len(beginning) + 1]) > max_bytes
