"""Compute the scores of tools for words in exact arithmetic: equal vectors give equal files on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toolmason.semantic.embedder import EmbedderError

NEAREST = 20
"""Maximum number of tools that are stored for a word."""
SCORE_SCALE = 100
"""Scores are stored as integers, in hundredths of a cosine."""
MIN_SCORE = 5
"""Lower scores are omitted: they do not affect the ranking and make the file of a small server much larger."""
_COSINE_SCALE = 1_000_000
_CHUNK = 1000
"""Words that are compared at a time, to limit memory."""

Vectors = NDArray[np.int8]


def quantize(vector: Sequence[float]) -> bytes:
    """Return a vector as int8, scaled to use the whole range.

    Raises:
        EmbedderError: it is zero, or has a value that is not finite.
    """
    values = np.asarray(vector, dtype=np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if not 0 < largest < float("inf"):
        raise EmbedderError("the embedder returned a vector that is zero or not finite")
    return np.rint(values * (127 / largest)).astype(np.int8).tobytes()


def cosine(first: bytes, second: bytes) -> float:
    """Return the cosine of two quantized vectors, 0 if they differ in length."""
    if len(first) != len(second):
        return 0.0
    return float(_cosines(vectors([first]), vectors([second]))[0, 0])


def vectors(rows: Sequence[bytes]) -> Vectors:
    """Return quantized vectors as the rows of a matrix."""
    return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), -1)


def nearest(words: Vectors, tools: Vectors) -> Iterator[list[int]]:
    """Yield for each word a flat list: the index of a tool, its score, the next index ... Best first, ties by index.

    A score is the cosine minus the mean cosines of the word and of the tool, plus the mean of all: a tool that is
    similar to every word, and a word that is similar to every tool, have no advantage. Low scores are omitted.
    """
    chunks = [words[start : start + _CHUNK] for start in range(0, len(words), _CHUNK)]
    tool_sums = sum((_integers(chunk, tools).sum(axis=0) for chunk in chunks), np.zeros(len(tools), dtype=np.int64))
    total, size = int(tool_sums.sum()), len(words) * len(tools)
    for chunk in chunks:
        cosines = _integers(chunk, tools)
        word_sums = cosines.sum(axis=1, keepdims=True)
        centred = cosines * size - word_sums * len(words) - tool_sums * len(tools) + total
        scores = centred * SCORE_SCALE // (size * _COSINE_SCALE)
        order = np.argsort(-centred, axis=1, kind="stable")[:, :NEAREST]
        for row, best in zip(scores, order, strict=True):
            yield [number for tool in best if row[tool] >= MIN_SCORE for number in (int(tool), int(row[tool]))]


def _integers(words: Vectors, tools: Vectors) -> NDArray[np.int64]:
    """Return the cosines in millionths; sums of integers do not depend on their order."""
    return np.rint(_cosines(words, tools) * _COSINE_SCALE).astype(np.int64)


def _cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """Return the cosines of all pairs. Dot products and squared norms of int8 vectors are exact in 64-bit floats."""
    left, right = first.astype(np.float64), second.astype(np.float64)
    squares = (left**2).sum(axis=1)[:, None] * (right**2).sum(axis=1)
    return np.asarray((left @ right.T) / np.sqrt(squares))
