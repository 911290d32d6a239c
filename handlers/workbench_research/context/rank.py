"""Rank the files and lines of a project for a question: words in chunks, fused with the map of the repository."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from workbench_handlers.workspace.scan import Scan
from workbench_research.context import bm25, repo_map
from workbench_research.context.number import TextFile
from workbench_research.context.tags import TagCache, Tags, is_supported
from workbench_research.context.words import Words, question_words

MAX_PARSED_CHARS: Final = 4_000_000
"""Maximum characters of the files that are parsed for the map, about three seconds: those that fit the words best."""
MAP_WEIGHT: Final = 0.25
"""Weight of the best file of the map, as a share of the score of the best file of the words."""
DEFINITION_WEIGHT: Final = 0.5
"""Weight of a word of the question in the name of a definition, as a share of its weight in a chunk."""
MINOR_WEIGHT: Final = 0.5
"""Weight of tests, generated files, examples and the like, unless the question names them."""
DATA_WEIGHT: Final = 0.6
"""Weight of data and prose, compared with source code."""

_MINOR: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|specs?|__tests__|fixtures?|golden|generated|examples?|samples?|vendor|third_party|bench(?:marks?)?"
    r"|migrations|locale|snapshots?)/|(?:^|/)(?:test_[^/]*|[^/]*_test\.\w+|[^/]*\.(?:test|spec)\.\w+|conftest\.py|changelog[^/]*)$"
    r"|\.min\.(?:js|css)$|\.lock$|-lock\.(?:json|ya?ml)$",
    re.IGNORECASE,
)
_NAMED_MINOR: Final = re.compile(
    r"\b(?:tests?|tested|specs?|fixtures?|golden|generated|examples?|samples?|bench\w*)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Paths, the best first, with scores; scores of lines by file; and the tags of the files that were parsed."""

    paths: tuple[str, ...]
    scores: Mapping[str, float] = field(repr=False)
    chunks: Mapping[str, Mapping[int, float]] = field(repr=False)
    tags: Mapping[str, Tags] = field(repr=False)
    map: repo_map.RepoMap = field(repr=False)


def rank_files(
    files: Sequence[TextFile],
    question: str,
    *,
    scan: Scan | None = None,
    cache: TagCache | None = None,
    max_parsed: int = MAX_PARSED_CHARS,
) -> Ranking:
    """Rank all files for a question; equal ones in the order of their paths. It blocks.

    Raises:
        NotInstalledError: tree-sitter is missing.
    """
    words = question_words(question)
    scores = bm25.score(files, words, prior=partial(_prior, question=question), scan=scan)
    lexical = scores.files
    by_path = {file.path: file for file in files}
    order = sorted(by_path, key=lambda path: (-lexical.get(path, 0.0), path))
    tags: dict[str, Tags] = {}
    cache = cache or TagCache()
    remaining = max_parsed
    for path in order[: bm25.MAX_CANDIDATES]:
        if is_supported(path) and len(by_path[path].text) <= remaining:
            if scan:
                scan.step()
            remaining -= len(by_path[path].text)
            tags[path] = cache.parse(path, by_path[path].text)
    mentioned = {term.stem for term in words.terms if term.weight == 1.0} | {name.lower() for name in words.identifiers}
    best = max(lexical.values(), default=0.0)
    personalization = {path: (lexical.get(path, 0.0) / best) ** 3 for path in tags} if best else {}
    ranks = repo_map.rank(tags, personalization=personalization, mentioned=mentioned)
    highest = max(ranks.files.values(), default=0.0)
    total = {}
    chunks = {}
    for path in by_path:
        score = lexical.get(path, 0.0)
        if path in tags:
            named, bonus = _definition_scores(tags[path], words)
            score += DEFINITION_WEIGHT * bonus * _prior(path, question)
            score += MAP_WEIGHT * best * ranks.files[path] / highest if highest else 0.0
            chunks[path] = _with_definitions(scores.chunks.get(path, {}), named)
        else:
            chunks[path] = dict(scores.chunks.get(path, {}))
        total[path] = score
    paths = sorted(by_path, key=lambda path: (-total[path], path))
    return Ranking(tuple(paths), total, chunks, tags, ranks)


def _prior(path: str, question: str) -> float:
    weight = 1.0
    if _MINOR.search(path) and not _NAMED_MINOR.search(question):
        weight *= MINOR_WEIGHT
    return weight if is_supported(path) else weight * DATA_WEIGHT


def _definition_scores(tags: Tags, words: Words) -> tuple[dict[int, float], float]:
    """Return scores of the first lines of definitions by the words of their names, and the best one."""
    scores: dict[int, float] = {}
    for definition in tags.definitions:
        lower = definition.name.lower()
        if len(lower) != len(definition.name):
            continue
        groups: dict[int, float] = {}
        for term in words.terms:
            if bm25.occurrences(definition.name, lower, term.stem):
                groups[term.group] = max(groups.get(term.group, 0.0), term.weight)
        value = 4.0 * sum(groups.values())
        if definition.name in words.identifiers:
            value += 20
        if value:
            scores[definition.first] = max(scores.get(definition.first, 0.0), value)
    return scores, max(scores.values(), default=0.0)


def _with_definitions(chunks: Mapping[int, float], named: Mapping[int, float]) -> dict[int, float]:
    result = dict(chunks)
    for line, value in named.items():
        chunk = (line - 1) // bm25.CHUNK_LINES
        result[chunk] = result.get(chunk, 0.0) + DEFINITION_WEIGHT * value
    return result
