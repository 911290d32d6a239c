"""A search stays short: values of a tool are computed once, and of a long query only the beginning is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.discovery import signature as signatures
from toolmason_runtime.discovery.per_tool import MAX_KEPT, PerTool
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.ranking import MAX_QUERY_LENGTH
from toolmason_runtime.shared.search.spelling import SimilarTerms
from toolmason_runtime.shared.search.words import MAX_UNKNOWN_WORDS

MakeIndex = Callable[[Catalogue], ToolIndex]
UNKNOWN = [f"{first}{second}qzx" for first in "bcdfghjklm" for second in "npqrstvwxz"]


def test_a_signature_is_made_once(catalogue: Catalogue, desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = signatures.signature

    def counting(entry: ToolEntry) -> Any:
        made.append(entry["tool"]["name"])
        return make(entry)

    monkeypatch.setattr(signatures, "signature", counting)
    server = desk(catalogue, "search-call")
    answers = [server.ask("search", query=query) for query in ("commit", "branch", "commit")]

    assert answers[0] == answers[2]
    assert len(made) == len(set(made)) > 1


def test_a_replaced_tool_has_a_new_value_and_the_oldest_values_are_forgotten(catalogue: Catalogue) -> None:
    summary: PerTool[str] = PerTool(lambda entry: entry["summary"])
    entry = catalogue["tools"]["git_log"]
    assert summary(entry) == entry["summary"]
    assert summary({**entry, "summary": "another"}) == "another"

    made: list[str] = []

    def make(entry: ToolEntry) -> None:
        made.append(entry["tool"]["name"])

    name = PerTool(make)
    tools: list[ToolEntry] = [
        {**entry, "tool": {**entry["tool"], "name": f"tool{number}"}} for number in range(MAX_KEPT + 1)
    ]
    for tool in (*tools, tools[-1], tools[1], tools[0]):
        name(tool)
    assert len(made) == len(tools) + 1


@pytest.mark.parametrize(
    "text",
    [" ".join(UNKNOWN) + " ", "show the commits ", "\u6587\u4ef6", "aB", "e-mail ", "\u00e9\u0301", "?! ", "1a", "x"],
    ids=ascii,
)
def test_of_a_long_query_only_the_beginning_is_searched(catalogue: Catalogue, make_index: MakeIndex, text: str) -> None:
    index = make_index(catalogue)
    query = text * (100_000 // len(text))
    beginning = query[:MAX_QUERY_LENGTH]

    assert list(index.search(query)) == list(index.search(beginning))
    assert index.nearest_words(query) == index.nearest_words(beginning)
    assert index.others(query, category="git") == index.others(beginning, category="git")


@pytest.mark.parametrize("query", [" ".join(UNKNOWN), "commit " + " ".join(UNKNOWN), "comit " * 2 + " ".join(UNKNOWN)])
def test_few_unknown_words_are_compared_with_all_terms(
    catalogue: Catalogue, make_index: MakeIndex, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    find = SimilarTerms.find

    def counting(terms: SimilarTerms, word: str) -> dict[str, float]:
        compared.append(word)
        return find(terms, word)

    monkeypatch.setattr(SimilarTerms, "find", counting)
    index = make_index(catalogue)

    index.search(query)
    assert len(compared) <= MAX_UNKNOWN_WORDS
    compared.clear()
    index.nearest_words(query)
    assert len(compared) <= 2 * MAX_UNKNOWN_WORDS
