"""Choose files for each question in windows of several sizes, and count the right ones."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final

from toolmason_runtime import estimate_tokens

from bench.research.questions import QUESTIONS, Question
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.scan import Scan
from workbench_research.context import bm25, repo_map
from workbench_research.context.choose import choose
from workbench_research.context.number import TextFile, number_lines, numbered_lines, read_files
from workbench_research.context.pack import pack
from workbench_research.context.rank import Ranking, rank_files
from workbench_research.context.tags import TagCache, Tags, is_supported
from workbench_research.context.words import question_words

WINDOWS: Final = (8_000, 32_000, 128_000)
"""Tokens of the files of a question: of local models up to common ones."""
SHORT_WINDOWS: Final = (32_000,)
METHODS: Final = ("packing", "map", "bm25", "names")
"""Ours, and the others: whole files by a map as aider's, by plain BM25, and in the order of their names."""
_EXCLUDED: Final = {"toolmason": ("bench/**",)}
"""What is left out of a tree: the questions themselves."""

Sent = Mapping[str, frozenset[int]]
"""The numbers of the lines that a method sends, by path."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The share of questions whose right file, and whose right line, was sent."""

    method: str
    window: int
    is_tuning: bool
    files: float
    lines: float


@dataclass(frozen=True, slots=True)
class ResearchFindings:
    """All recalls, the sizes of the trees (files, characters), and most processor seconds of a ranking."""

    recalls: tuple[Recall, ...]
    trees: Mapping[str, tuple[int, int]]
    seconds: Mapping[str, float]
    missed: tuple[tuple[int, str], ...]


def measure_research(*, is_short: bool, questions: Sequence[Question] = QUESTIONS) -> ResearchFindings:
    """Measure all methods on all trees."""
    windows = SHORT_WINDOWS if is_short else WINDOWS
    hits: dict[tuple[str, int, bool], list[tuple[bool, bool]]] = {}
    trees: dict[str, tuple[int, int]] = {}
    seconds: dict[str, float] = {}
    missed: list[tuple[int, str]] = []
    for name in dict.fromkeys(question.tree for question in questions):
        tree = _Tree(load_tree(name))
        trees[name] = len(tree.files), sum(len(file.text) for file in tree.files)
        for question in (question for question in questions if question.tree == name):
            wanted = tree.line_of(question)
            for window in windows:
                for method in METHODS:
                    sent = tree.send(method, question.text, window)
                    lines = sent.get(question.path, frozenset())
                    hits.setdefault((method, window, question.is_tuning), []).append((bool(lines), wanted in lines))
                    if method == METHODS[0] and wanted not in lines:
                        missed.append((window, question.text))
        seconds[name] = tree.seconds
    recalls = tuple(
        Recall(method, window, is_tuning, *(sum(column) / len(found) for column in zip(*found, strict=True)))
        for (method, window, is_tuning), found in hits.items()
    )
    return ResearchFindings(recalls, trees, seconds, tuple(missed))


def load_tree(name: str) -> list[TextFile]:
    """Return the files of a tree: of this repository, or of an installed package."""
    if name == "toolmason":
        directory = Path(__file__).parents[2]
    else:
        directory = Path(str(importlib.import_module(name).__file__)).parent
    chosen = choose(Root.of(str(directory), "the benchmark"), Scan(600), exclude=_EXCLUDED.get(name, ()))
    return read_files(chosen.files, Scan(600))[0]


class _Tree:
    """The files of a tree, with what is the same for all questions."""

    def __init__(self, files: list[TextFile]) -> None:
        self.files = files
        self._by_path = {file.path: file for file in files}
        self._cache = TagCache(20_000)
        self._tags: dict[str, Tags] = {}
        self._costs: dict[str, list[int]] = {}
        self._rankings: dict[str, Ranking] = {}
        self.seconds = 0.0
        self._vocabulary: dict[str, Counter[str]] = {}
        self._ranked: dict[tuple[str, str], Sequence[str]] = {}

    def line_of(self, question: Question) -> int:
        """Return the number of the line with the answer.

        Raises:
            LookupError: there is no such line, or several.
        """
        lines = self._by_path[question.path].lines
        found = [number for number, line in enumerate(lines, 1) if line.strip().startswith(question.line)]
        if len(found) != 1:
            raise LookupError(f"{question.path}: {question.line!r} is at the lines {found}")
        return found[0]

    def send(self, method: str, question: str, window: int) -> Sent:
        """Return what a method sends."""
        if method == "packing":
            if question not in self._rankings:
                start = process_time()
                self._rankings[question] = rank_files(self.files, question, cache=self._cache)
                self.seconds = max(self.seconds, process_time() - start)
            packed = pack(self.files, question, window, ranking=self._rankings[question])
            return {part.path: frozenset(numbered_lines(part)) for part in packed.parts}
        if (method, question) not in self._ranked:
            ranks: Mapping[str, Callable[[str], Sequence[str]]] = {
                "map": self._rank_by_map,
                "bm25": self._rank_by_words,
                "names": self._rank_by_name,
            }
            self._ranked[method, question] = ranks[method](question)
        sent: dict[str, frozenset[int]] = {}
        for path in self._ranked[method, question]:  # whole files; the first one that does not fit is cut
            costs = self._costs_of(path)
            lines = 0
            while lines < len(costs) and costs[lines] <= window:
                window -= costs[lines]
                lines += 1
            sent[path] = frozenset(range(1, lines + 1))
            if lines < len(costs):
                break
        return sent

    def _costs_of(self, path: str) -> list[int]:
        """Return the tokens of each numbered line."""
        if path not in self._costs:
            part = number_lines(path, self._by_path[path].lines)
            self._costs[path] = [estimate_tokens(line) for line in part.text.split("\n")[:-1]]
        return self._costs[path]

    def _rank_by_name(self, _question: str) -> Sequence[str]:
        return sorted(self._by_path)

    def _rank_by_words(self, question: str) -> Sequence[str]:
        """Rank by BM25 of whole files, without synonyms, priors, paths and chunks."""
        stems = [term.stem for term in question_words(question, synonyms=False).terms]
        if not self._vocabulary:
            self._vocabulary = {file.path: Counter(re.findall(r"[^\W_]+", file.text.lower())) for file in self.files}
        known = {word for counter in self._vocabulary.values() for word in counter}
        forms = [[word for word in known if word.startswith(stem)] for stem in stems]
        counts = {
            path: [sum(counter[word] for word in words if word in counter) for words in forms]
            for path, counter in self._vocabulary.items()
        }
        average = sum(len(file.text) for file in self.files) / len(self.files)
        weights = [bm25.idf(sum(row[index] > 0 for row in counts.values()), len(counts)) for index in range(len(stems))]
        scores = {
            file.path: sum(
                weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(file.text) / average))
                for weight, count in zip(weights, counts[file.path], strict=True)
            )
            for file in self.files
        }
        return sorted(scores, key=lambda path: (-scores[path], path))

    def _rank_by_map(self, question: str) -> Sequence[str]:
        """Rank as aider: words of the question that are names or parts of paths; no text is searched."""
        if not self._tags:
            self._tags = {
                file.path: self._cache.parse(file.path, file.text) for file in self.files if is_supported(file.path)
            }
        words = {word.lower() for word in re.findall(r"\w+", question)}
        personal = {path: 1.0 for path in self._tags if words & {part.lower() for part in re.split(r"[/.]", path)}}
        ranks = repo_map.rank(self._tags, personalization=personal, mentioned=words)
        return sorted(self._by_path, key=lambda path: (-ranks.files.get(path, 0.0), path))
