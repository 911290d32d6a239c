"""The best tools of a large index are exactly those of the ranking of all tools."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search import best, hits
from toolmason_runtime.shared.search.best import COUNT, MAX_TERMS, BestFirst
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.words import WordRanker

from toolmason.catalogue.search_index import build_index
from toolmason.catalogue.tool_index import index_of
from toolmason.evaluation.other_server import catalogue_of

WORDS = [f"{first}{second}" for first in ("red", "blue", "fast", "note", "mail", "wind") for second in "bcdfghjkmn"]


@pytest.fixture(autouse=True)
def _from_the_first_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.shared.search.words.MIN_TOOLS", 1)
    monkeypatch.setattr(best, "MIN_COMMON", 5)


def catalogue(seed: int, size: int) -> Catalogue:
    """Return tools whose words are as frequent as those of a language; some are equal, some deprecated."""
    random = Random(seed)
    weights = [1 / place for place in range(1, len(WORDS) + 1)]
    pairs = {"_".join(random.choices(WORDS, weights, k=random.randint(1, 3))) for _ in range(size)}
    tools = [
        {"name": name, "description": " ".join(random.choices(WORDS, weights, k=random.randint(1, 12)))}
        for name in sorted(pairs)
    ]
    tools += [{"name": f"same_{number}", "description": "windb"} for number in range(2 * COUNT)]
    found = catalogue_of(tools)
    for name in list(found["tools"])[::7]:
        found["tools"][name]["deprecated"] = {"since": "1", "replaced_by": "", "message": ""}
    return found


CATALOGUES = [catalogue(seed, size) for seed, size in ((1, 30), (2, 300), (3, 900))]
INDEXES = [build_index(each) for each in CATALOGUES]


def names(index: ToolIndex, query: str) -> list[tuple[str, str]]:
    return [(hit.name, hit.reason) for hit in index.search(query)]


QUERY = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from(["windx", "rebd", "same", "17", "the"])), min_size=1, max_size=9
).map(" ".join)


@given(place=st.sampled_from([0, 1, 2]), query=QUERY, hidden=st.sampled_from([0, 3]))
def test_results_are_those_of_all_tools(place: int, query: str, hidden: int) -> None:
    table, data = CATALOGUES[place], INDEXES[place]
    visible = [name for number, name in enumerate(table["tools"]) if not hidden or number % hidden]
    pruned, whole = (ToolIndex(table, visible, lambda: data) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolmason_runtime.shared.search.words.MIN_TOOLS", 10**9)
        expected = names(whole, query)
    hits = pruned.search(query)

    first = [(hit.name, hit.reason) for hit in hits[:10]]
    assert first == expected[:10]
    assert len(hits) == len(expected)
    assert [(hit.name, hit.reason) for hit in hits[5:40]] == expected[5:40]
    assert names(pruned, query) == expected


@given(place=st.sampled_from([0, 1, 2]), query=QUERY, rank=st.integers(0, 40))
def test_tools_with_at_least_a_score_are_those_of_all_scores(place: int, query: str, rank: int) -> None:
    ranker = WordRanker(INDEXES[place])
    scores = ranker.scores(query)
    found = sorted(filter(None, scores), reverse=True)
    if found:
        lowest = found[min(rank, len(found) - 1)]
        assert ranker.at_least(query, lowest) == {tool: score for tool, score in enumerate(scores) if score >= lowest}


def test_most_queries_compare_few_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    candidates = best.BestTools.candidates

    def counting(*arguments: object, **options: object) -> object:
        found = candidates(*arguments, **options)  # type: ignore[arg-type]
        compared.append(len(INDEXES[2]["tools"]) if found is None else len(found))
        return found

    monkeypatch.setattr(best.BestTools, "candidates", counting)
    found = index_of(CATALOGUES[2])
    random = Random(5)
    for _ in range(50):
        found.search(" ".join(random.sample(WORDS, 3)))

    assert sorted(compared)[25] < len(INDEXES[2]["tools"]) / 4


def test_a_long_query_compares_all_tools() -> None:
    query = " ".join(WORDS[: MAX_TERMS + 1])
    found = ToolIndex(CATALOGUES[2], CATALOGUES[2]["tools"], lambda: INDEXES[2])

    assert isinstance(found.search(query), hits.Hits)
    assert found.search(query)[0].reason == "words"


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.integers(0, 12), unique=True), st.integers(0, 10))
def test_a_known_beginning_and_the_rest_are_one_sequence(ranked: list[int], first: list[int], known: int) -> None:
    ranked_names, first_names = [*map(str, ranked)], [*map(str, first)]
    expected = [*first_names, *(name for name in ranked_names if name not in first_names)]
    matching = [name for name in first_names if name in ranked_names]

    def check(found: Sequence[str]) -> None:
        assert (list(found), len(found), bool(found)) == (expected, len(expected), bool(expected))
        assert found[: known + 2] == expected[: known + 2]
        assert found[-1:] == expected[-1:]
        assert found[1:4:2] == expected[1:4:2]
        assert [found[place] for place in range(len(expected))] == expected

    head = ranked_names[: max(1, known)]
    check(BestFirst(ranked_names).after(first_names, matching))
    check(BestFirst(head, lambda: len(ranked_names), lambda: ranked_names).after(first_names, matching))
