"""docs/ranking.md: its tables are valid, its ranker works, and its limits are those of the code."""

from __future__ import annotations

import tomllib
from typing import Any

from pages import read
from toolmason_runtime.shared.search.ranking import (
    MAX_LITERAL_HITS,
    MAX_NEAREST_WORDS,
    MAX_SPELLING_AFTER_MATCH,
    MAX_SPELLING_FILL,
    SMALL_CATALOGUE,
)
from toolmason_runtime.shared.search.servers import MAX_SHARED_HITS, SHARE
from toolmason_runtime.shared.search.servers import PAGE as SHARED_PAGE
from toolmason_runtime.shared.search.spelling import LONG_WORD
from toolmason_runtime.shared.search.words import MAX_SIMILAR_TERMS

PAGE = read("docs/ranking.md")
NUMBERS = {2: "two", 5: "five", 6: "six", 8: "eight", 10: "ten"}


class Words:
    """The ranking by words of the page's library."""

    def rank(self, query: str) -> dict[str, float]:
        return {"return_book": 1.2, "find_books": 1.0, query: 0.1}


def test_ranker_of_the_page_prefers_tools_that_are_used_most() -> None:
    namespace: dict[str, Any] = {"__name__": "library_ranking"}
    exec(PAGE.blocks("python")[0], namespace)

    scores = namespace["by_loans"](Words(), {}).rank("lend_book")
    assert sorted(scores, key=scores.__getitem__) == ["lend_book", "return_book", "find_books"]


def test_tables_of_the_page_name_the_texts_and_the_ranker() -> None:
    texts, discovery = map(tomllib.loads, PAGE.blocks("toml"))

    assert set(texts["categories"]["lending"]) == {"summary", "description"}
    assert discovery["discovery"]["ranker"].endswith(":by_loans")


def test_limits_are_those_of_the_code() -> None:
    for sentence in (
        f"at most {NUMBERS[MAX_LITERAL_HITS]} tools",
        f"fewer than {NUMBERS[MAX_SPELLING_FILL]} hits, at most {NUMBERS[MAX_SPELLING_AFTER_MATCH]} tools with similar",
        f"two in words of {NUMBERS[LONG_WORD]} letters",
        f"up to {NUMBERS[MAX_NEAREST_WORDS]} words of tools",
        f"at most {SMALL_CATALOGUE} tools returns all",
        f"more than {NUMBERS[MAX_SIMILAR_TERMS]} words",
    ):
        assert sentence in PAGE.text


def test_the_share_of_a_server_is_the_documented_one() -> None:
    text = " ".join(PAGE.text.split())
    assert f"Of {NUMBERS[SHARED_PAGE]} successive results, at most {NUMBERS[SHARE]} are tools of one server" in text
    assert f"the first {MAX_SHARED_HITS} results" in text
