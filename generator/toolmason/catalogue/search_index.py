"""The search index of a catalogue, computed at generation time: BM25F as one integer for each term of each tool.

BM25F after Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004. A
query only needs a sum at run time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, tool_group
from toolmason_runtime.shared.placeholders import placeholders_of
from toolmason_runtime.shared.search.text import terms
from toolmason_runtime.shared.search.words import FORMAT, SearchData

from toolmason.catalogue.blocks import Blocks, one_block
from toolmason.catalogue.same_tools import same_tools

K1 = 1.2
"""Saturation of the term frequency in BM25F."""
SCORE_SCALE = 100
"""Scores are stored as integers, in hundredths."""
MIN_SCORE = 1
"""Minimum score of a term, so that a query with a term of every tool finds all of them."""
DEPRECATED_BOOST = 0.85
"""Factor for the scores of a deprecated tool, which ranks it below its replacement."""


@dataclass(frozen=True, slots=True)
class Field:
    """Weight of a field in BM25F, and the normalization of its length from 0 (none) to 1 (full)."""

    weight: float
    length_normalization: float


FIELDS: Mapping[str, Field] = {
    "name": Field(1.5, 0.4),
    "summary": Field(1.0, 0.5),
    "description": Field(1.0, 0.75),
    "keywords": Field(1.2, 0.4),
    "use_cases": Field(1.2, 0.75),
    "examples": Field(0.5, 0.75),
    "category": Field(0.6, 0.3),
    "category_texts": Field(1.0, 0.75),
    "parameters": Field(0.7, 0.5),
    "parameter_texts": Field(0.7, 0.75),
    "values": Field(0.5, 0.75),
}


_Terms = tuple[Mapping[str, int], int]
"""The terms of a text with their counts, and the sum of the counts."""
_ToolTerms = tuple[_Terms, ...]
"""The terms of a tool in the order of `FIELDS`."""


def build_index(catalogue: Catalogue, blocks: Blocks = one_block) -> SearchData:
    """Return the index of all tools of `catalogue`, also of hidden ones: the server selects the visible ones.

    `blocks` may return terms of earlier runs. The result is JSON without floats and depends only on `catalogue`.
    """
    tools = _terms_of_tools(catalogue, blocks)
    idf = _inverse_document_frequencies(tools)
    averages = [_mean([length for _, length in column]) for column in zip(*tools, strict=True)]
    postings: dict[str, tuple[list[int], list[int]]] = {term: ([], []) for term in sorted(idf)}
    for number, (tool, entry) in enumerate(zip(tools, catalogue["tools"].values(), strict=True)):
        factor = SCORE_SCALE * (DEPRECATED_BOOST if "deprecated" in entry else 1.0)
        for term, weight in _weights(tool, averages).items():
            score = round(factor * idf[term] * weight / (K1 + weight))
            numbers, scores = postings[term]
            numbers.append(number)
            scores.append(max(MIN_SCORE, score))
    data: SearchData = {
        "format": FORMAT,
        "tools": list(catalogue["tools"]),
        "terms": {term: _highest_first(*columns) for term, columns in postings.items()},
        "names": _name_shares(tools, idf),
    }
    if same := same_tools(catalogue):
        data["same"] = same
    return data


def _terms_of_tools(catalogue: Catalogue, blocks: Blocks) -> list[_ToolTerms]:
    entries = catalogue["tools"]
    fill = placeholders_of(catalogue).fill_entry

    def count_terms(names: Sequence[str]) -> Any:
        """Return the term counts of each different text, and for each tool the positions of its texts among them."""
        positions: dict[tuple[bool, str], int] = {}
        counts: list[Mapping[str, int]] = []
        rows = []
        for name in names:
            row = []
            for field, text in _texts(fill(entries[name]), catalogue).items():
                position = positions.setdefault((field == "name", text), len(counts))
                if position == len(counts):
                    counts.append(_count_terms(field, text))
                row.append(position)
            rows.append(row)
        return counts, rows

    tools = {}
    for names, (counts, rows) in blocks("terms", tuple(entries), count_terms):
        texts = [(text, sum(text.values())) for text in counts]
        for name, row in zip(names, rows, strict=True):
            tools[name] = tuple([texts[position] for position in row])
    return [tools[name] for name in entries]


def _highest_first(tools: list[int], scores: list[int]) -> list[list[int]]:
    """Return the columns sorted by score; equal ones stay in the order of the tools."""
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    return [[tools[place] for place in order], [scores[place] for place in order]]


def field_terms(entry: ToolEntry, catalogue: Catalogue) -> dict[str, Counter[str]]:
    """Return the search terms of each field of a tool with their counts."""
    return {field: _count_terms(field, text) for field, text in _texts(entry, catalogue).items()}


def _texts(entry: ToolEntry, catalogue: Catalogue) -> dict[str, str]:
    """Return the text of each field of a tool, in the order of `FIELDS`."""
    tool = entry["tool"]
    summary, description = entry["summary"], str(tool.get("description", ""))
    parameters = list(_parameters(tool["inputSchema"]))
    category = catalogue["categories"].get(entry["category"])
    program = tool_group(catalogue, entry)
    groups = [group for group in (category, program) if group]
    tags = [tag for owner in (*groups, entry) for tag in owner.get("tags", ())]
    group_texts = [text for group in groups for text in (group["summary"], str(group.get("description", "")))]
    return {
        "name": " ".join((str(tool["name"]), str(tool.get("title", "")), *entry.get("aliases", ()))),
        "summary": "" if summary in description else summary,
        "description": description,
        "keywords": " ".join(entry["keywords"]),
        "use_cases": " ".join(entry["use_cases"]),
        "examples": " ".join(example["description"] for example in entry["examples"]),
        "category": " ".join(
            (entry["category"], *tags, *(str(entry.get(key, "")) for key in ("cli", "api", "upstream")))
        ),
        "category_texts": " ".join(dict.fromkeys(group_texts)),
        "parameters": " ".join([name for name, _ in parameters]),
        "parameter_texts": " ".join([str(part.get("description", "")) for _, part in parameters]),
        "values": " ".join([str(value) for _, part in parameters for value in part.get("enum", ())]),
    }


def _count_terms(field: str, text: str) -> Counter[str]:
    return Counter(dict.fromkeys(terms(text), 1)) if field == "name" else _term_counts(text)


@lru_cache(maxsize=1024)
def _term_counts(text: str) -> Counter[str]:
    # Cached because tools share the texts of their category and the names of parameters.
    return Counter(terms(text))


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the properties of `schema`, nested ones after their parent."""
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict):
            yield name, part
            yield from _parameters(part)
            if isinstance(items := part.get("items"), dict):
                yield "", items
                yield from _parameters(items)


def _inverse_document_frequencies(tools: Sequence[_ToolTerms]) -> dict[str, float]:
    tools_with = Counter(term for tool in tools for term in set().union(*[counts for counts, _ in tool]))
    return {term: log(1 + (len(tools) - count + 0.5) / (count + 0.5)) for term, count in tools_with.items()}


def _mean(lengths: Sequence[int]) -> float:
    filled = [length for length in lengths if length]
    return sum(filled) / len(filled) if filled else 1.0


def _weights(tool: _ToolTerms, averages: Sequence[float]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for (counts, length), field, average in zip(tool, FIELDS.values(), averages, strict=True):
        if not length:
            continue
        norm = 1 - field.length_normalization + field.length_normalization * length / average
        weight = field.weight
        for term, count in counts.items():
            weights[term] = weights.get(term, 0.0) + weight * count / norm
    return weights


def _name_shares(tools: Sequence[_ToolTerms], idf: Mapping[str, float]) -> dict[str, list[list[int]]]:
    """Return for each term the tools with it in their names, and its percentage of the IDF sum of each name."""
    shares: dict[str, list[list[int]]] = {}
    for number, ((names, _), *_) in enumerate(tools):
        total = sum(idf[term] for term in names) or 1.0
        for term in names:
            columns = shares.setdefault(term, [[], []])
            columns[0].append(number)
            columns[1].append(round(100 * idf[term] / total))
    return dict(sorted(shares.items()))
