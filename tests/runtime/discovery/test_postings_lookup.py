"""A word of `semantic.postings` is found by bisection in the text of all words."""

from __future__ import annotations

import zlib
from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search.postings import SemanticPostings

WORD = st.text("abz", min_size=2, max_size=5)
ROW = st.lists(st.tuples(st.integers(0, 1), st.integers(5, 399)), min_size=1, max_size=20)


@given(rows=st.dictionaries(WORD, ROW), other=st.text(max_size=4))
def test_each_word_has_the_numbers_of_its_line_and_no_other_word_has_any(
    rows: dict[str, list[tuple[int, int]]], other: str
) -> None:
    lines = [f"{word} {' '.join(f'{tool} {score}' for tool, score in rows[word])}\n" for word in sorted(rows)]
    packed = b64encode(zlib.compress("".join(["2\n", *lines]).encode()))
    head = b"toolmason-postings 2\nmodel x\ntool a 0 AAEC\ntool b 0 AAEC\n\n"
    postings = SemanticPostings(head + packed + b"\n")

    for word, row in rows.items():
        assert postings.best(word) == row[0][1]
        sums = {tool: sum(score for other, score in row if other == tool) for tool, _ in row}
        assert postings.scores({word: 1}) == sums
    if other not in rows:
        assert postings.best(other) is None
        assert postings.scores({other: 1}) == {}
