from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolwright_runtime.tokens import estimate_tokens

ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""How long drawing or running an example takes tells of the load of the machine, not of the code."""


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


@ANY_SPEED
@given(st.text())
def test_only_blank_text_costs_nothing(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (not text.strip())


@ANY_SPEED
@given(st.text(), st.text())
def test_two_texts_cost_as_much_together_as_alone(first: str, second: str) -> None:
    assert estimate_tokens(f"{first}\n{second}") == estimate_tokens(first) + estimate_tokens(second)
