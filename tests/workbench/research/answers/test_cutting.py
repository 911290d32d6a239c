"""Parts of an answer: nothing is lost, each is small enough, and they end where a reader would stop."""

from __future__ import annotations

import json
import time
import unicodedata
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.protocol.tokens import estimate_tokens
from workbench_handlers.answers.cutting import SMALLEST, cut

PATIENCE_S = 60.0
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
    *(
        "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3fd",
        "❤\ufe0f",
    ),
    *("\u1100\u1161\u11a8", "漢", "か\u3099", "\U0001d4b3", "\x01", "\\", '"', "\t"),
)
"""Each is one character to a reader, of at most 25 bytes."""
BETWEEN = (
    " ",
    "  ",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\r\n\r\n",
    ". ",
    "! ",
    "。",
    "、",
    "```\n",
    "\n```python\n",
    "# ",
    "\u2028",
)

texts = st.one_of(
    st.text(st.characters()),
    st.lists(st.sampled_from([*CHARACTERS, *BETWEEN]), max_size=200).map("".join),
)
words = st.text("abcdef 漢字", min_size=1, max_size=12).map(str.strip).filter(bool)
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
paragraphs = st.lists(lines, min_size=1, max_size=4).map("\n".join)
code = st.lists(st.sampled_from(["x = 1", "", "# comment", "    y", "~~~", "``", "text ``` text"]), max_size=8)
fences = st.builds(
    lambda mark, indent, info, inner: "\n".join(indent + each for each in (mark + info, *inner, mark)),
    st.sampled_from(["```", "````", "~~~~"]),
    st.sampled_from(["", "  ", "    ", "> "]),
    st.sampled_from(["", "python", " yaml"]),
    code,
)
documents = st.lists(st.one_of(paragraphs, fences), min_size=1, max_size=30)


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def tokens(text: str) -> int:
    """Count the tokens of a text as a model sees it in the JSON of a result."""
    return estimate_tokens(json.dumps(text, ensure_ascii=False)[1:-1])


def places(pieces: list[str]) -> set[int]:
    """Give where pieces end, in characters."""
    return set(accumulate(map(len, pieces)))


@given(texts, st.integers(SMALLEST, 300), st.integers(SMALLEST, 300))
def test_parts_join_to_the_text_and_each_is_within_both_limits(text: str, max_bytes: int, max_tokens: int) -> None:
    parts = cut(text, max_bytes=max_bytes, max_tokens=max_tokens)

    assert "".join(parts) == text
    assert all(size(part) <= max_bytes for part in parts)
    assert all(tokens(part) <= max_tokens for part in parts)
    assert all(parts) or parts == [""]


@given(st.one_of(st.text(), texts), st.one_of(st.text(), texts))
def test_texts_never_have_more_tokens_together_than_apart(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(st.lists(st.sampled_from([*CHARACTERS, *BETWEEN]), max_size=300).map("".join), st.integers(30, 120))
def test_no_part_begins_inside_a_character_of_a_reader(text: str, max_bytes: int) -> None:
    for before, after in pairwise(cut(text, max_bytes=max_bytes, max_tokens=PLENTY)):
        assert not before.endswith("\u200d")
        assert after[0] not in "\u200d\u1161\u11a8\U0001f3fd"
        assert not unicodedata.category(after[0]).startswith("M") or before[-1] in "\r\n\x01\t\u2028"
        assert not (before.endswith("\r") and after.startswith("\n"))
        assert after[0] != "\U0001f1ea"


@given(documents, st.integers(400, 1200))
def test_parts_end_between_blocks_if_each_block_fits(blocks: list[str], max_bytes: int) -> None:
    pieces = [f"{block}\n\n" for block in blocks]

    parts = cut("".join(pieces), max_bytes=max(max_bytes, *map(size, pieces)), max_tokens=PLENTY)

    assert places(parts) <= places(pieces)


@given(documents, st.integers(400, 1200))
def test_each_part_is_as_full_as_its_blocks_allow(blocks: list[str], max_bytes: int) -> None:
    pieces = [f"{block}\n\n" for block in blocks]
    most = max(max_bytes, *map(size, pieces))

    parts = cut("".join(pieces), max_bytes=most, max_tokens=PLENTY)

    assert all(size(one) + size(other) > most for one, other in pairwise(parts))


FENCE = "```python\nfirst = 1\n\n\n# second\nsecond = 2\n```\n"


@pytest.mark.parametrize(
    ("text", "max_bytes", "expected"),
    [
        pytest.param("", 10, [""], id="nothing"),
        pytest.param("short", 10, ["short"], id="what fits is whole"),
        pytest.param("one\n\ntwo\n\nthree", 10, ["one\n\ntwo\n\n", "three"], id="blank lines"),
        pytest.param(
            "one\r\n\r\ntwo\r\n\r\nthree", 14, ["one\r\n\r\ntwo\r\n\r\n", "three"], id="blank lines of Windows"
        ),
        pytest.param("one\n \t\n\n\ntwo", 10, ["one\n \t\n\n\n", "two"], id="blank lines go with what is above"),
        pytest.param(f"Before:\n{FENCE}After", 50, ["Before:\n", FENCE, "After"], id="fence"),
        pytest.param(f"Text\n{FENCE}", 46, ["Text\n", FENCE], id="fence that fits just so"),
        pytest.param(
            FENCE, 30, ["```python\nfirst = 1\n\n\n", "# second\nsecond = 2\n```\n"], id="fence too large, blank lines"
        ),
        pytest.param(
            "1. Do:\n\n    ```sh\n    a\n\n    b\n    ```\n",
            31,
            ["1. Do:\n\n", "    ```sh\n    a\n\n    b\n    ```\n"],
            id="fence in a list",
        ),
        pytest.param(
            "> ~~~\n> a\n>\n> ```\n> b\n> ~~~\n\nText",
            32,
            ["> ~~~\n> a\n>\n> ```\n> b\n> ~~~\n\n", "Text"],
            id="quoted fence",
        ),
        pytest.param("Use ```x``` here.\n\nThen this.", 20, ["Use ```x``` here.\n\n", "Then this."], id="code in text"),
        pytest.param(
            "``` a ``` b\n\nThen this.", 20, ["``` a ``` b\n\n", "Then this."], id="code at the start of a line"
        ),
        pytest.param(
            "Text.\n\n## Next\n\nMore text.", 24, ["Text.\n\n", "## Next\n\nMore text."], id="heading with what follows"
        ),
        pytest.param(
            f"Text.\n\n## Next\n\n{FENCE}",
            46,
            ["Text.\n\n## Next\n\n", FENCE],
            id="heading without a fence it does not fit with",
        ),
        pytest.param("one two\nthree four\nfive", 11, ["one two\n", "three four\n", "five"], id="lines"),
        pytest.param("One two. Three four? Five", 12, ["One two. ", "Three four? ", "Five"], id="sentences"),
        pytest.param("一二三。四五六。七八", 16, ["一二三。", "四五六。", "七八"], id="sentences without spaces"),
        pytest.param("“One two.” Three four", 16, ["“One two.” ", "Three four"], id="quoted sentences"),
        pytest.param("one two three four", 9, ["one two ", "three ", "four"], id="words"),
        pytest.param("一二、三四、五六", 12, ["一二、", "三四、", "五六"], id="words behind commas"),
        pytest.param("abcdefghijkl", 8, ["abcdefgh", "ijkl"], id="inside a run"),
        pytest.param(
            "e\u0301" * 5, 8, ["e\u0301e\u0301", "e\u0301e\u0301", "e\u0301"], id="inside a run, around marks"
        ),
        pytest.param("e" + "\u0301" * 8, 9, ["e" + "\u0301" * 4, "\u0301" * 4], id="one character larger than a part"),
    ],
)
def test_parts_end_where_a_reader_would_stop(text: str, max_bytes: int, expected: list[str]) -> None:
    assert cut(text, max_bytes=max_bytes, max_tokens=PLENTY) == expected


def test_tokens_are_those_of_the_text_in_json() -> None:
    text = '"' * 3000

    assert (
        len(cut(text, max_bytes=PLENTY, max_tokens=1001)) > len(cut("." * 3000, max_bytes=PLENTY, max_tokens=1001)) == 1
    )


def test_parts_of_a_long_answer_are_nearly_full() -> None:
    text = "漢字仮名交じり文です。" * 20_000

    parts = cut(text, max_bytes=10_240, max_tokens=12_000)

    assert min(map(size, parts[:-1])) > 9_500


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("漢字仮名交じり文です。" * 152_000, id="5 MB of sentences"),
        pytest.param("漢字仮名交じり文です" * 167_000, id="5 MB without an end"),
        pytest.param("." * 1_000_000, id="stops"),
        pytest.param('."' * 500_000, id="quoted stops"),
        pytest.param(" " * 1_000_000, id="spaces"),
        pytest.param("\n" * 1_000_000, id="blank lines"),
        pytest.param("a" + "\u0301" * 500_000, id="one character"),
        pytest.param("```\n" * 250_000, id="fences"),
        pytest.param("> " * 500_000 + "```", id="quotes"),
        pytest.param(("#" + " " * 1000 + "\n\n") * 1000, id="headings"),
        pytest.param("# a\n" * 250_000, id="headings above each other"),
        pytest.param("# a\n\n" * 250_000, id="headings above nothing"),
        pytest.param("\x01" * 1_000_000, id="escapes"),
        pytest.param("\U0001f1e9" * 250_000, id="flags"),
    ],
)
@pytest.mark.parametrize("max_bytes", [10_240, 100_000_000])
def test_long_answers_are_cut_in_time(text: str, max_bytes: int) -> None:
    began = time.monotonic()
    parts = cut(text, max_bytes=max_bytes, max_tokens=12_000)

    # In proportion to the text it takes a second or two; with its square it would take hours.
    assert time.monotonic() - began < PATIENCE_S
    assert "".join(parts) == text


@pytest.mark.parametrize("limits", [{"max_bytes": 7, "max_tokens": 100}, {"max_bytes": 100, "max_tokens": 0}])
def test_limits_that_no_character_fits_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no part can be this small"):
        cut("text", **limits)
