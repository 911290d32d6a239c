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


def build_index(catalogue: Catalogue) -> SearchData:
    """Return the index of all tools of `catalogue`, also of hidden ones: the server selects the visible ones.

    The result is JSON without floats and depends only on `catalogue`.
    """
    fill = placeholders_of(catalogue).fill_entry
    tools = {name: fill(entry) for name, entry in catalogue["tools"].items()}
    term_counts = [field_terms(entry, catalogue) for entry in tools.values()]
    idf = _inverse_document_frequencies(term_counts)
    lengths = [{field: counts.total() for field, counts in tool.items()} for tool in term_counts]
    average = {field: _mean([length[field] for length in lengths]) for field in FIELDS}
    postings: dict[str, tuple[list[int], list[int]]] = {term: ([], []) for term in sorted(idf)}
    for number, (tool, length, entry) in enumerate(zip(term_counts, lengths, tools.values(), strict=True)):
        boost = DEPRECATED_BOOST if "deprecated" in entry else 1.0
        for term, weight in _weights(tool, length, average).items():
            score = round(SCORE_SCALE * boost * idf[term] * weight / (K1 + weight))
            postings[term][0].append(number)
            postings[term][1].append(max(MIN_SCORE, score))
    data: SearchData = {
        "format": FORMAT,
        "tools": list(tools),
        "terms": {term: _highest_first(*columns) for term, columns in postings.items()},
        "names": _name_shares(term_counts, idf),
    }
    if same := same_tools(catalogue):
        data["same"] = same
    return data


def _highest_first(tools: list[int], scores: list[int]) -> list[list[int]]:
    """Return the columns sorted by score; equal ones stay in the order of the tools."""
    pairs = sorted(zip(tools, scores, strict=True), key=lambda pair: -pair[1])
    return [[tool for tool, _ in pairs], [score for _, score in pairs]]


def field_terms(entry: ToolEntry, catalogue: Catalogue) -> dict[str, Counter[str]]:
    """Return the search terms of each field of a tool with their counts."""
    tool = entry["tool"]
    summary, description = entry["summary"], str(tool.get("description", ""))
    parameters = list(_parameters(tool["inputSchema"]))
    category = catalogue["categories"].get(entry["category"])
    program = tool_group(catalogue, entry)
    groups = [group for group in (category, program) if group]
    tags = [tag for owner in (*groups, entry) for tag in owner.get("tags", ())]
    group_texts = [text for group in groups for text in (group["summary"], str(group.get("description", "")))]
    texts = {
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
    return {
        field: Counter(dict.fromkeys(terms(text), 1)) if field == "name" else _term_counts(text)
        for field, text in texts.items()
    }


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


def _inverse_document_frequencies(term_counts: list[dict[str, Counter[str]]]) -> dict[str, float]:
    tools_with = Counter(term for tool in term_counts for term in set().union(*tool.values()))
    return {term: log(1 + (len(term_counts) - count + 0.5) / (count + 0.5)) for term, count in tools_with.items()}


def _mean(lengths: Sequence[int]) -> float:
    filled = [length for length in lengths if length]
    return sum(filled) / len(filled) if filled else 1.0


def _weights(
    tool: Mapping[str, Counter[str]], lengths: Mapping[str, int], average: Mapping[str, float]
) -> dict[str, float]:
    weights: dict[str, float] = {}
    for name, field in FIELDS.items():
        if not lengths[name]:
            continue
        norm = 1 - field.length_normalization + field.length_normalization * lengths[name] / average[name]
        for term, count in tool[name].items():
            weights[term] = weights.get(term, 0.0) + field.weight * count / norm
    return weights


def _name_shares(term_counts: list[dict[str, Counter[str]]], idf: Mapping[str, float]) -> dict[str, list[list[int]]]:
    """Return for each term the tools with it in their names, and its percentage of the IDF sum of each name."""
    shares: dict[str, list[list[int]]] = {}
    for number, tool in enumerate(term_counts):
        total = sum(idf[term] for term in tool["name"]) or 1.0
        for term in tool["name"]:
            columns = shares.setdefault(term, [[], []])
            columns[0].append(number)
            columns[1].append(round(100 * idf[term] / total))
    return dict(sorted(shares.items()))
