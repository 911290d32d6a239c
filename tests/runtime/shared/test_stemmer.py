"""The stems of words are those of Snowball: `snowballstemmer` is its own generated code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search import stemmer
from toolmason_runtime.shared.search.stemmer import english_stem

ROOT = Path(__file__).parents[3]
LIBRARY = snowballstemmer.stemmer("english")
BEGINNINGS = ("", *stemmer._PREFIXES_BEFORE_R1, *stemmer._BEFORE_EED, *stemmer._BEFORE_ING, "ad", "y", "'", "sayy")
ENDINGS = (
    *stemmer._STEP_2,
    *stemmer._STEP_3,
    *stemmer._STEP_4,
    *["ing", "ed", "edly", "eed", "eedly", "ingly", "s", "'s", "ies", "e", "l", "y", "'"],
)


def test_words_of_the_documentation_have_the_stems_of_the_library() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    words = sorted(set(re.findall(r"[a-z']+", " ".join(pages).lower())))

    assert len(words) > 2_000
    assert [english_stem(word) for word in words] == LIBRARY.stemWords(words)


@pytest.mark.parametrize("word", stemmer._STEMS)
def test_exceptions_have_the_stems_of_the_library(word: str) -> None:
    assert english_stem(word) == LIBRARY.stemWord(word)


@given(
    st.sampled_from(BEGINNINGS),
    st.text("abcdefghilnorstuvwxy'é", max_size=8),
    st.lists(st.sampled_from(ENDINGS), max_size=2),
)
def test_made_up_words_have_the_stems_of_the_library(beginning: str, middle: str, endings: list[str]) -> None:
    word = "".join((beginning, middle, *endings))
    assert english_stem(word) == LIBRARY.stemWord(word)
