"""Estimate the tokens of a text without a vocabulary.

A regular expression approximates a tokenizer. The estimate is 2 to 21 % above o200k (5th to 95th percentile of 900
tool definitions); other tokenizers count up to 1.95 times as much. Use it for budgets, not for bills.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      _?(?P<word>[A-Z]?[a-z]+|[A-Z]+(?![a-z]))  # one camelCase or snake_case part
    | (?P<short>[0-9]{1,3}|[^\w\s]{1,3}|_+)      # digits and punctuation in threes
    | (?P<wide>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])
    | (?P<other>[^\W\d_A-Za-z]+|\w)              # letters of other scripts
    """,
    re.VERBOSE,
)
_MAX_WORD_LENGTH = 8
_MAX_OTHER_LENGTH = 3


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens; at least 1 for text that is not blank."""
    count = 0
    for word, _, _, other in _PIECE.findall(text):
        if word:
            count += -(-len(word) // _MAX_WORD_LENGTH)
        else:
            count += -(-len(other) // _MAX_OTHER_LENGTH) or 1
    return count
