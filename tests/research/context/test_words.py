"""The words of a question: stems without stop words, identifiers, synonyms with less weight."""

from __future__ import annotations

import pytest

from workbench_research.context.bm25 import occurrences
from workbench_research.context.words import SYNONYM_WEIGHT, question_words


def test_words_are_stems_without_stop_words() -> None:
    words = question_words("How are the cached entries removed from the cache?", synonyms=False)

    assert [term.stem for term in words.terms] == ["cach", "entr", "remov"]


def test_identifiers_are_words_and_whole_names() -> None:
    words = question_words("What calls read_file and ToolCache in HTTP2?", synonyms=False)

    assert words.identifiers == ("read_file", "ToolCache", "HTTP2")
    assert {"read", "tool", "cach", "http"} <= {term.stem for term in words.terms}


def test_synonyms_count_less_and_belong_to_their_word() -> None:
    words = question_words("delete folder")

    assert {(term.stem, term.group, term.weight) for term in words.terms} >= {
        ("delet", 0, 1.0),
        ("remov", 0, SYNONYM_WEIGHT),
        ("directori"[:-1], 1, SYNONYM_WEIGHT),
    }


@pytest.mark.parametrize(
    ("text", "stem", "expected"),
    [
        ("cache = toolCache(my_cache)", "cach", [0, 12, 21]),
        ("attache", "cach", []),
        ("HTTPServer server", "serv", [11]),
        ("the logs of login, log", "log", [4, 19]),
        ("Größe größe", "größe", [0, 6]),
    ],
)
def test_a_stem_is_found_at_the_beginning_of_words_and_of_parts_of_names(
    text: str, stem: str, expected: list[int]
) -> None:
    assert occurrences(text, text.lower(), stem) == expected
