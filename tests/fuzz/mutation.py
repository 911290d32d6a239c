"""Inputs made from a corpus by random changes. The same seed gives the same inputs, whatever the parser does."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

MAX_BYTES = 65_536
"""Maximum size of an input. Quadratic code takes seconds for it."""
HOSTILE = (
    b"", b"\0", b"\n", b"\r\n", b" ", b"\t", b"\\", b'"', b"'", b"`", b"<", b">", b"[", b"]", b"{", b"}", b"(", b")",
    b"=", b",", b";", b":", b"/", b"#", b"@", b"%", b"*", b"..", b"//", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"\xc3\xa9", b"\xe2\x80\xae", b"\xf0\x9f\x98\x80", b"0", b"-1", b"1e999", b"9" * 400, b"NaN", b"null", b"true",
    b"\\ud800", b'"""', b"'''", b"[[", b"{}", b"[]",
)  # fmt: skip
_TOKEN = re.compile(rb"\w{1,100}|[^\w]")


def inputs(corpus: Sequence[bytes], seed: str) -> Iterator[bytes]:
    """Yield the corpus, then endlessly changed texts of it: short ones mostly, one in eight up to `MAX_BYTES`."""
    yield from corpus
    source = random.Random(seed)
    tokens = sorted({token for data in corpus for token in _TOKEN.findall(data)} | set(HOSTILE))
    while True:
        limit = MAX_BYTES if source.random() < 0.125 else 2_048
        data = source.choice(corpus)[:limit]
        for _ in range(source.randint(1, 6)):
            data = _changed(data, corpus, tokens, source, limit)[:limit]
        yield data


def _changed(data: bytes, corpus: Sequence[bytes], tokens: Sequence[bytes], source: random.Random, limit: int) -> bytes:
    start = source.randint(0, len(data))
    end = min(len(data), start + int(source.expovariate(1 / 8)))
    match source.randrange(7):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + source.choice(tokens) + data[start:]
        case 2:
            return data[:start] + source.choice(tokens) + data[end:]
        case 3:  # many times the same: what nested and adjacent repeats of a pattern are slow on
            part = data[start:end] or source.choice(tokens) or b"a"
            return data[:start] + part * (int(limit ** source.random()) // len(part) + 1) + data[end:]
        case 4:
            part = b"".join(source.choice(tokens) for _ in range(source.randint(1, 3))) or b"a"
            return data[:start] + part * (int(limit ** source.random()) // len(part) + 1) + data[start:]
        case 5:
            other = source.choice(corpus)
            place = source.randint(0, len(other))
            return data[:start] + other[place : place + limit]
        case _:
            return data[:start] + bytes([source.randrange(256)]) + data[end:]
