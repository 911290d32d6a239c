"""Latency of searches as people type them, which contain words that no tool has, compared with SQLite FTS5.

Both engines run in this process on the same tools. Their vocabulary is invented, with the frequencies of real texts
(Zipf): most words of a query are in few tools, some in nearly all, and every third word is in none. Our index has
semantic postings with a line for every word.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from random import Random
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.text import STOP_WORDS

from bench.searching import Latency, latency, timed
from toolmason.catalogue.search_index import build_index  # noqa: TID251  the sizes of interest are not generated
from toolmason.semantic.postings_file import EmbeddedTool, Header, write_postings  # noqa: TID251

REQUEST_SIZES: Final = (1_000, 10_000)
SHORT_REQUEST_SIZES: Final = (100,)
QUERY_COUNT: Final = 200
VOCABULARY_SIZE: Final = 6_000
UNKNOWN_SHARE: Final = 0.33
"""Share of the words of a query that no tool has."""
MAX_QUERY_WORDS: Final = 14
COMMONNESS: Final = 50
"""Rank that is added in the frequencies of words; a larger number makes the commonest ones rarer."""
TOOLS_PER_WORD: Final = 20
"""Tools in each line of the semantic postings, as many as `toolmason embed` writes."""
_SYLLABLES: Final = [f"{first}{vowel}{last}" for first in "bdfglmprst" for vowel in "aeiou" for last in ("", "n", "r")]
_FUNCTION_WORDS: Final = ("how", "can", "i", "the", "of", "my", "for", "with")


@dataclass(frozen=True, slots=True)
class Requests:
    """The latencies at one number of tools. `ratio` is that of the medians, ours to theirs."""

    size: int
    ours: Latency
    fts5: Latency

    @property
    def ratio(self) -> float:
        """How many times as long our search takes."""
        return self.ours.typical / self.fts5.typical


def measure_requests(size: int, rounds: int) -> Requests:
    """Send the same queries to both engines in turn, with new engines in each round."""
    words = _Words(Random(size))  # noqa: S311  not a secret
    catalogue = words.catalogue(size)
    queries = words.queries()
    data, postings = build_index(catalogue), words.postings(catalogue)
    ours, fts5 = [], []
    for _ in range(rounds):
        index = ToolIndex(catalogue, catalogue["tools"], lambda: data, load_postings=lambda: postings)
        database = FullTextSearch(catalogue)
        pairs = [(timed(partial(index.search, query)), timed(partial(database.search, query))) for query in queries]
        ours.append([pair[0] for pair in pairs])
        fts5.append([pair[1] for pair in pairs])
    return Requests(size, latency(ours), latency(fts5))


class FullTextSearch:
    """SQLite FTS5 with Porter stems and weights of columns, the ten best hits."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE tools USING fts5(name, description, category, parameters, tokenize='porter')"
        )
        self._database.executemany("INSERT INTO tools VALUES (?, ?, ?, ?)", map(_row, catalogue["tools"].values()))

    def search(self, query: str) -> list[str]:
        """Return the names of the best hits."""
        words = dict.fromkeys(word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS)
        found = self._database.execute(
            "SELECT name FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 1.5, 1.0, 1.0, 0.7) LIMIT 10",
            (" OR ".join(f'"{word}"' for word in words),),
        )
        return [name for (name,) in found]


def _row(entry: ToolEntry) -> tuple[str, ...]:
    tool = entry["tool"]
    parameters = (f"{name} {part['description']}" for name, part in tool["inputSchema"]["properties"].items())
    return tool["name"].replace("_", " "), tool["description"], entry["category"], " ".join(parameters)


class _Words:
    """An invented vocabulary, the commonest word first, and the texts made of it."""

    def __init__(self, random: Random) -> None:
        self._random = random
        invented = dict.fromkeys("".join(random.choices(_SYLLABLES, k=3)) for _ in range(2 * VOCABULARY_SIZE))
        self._known, self._unknown = list(invented)[:VOCABULARY_SIZE], list(invented)[VOCABULARY_SIZE:]
        self._weights = list(accumulate(1 / (rank + COMMONNESS) for rank in range(VOCABULARY_SIZE)))

    def catalogue(self, size: int) -> Catalogue:
        """Return `size` tools in categories of 40."""
        tools = [self._tool(number) for number in range(size)]
        categories = dict.fromkeys(entry["category"] for entry in tools)
        return {
            "discovery": {
                "style": "search-call",
                "prefix": "",
                "pinned": [],
                "page_tokens": 1500,
                "split_calls": False,
            },
            "categories": {name: {"module": name, "summary": self._text(6), "tags": []} for name in categories},
            "tools": {entry["tool"]["name"]: entry for entry in tools},
        }  # type: ignore[typeddict-item]  # the index does not use the rest

    def postings(self, catalogue: Catalogue) -> bytes:
        """Return a `semantic.postings` that finds arbitrary tools for each word."""
        names = sorted(catalogue["tools"])
        header = Header("0" * 64, dict.fromkeys(names, EmbeddedTool("0" * 16, bytes(384))))
        pairs = ((word, self._random.sample(range(len(names)), TOOLS_PER_WORD)) for word in self._known + self._unknown)
        rows = sorted((word, [number for tool in tools for number in (tool, 10)]) for word, tools in pairs)
        return write_postings(header, rows).encode()

    def queries(self) -> list[str]:
        """Return queries of one to `MAX_QUERY_WORDS` words, with function words in between."""
        return [self._query(self._random.randint(1, MAX_QUERY_WORDS)) for _ in range(QUERY_COUNT)]

    def _query(self, length: int) -> str:
        words = self._known_words(length)
        unknown = self._random.choices(self._unknown, k=length)
        mixed = [
            other if self._random.random() < UNKNOWN_SHARE else word for word, other in zip(words, unknown, strict=True)
        ]
        return " ".join(part for word in mixed for part in (self._random.choice(_FUNCTION_WORDS), word))

    def _tool(self, number: int) -> ToolEntry:
        name = "_".join((*self._known_words(2), str(number)))
        summary = self._text(8)
        properties: dict[str, Any] = {
            word: {"type": "string", "description": self._text(6)} for word in self._known_words(3)
        }
        schema = {"type": "object", "properties": properties}
        return {
            "tool": {"name": name, "description": f"{summary}. {self._text(12)}", "inputSchema": schema},
            "summary": summary,
            "category": f"area{number // 40}",
            "complexity": "simple",
            "tier": "core",
            "keywords": [],
            "use_cases": [],
            "related": [],
            "examples": [],
        }

    def _text(self, length: int) -> str:
        return " ".join(self._known_words(length))

    def _known_words(self, count: int) -> Sequence[str]:
        return self._random.choices(self._known, cum_weights=self._weights, k=count)
