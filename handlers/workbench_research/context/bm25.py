"""BM25 over chunks of files, for the words of one question.

There is no index: only the words of the question are looked for, with the search of `str`, which is faster than
splitting all files into words once. A word matches at the beginning of a word or of a part of a name:
`cach` in `tool_cache` and `ToolCache`, not in `attache`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workbench_handlers.workspace.scan import Scan
from workbench_research.context.number import TextFile
from workbench_research.context.words import Words

CHUNK_LINES: Final = 40
"""Lines of a chunk: a function or two."""
K1: Final = 1.2
B: Final = 0.75
MAX_CANDIDATES: Final = 400
"""Maximum files that are scored by chunks."""
MAX_HITS: Final = 2_000
"""Maximum occurrences of a word that are counted in one file."""
PATH_WEIGHT: Final = 2.0
"""Weight of a word in the path of a file, compared with one in its text."""
FILE_WEIGHT: Final = 0.5
"""Weight of the score of a whole file, compared with that of its best chunk."""
IDENTIFIER_WEIGHT: Final = 3.0
"""Weight of an identifier of the question that is a whole name in a chunk."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by path, and the scores of the chunks of each file by the index of the chunk; zeros are missing."""

    files: Mapping[str, float]
    chunks: Mapping[str, Mapping[int, float]] = field(repr=False)


def score(
    files: Sequence[TextFile],
    words: Words,
    *,
    prior: Callable[[str], float] = lambda _path: 1.0,
    scan: Scan | None = None,
) -> Scores:
    """Return the scores of the files for the words of a question, each multiplied by the `prior` of its path.

    All files are counted by the number of occurrences; the best `MAX_CANDIDATES` are then scored by chunks.

    Raises:
        ScanStoppedError: the call was cancelled.
    """
    counted = []
    frequency = [0] * len(words.terms)
    path_frequency = [0] * len(words.terms)
    for file in files:
        if scan:
            scan.step()
        lower = _lower(file.text)
        counts = [lower.count(term.stem) for term in words.terms]
        in_path = _terms_of_path(file.path, words)
        for number, count in enumerate(counts):
            frequency[number] += count > 0
        for number in in_path:
            path_frequency[number] += 1
        is_named = any(name in file.text for name in words.identifiers)
        counted.append((file, counts, in_path, is_named))
    average = sum(len(file.text) for file in files) / max(1, len(files))
    rarity = [idf(count, len(files)) * term.weight for term, count in zip(words.terms, frequency, strict=True)]
    path_rarity = [
        idf(count, len(files)) * term.weight for term, count in zip(words.terms, path_frequency, strict=True)
    ]
    rough = []
    for file, counts, in_path, is_named in counted:
        length = _length(file, average)
        values = [
            weight * count * (K1 + 1) / (count + K1 * length) for weight, count in zip(rarity, counts, strict=True)
        ]
        total = _best_of_groups(words, values) + PATH_WEIGHT * _best_of_groups(words, path_rarity, in_path)
        rough.append((-(total + 20 * is_named) * prior(file.path), file.path, file, in_path))
    rough.sort(key=lambda row: row[:2])
    result: dict[str, float] = {row[1]: -0.1 * row[0] for row in rough if row[0] < 0}
    by_chunk: dict[str, dict[int, float]] = {}
    for _, path, file, in_path in rough[:MAX_CANDIDATES]:
        if scan:
            scan.step()
        hits = _hits(file, words)
        chunks: defaultdict[int, dict[int, float]] = defaultdict(dict)
        values = [0.0] * len(words.terms)
        extra: defaultdict[int, float] = defaultdict(float)
        length = _length(file, average)
        for number, found in hits.items():
            if number < 0:  # an identifier
                for chunk in found:
                    extra[chunk] += IDENTIFIER_WEIGHT * math.log(1 + len(files))
                continue
            group, weight = words.terms[number].group, rarity[number]
            for chunk, count in found.items():
                value = weight * count * (K1 + 1) / (count + K1)
                chunks[chunk][group] = max(chunks[chunk].get(group, 0.0), value)
            count = sum(found.values())
            values[number] = weight * count * (K1 + 1) / (count + K1 * length)
        scores = {chunk: sum(by_group.values()) for chunk, by_group in chunks.items()}
        for chunk, value in extra.items():
            scores[chunk] = scores.get(chunk, 0.0) + value
        in_name = PATH_WEIGHT * _best_of_groups(words, path_rarity, in_path)
        total = max(scores.values(), default=0.0) + FILE_WEIGHT * _best_of_groups(words, values) + in_name
        if total > 0:
            result[path] = total * prior(path)
            by_chunk[path] = scores
    return Scores(result, by_chunk)


def _length(file: TextFile, average: float) -> float:
    """Return the length of a file that BM25 uses: files of ten times the usual length are not ten times worse."""
    return 1 - B + B * len(file.text) / max(1.0, average)


def _best_of_groups(words: Words, values: Sequence[float], indexes: Sequence[int] | None = None) -> float:
    """Return the sum of the best value of each word of the question: of the word itself, or of a synonym."""
    best: dict[int, float] = {}
    for number in range(len(values)) if indexes is None else indexes:
        group = words.terms[number].group
        best[group] = max(best.get(group, 0.0), values[number])
    return sum(best.values())


def idf(frequency: int, count: int) -> float:
    """Return the weight of a term that `frequency` of `count` texts contain."""
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def _lower(text: str) -> str:
    """Return the text in lower case, with the same offsets."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(character.lower()[0] for character in text)


def _hits(file: TextFile, words: Words) -> dict[int, dict[int, int]]:
    """Return for each term the chunks with it, and how often; identifiers have the negative indexes -1, -2, ..."""
    text = file.text
    lower = _lower(text)
    found: dict[int, list[int]] = {}
    for number, term in enumerate(words.terms):
        if offsets := occurrences(text, lower, term.stem):
            found[number] = offsets
    for number, name in enumerate(words.identifiers, 1):
        if (offset := text.find(name)) >= 0:
            found[-number] = [offset]
    if not found:
        return {}
    return {number: _by_chunk(text, offsets) for number, offsets in found.items()}


def occurrences(text: str, lower: str, stem: str) -> list[int]:
    """Return the offsets at which a stem begins a word of `text` or a part of a name; `lower` is `text.lower()`."""
    offsets: list[int] = []
    offset = lower.find(stem)
    while offset >= 0 and len(offsets) < MAX_HITS:
        before = text[offset - 1] if offset else " "
        if not before.isalpha() or (text[offset].isupper() and before.islower()):
            end = offset + len(stem)
            if len(stem) > 3 or not text[end : end + 1].islower() or lower[end : end + 1] == "s":
                offsets.append(offset)
        offset = lower.find(stem, offset + len(stem))
    return offsets


def _by_chunk(text: str, offsets: Sequence[int]) -> dict[int, int]:
    chunks: dict[int, int] = {}
    line = last = 0
    for offset in offsets:
        line += text.count("\n", last, offset)
        last = offset
        chunk = line // CHUNK_LINES
        chunks[chunk] = chunks.get(chunk, 0) + 1
    return chunks


def _terms_of_path(path: str, words: Words) -> list[int]:
    lower = _lower(path)
    return [number for number, term in enumerate(words.terms) if occurrences(path, lower, term.stem)]
