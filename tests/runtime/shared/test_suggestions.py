"""The name that an unknown one probably means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.suggestions import MAX_CHARS, closest_match, closest_matches

CODES = ("TM103", "TM203", "TM209")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("path", ["pattern", "search_path", "context_lines"], "search_path"),
        ("path", ["patch", "search_path"], "search_path"),
        ("file", ["large_file_passthrough", "files"], "files"),
        ("maxDepth", ["exclude_dirs", "max_depth"], "max_depth"),
        ("max-depth", ["exclude_dirs", "max_depth"], "max_depth"),
        ("LICENCE", ["license"], "license"),
        ("qurey", ["limit", "query"], "query"),
        ("min_lenght", ["minimum", "min_length"], "min_length"),
        ("gti", ["files", "git"], "git"),
        ("TM2033", CODES, "TM203"),
        ("repo", ["author", "repository", "max_count"], "repository"),
        ("maximum", ["min", "max"], "max"),
        ("git_bisect", ["git_log", "git_show"], ""),
        ("limit", ["repository", "max_count"], ""),
        ("x", ["xylophone"], ""),
        ("", ["a"], ""),
        ("anything", [], ""),
        ("a" * (MAX_CHARS + 1), ["a" * (MAX_CHARS + 1)], ""),
    ],
)
def test_closest_match_shares_words_or_letters(name: str, known: list[str], meant: str) -> None:
    assert closest_match(name, known) == meant


def test_closest_matches_are_the_best_ones_first() -> None:
    assert closest_matches("mian.py", ["README.md", "man.py", "main.py", "x.py"], limit=2) == ["man.py", "main.py"]


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=6), st.integers(1, 4))
def test_matches_are_among_the_choices_and_a_choice_matches_itself(word: str, choices: list[str], limit: int) -> None:
    matches = closest_matches(word, choices, limit=limit)

    assert len(matches) <= limit
    assert set(matches) <= set(choices)
    if word in choices and word.casefold().replace("-", "_").strip("_"):
        assert matches
