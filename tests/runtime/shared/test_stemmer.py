"""The English stemmer in the runtime: that of snowballstemmer, without its other languages."""

from __future__ import annotations

import re
from pathlib import Path

import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search.snowball.english_stemmer import EnglishStemmer

ROOT = Path(__file__).parents[3]
LIBRARY = snowballstemmer.stemmer("english")


def test_words_of_the_documentation_have_the_stems_of_the_library() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    words = sorted(set(re.findall(r"[a-z']+", " ".join(pages).lower())))
    stemmer = EnglishStemmer()

    assert len(words) > 2_000
    assert [stemmer.stemWord(word) for word in words] == LIBRARY.stemWords(words)


@given(st.text("abcdefghilnorstuvy'", max_size=12))
def test_made_up_words_have_the_stems_of_the_library(word: str) -> None:
    assert EnglishStemmer().stemWord(word) == LIBRARY.stemWord(word)
