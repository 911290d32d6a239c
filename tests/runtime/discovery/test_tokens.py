from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        (" \n", 0),
        ("read", 1),
        ("readFile", 2),
        ("read_file", 2),
        ("internationalisation", 3),
        ("123456", 2),
        ('{"name":"read"}', 5),
        ("读取文件", 4),
        ("файлы", 2),
    ],
)
def test_words_digits_and_punctuation_count_by_pieces(text: str, expected: int) -> None:
    assert estimate_tokens(text) == expected


@given(st.text())
def test_only_blank_text_costs_nothing(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (not text.strip())


@given(st.text(), st.text())
def test_two_texts_cost_as_much_together_as_alone(first: str, second: str) -> None:
    assert estimate_tokens(f"{first}\n{second}") == estimate_tokens(first) + estimate_tokens(second)
