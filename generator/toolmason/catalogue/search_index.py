"""The search index of a catalogue, computed at generation time: BM25F as one integer for each term of each tool.

BM25F after Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004. What is
left to do at run time is a sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry
from toolmason_runtime.search.index import FORMAT, SearchData
from toolmason_runtime.search.text import terms

K1 = 1.2
"""How soon more occurrences of a term stop counting."""
SCALE = 100
"""Scores are stored as whole numbers: hundredths."""
LEAST = 1
"""What a term that every tool has still counts: who asks for it gets them all, not none."""
DEPRECATED = 0.85
"""Share of its score that a deprecated tool keeps: it stays findable, after what replaces it."""


@dataclass(frozen=True, slots=True)
class Field:
    """How much a field counts, and how much its length is held against it (0: not at all, 1: in full)."""

    weight: float
    length: float


FIELDS: Mapping[str, Field] = {
    "name": Field(1.5, 0.4),
    "summary": Field(1.0, 0.5),
    "description": Field(1.0, 0.75),
    "keywords": Field(1.2, 0.4),
    "use_cases": Field(1.2, 0.75),
    "examples": Field(0.5, 0.75),
    "category": Field(0.6, 0.3),
    "parameters": Field(0.7, 0.5),
    "parameter_texts": Field(0.7, 0.75),
    "values": Field(0.5, 0.75),
}


def build_index(catalogue: Catalogue) -> SearchData:
    """Index every tool of `catalogue`, hidden ones too: what is visible is decided when the server starts.

    The result is JSON-able, holds no floats and depends on nothing but `catalogue`.
    """
    tools = catalogue["tools"]
    counted = [field_terms(entry, catalogue) for entry in tools.values()]
    rarity = _rarity(counted)
    average = {field: _mean(sum(tool[field].values()) for tool in counted) for field in FIELDS}
    postings: dict[str, tuple[list[int], list[int]]] = {term: ([], []) for term in sorted(rarity)}
    for number, (tool, entry) in enumerate(zip(counted, tools.values(), strict=True)):
        share = DEPRECATED if "deprecated" in entry else 1.0
        for term, weight in _weights(tool, average).items():
            score = round(SCALE * share * rarity[term] * weight / (K1 + weight))
            postings[term][0].append(number)
            postings[term][1].append(max(LEAST, score))
    return {
        "format": FORMAT,
        "tools": list(tools),
        "terms": {term: list(columns) for term, columns in postings.items()},
        "names": _name_shares(counted, rarity),
    }


def field_terms(entry: ToolEntry, catalogue: Catalogue) -> dict[str, Counter[str]]:
    """Give the search terms of each field of a tool, with how often they occur."""
    tool = entry["tool"]
    summary, description = entry["summary"], str(tool.get("description", ""))
    schema = tool["inputSchema"]
    category = catalogue["categories"].get(entry["category"])
    program = catalogue.get("clis", {}).get(entry.get("cli", ""))
    tags = [tag for group in (category, program) if group for tag in group["tags"]]
    texts = {
        "name": " ".join((str(tool["name"]), str(tool.get("title", "")), *entry.get("aliases", ()))),
        "summary": "" if summary in description else summary,
        "description": description,
        "keywords": " ".join(entry["keywords"]),
        "use_cases": " ".join(entry["use_cases"]),
        "examples": " ".join(example["description"] for example in entry["examples"]),
        "category": " ".join((entry["category"], *tags, entry.get("cli", ""))),
        "parameters": " ".join(name for name, _ in _parameters(schema)),
        "parameter_texts": " ".join(str(part.get("description", "")) for _, part in _parameters(schema)),
        "values": " ".join(str(value) for _, part in _parameters(schema) for value in part.get("enum", ())),
    }
    return {
        field: Counter(dict.fromkeys(terms(text), 1) if field == "name" else terms(text))
        for field, text in texts.items()
    }


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the properties of `schema`, those of nested objects and lists after the one that holds them."""
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict):
            yield name, part
            yield from _parameters(part)
            if isinstance(items := part.get("items"), dict):
                yield "", items
                yield from _parameters(items)


def _rarity(counted: list[dict[str, Counter[str]]]) -> dict[str, float]:
    found = Counter(term for tool in counted for term in set().union(*tool.values()))
    return {term: log(1 + (len(counted) - count + 0.5) / (count + 0.5)) for term, count in found.items()}


def _mean(lengths: Iterator[int]) -> float:
    filled = [length for length in lengths if length]
    return sum(filled) / len(filled) if filled else 1.0


def _weights(tool: Mapping[str, Counter[str]], average: Mapping[str, float]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for name, field in FIELDS.items():
        length = sum(tool[name].values())
        norm = 1 - field.length + field.length * length / average[name]
        for term, count in tool[name].items():
            weights[term] = weights.get(term, 0.0) + field.weight * count / norm
    return weights


def _name_shares(counted: list[dict[str, Counter[str]]], rarity: Mapping[str, float]) -> dict[str, list[list[int]]]:
    """Give, for each term, the tools with it in their name, and how much of the name's rarity it is, in percent."""
    shares: dict[str, list[list[int]]] = {}
    for number, tool in enumerate(counted):
        whole = sum(rarity[term] for term in tool["name"]) or 1.0
        for term in tool["name"]:
            columns = shares.setdefault(term, [[], []])
            columns[0].append(number)
            columns[1].append(round(100 * rarity[term] / whole))
    return dict(sorted(shares.items()))
