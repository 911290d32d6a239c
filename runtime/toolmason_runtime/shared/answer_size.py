"""Maximum size of one answer that the client passes to its model completely.

Clients measure the JSON text of a result, in which quotes, line breaks and control characters are escaped. Longer
answers lose their middle or end, often silently. The limits of known clients are in `clients.toml` of the toolkit; an
unknown client gets the size that all of them pass on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from toolmason_runtime.shared.current_client import current_client
from toolmason_runtime.shared.tokens import estimate_tokens

VARIABLE: Final = "TOOLMASON_MAX_ANSWER_CHARS"
"""Environment variable of generated servers: the maximum size of one answer."""
DEFAULT_SIZE: Final = 36_000
"""Characters of one serialised answer, or tokens times `CHARACTERS_PER_TOKEN`, whatever more a client accepts."""
MIN_SIZE: Final = 4_000
MAX_SIZE: Final = 500_000
"""The largest value of `anthropic/maxResultSizeChars` that Claude Code accepts."""
CHARACTERS_PER_TOKEN: Final = 3.6
"""36,000 characters / 10,000 tokens."""
OVERHEAD: Final = 1_500
"""Size reserved for the wrapper of a result, its first line and the server's notes."""
BLOCK_OVERHEAD: Final = 40
"""Size of `{"type": "text", "text": ""},` around one more block."""

_PIECE: Final = 256


def max_answer_size(environ: Mapping[str, str] | None = None) -> int:
    """Return the maximum size of one answer: that of the environment, else of the client of this request.

    An invalid or out-of-range value is ignored. Outside of a request, the client accepts `DEFAULT_SIZE`.
    """
    client = current_client()
    default = DEFAULT_SIZE if client is None else min(client.answer_size, DEFAULT_SIZE)
    value = (os.environ if environ is None else environ).get(VARIABLE, "").strip()
    if value.isascii() and value.isdecimal() and len(value) <= len(str(MAX_SIZE)):
        return int(value) if MIN_SIZE <= int(value) <= MAX_SIZE else default
    return default


def text_budget(environ: Mapping[str, str] | None = None) -> int:
    """Return the maximum size of the text of one answer; see `size_of`."""
    return max_answer_size(environ) - OVERHEAD


def size_of(text: str) -> int:
    """Return the size of `text` in a serialised result: its UTF-8 bytes as JSON, or its scaled tokens if that is more.

    opencode counts bytes, and bytes are never fewer than characters. The size of a text is at most the sum of the
    sizes of its parts.
    """
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    tokens = estimate_tokens(escaped)
    return max(len(escaped.encode("utf-8", "replace")), math.ceil(tokens * CHARACTERS_PER_TOKEN))


def fitting_length(text: str, budget: int) -> int:
    """Return the number of characters from the beginning of `text` that fit into the size `budget`."""
    length = 0
    for piece in _pieces(text[: max(budget, 0)]):
        size = size_of(piece)
        if size > budget:
            return length + _fitting_part(piece, budget)
        budget -= size
        length += len(piece)
    return length


def _pieces(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        ends = [*range(0, len(line), _PIECE), len(line)]
        yield from (line[start:end] for start, end in pairwise(ends))


def _fitting_part(piece: str, budget: int) -> int:
    low, high = 0, len(piece) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_of(piece[:middle]) <= budget else (low, middle - 1)
    return low
