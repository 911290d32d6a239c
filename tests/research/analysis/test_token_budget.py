from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_research.analysis.token_budget import CUT_MARK, cut_to_budget, take_within_budget

SENTENCES = "The store opens a file. It reads every line! Does it close it? " * 40


def test_a_text_that_fits_is_unchanged() -> None:
    assert cut_to_budget("Short.", 50) == ("Short.", False)


def test_text_is_cut_where_a_sentence_ends() -> None:
    cut, is_cut = cut_to_budget(SENTENCES, 60)
    assert is_cut
    assert cut.endswith(CUT_MARK)
    assert cut.removesuffix(CUT_MARK).rstrip()[-1] in ".!?"
    assert estimate_tokens(cut) <= 60


def test_lines_are_kept_whole() -> None:
    text = "\n".join(f"- `src/module_{number}.py` holds part {number}" for number in range(100))
    cut, _ = cut_to_budget(text, 200)
    assert cut.removesuffix(CUT_MARK).rstrip().splitlines() == text.splitlines()[: len(cut.splitlines())]


def test_one_endless_sentence_is_cut_between_words_and_one_endless_word_inside() -> None:
    words, _ = cut_to_budget("word " * 500, 60)
    assert set(words.removesuffix(CUT_MARK).split()) == {"word"}
    assert 50 < estimate_tokens(words) <= 60
    one, _ = cut_to_budget("x" * 5000, 60)
    assert 50 < estimate_tokens(one) <= 60


def test_sentences_of_other_scripts_are_cut_at_their_ends() -> None:
    cut, _ = cut_to_budget("设置从文件中读取。" * 100, 60)
    assert cut.removesuffix(CUT_MARK).rstrip().endswith("。")


def test_a_block_of_code_that_is_cut_is_closed() -> None:
    cut, _ = cut_to_budget("Look:\n```py\n" + "call(1)\n" * 200 + "```\n", 80)
    assert cut.count("```") == 2
    assert estimate_tokens(cut) <= 80


@given(st.text(), st.integers(min_value=50, max_value=200))
def test_no_text_exceeds_its_budget(text: str, budget: int) -> None:
    long = text * 20
    cut, is_cut = cut_to_budget(long, budget)
    assert estimate_tokens(cut) <= budget
    assert (cut == long) is not is_cut


@pytest.mark.parametrize(("budget", "count"), [(0, 0), (8, 1), (10_000, 10)])
def test_entries_are_kept_whole_from_the_first_on(budget: int, count: int) -> None:
    entries = [{"path": f"{number}"} for number in range(10)]
    kept, left = take_within_budget(entries, budget)
    assert kept == entries[:count]
    assert 0 <= left <= budget
