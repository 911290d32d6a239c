"""Texts for the patterns of real tools match them."""

from __future__ import annotations

import re

import pytest

from toolmason.diff.pattern_examples import pattern_example


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]+-[0-9]+$",
        "^[a-z]{3}-[0-9]{4}-x$",
        r"^\d{4}-\d{2}-\d{2}$",
        "^(open|closed)$",
        "^(?:refs/heads/)?[^ ~^:]+$",
        r"^https?://[\w.-]+(/.*)?$",
        "^#[0-9a-fA-F]{6}$",
        "^(?P<owner>[a-z]+)/(?<name>[a-z]+)$".replace("(?<", "(?P<"),
        r"^v\d+\.\d+$",
        "^[^/]+$",
        "[]a]",
    ],
)
def test_the_text_for_a_pattern_matches_it(pattern: str) -> None:
    text = pattern_example(pattern)
    assert text is not None
    assert re.search(pattern, text)


@pytest.mark.parametrize(
    "pattern", ["(?=a)b", "(", "[", "a{", "*", "\\", r"(a)\1", r"\p{L}", "a" * 400, "(" * 200, "[^a0 _é-]"]
)
def test_other_syntax_gives_no_text_and_no_error(pattern: str) -> None:
    assert pattern_example(pattern) is None
