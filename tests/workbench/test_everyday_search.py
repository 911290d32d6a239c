"""Search as people and agents type it: the phrases of `manifest/eval/everyday.toml` find the right tool of Workbench.

Two thirds of the phrases share no stem with the name or the summary of their tool.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.discovery import style_for
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.ranking import MAX_MEANING_HITS
from toolmason_runtime.shared.search.text import terms
from toolmason_runtime.shared.selection import Selection

from toolmason.catalogue.search_index import build_index
from workbench_server.catalogue import CATALOGUE
from workbench_server.server import load_postings

ROOT = Path(__file__).parents[2]
LARGE_CATEGORY = 6
"""Number of tools from which a category is large: files, editing, research and git, two thirds of all tools."""
MIN_PHRASES = 60
MIN_SHARE_OF_OTHER_WORDS = 1 / 3

TOOLS = CATALOGUE["tools"]
SIZES = Counter(entry["category"] for entry in TOOLS.values())
LARGE = sorted(category for category, count in SIZES.items() if count >= LARGE_CATEGORY)
QUERIES = tomllib.loads((ROOT / "manifest" / "eval" / "everyday.toml").read_text("utf-8"))["queries"]
OFF_TOPIC = tomllib.loads((ROOT / "manifest" / "eval" / "off_topic.toml").read_text("utf-8"))
PHRASES = {text: [name for name in QUERIES if text in QUERIES[name]] for texts in QUERIES.values() for text in texts}
PLACES = 5
MAX_MISSED = {True: 0.05, False: 0.36}
"""Maximum share of missed phrases, of those that share a stem with their tool and of the others."""
MAX_MISSED_USE_CASES = 0.03
MAX_FOUND_HELD_OUT = 0.08
"""Maximum share of the queries about something else that find a tool, of those with which nothing was tuned."""

APPENDIX_D = {"query_codebase", "analyze_codebase", "find_code_by_intent"}
"""What the specification of the workflow bridge expects for `analyze codebase`, by today's names."""


def in_category(category: str) -> list[str]:
    return [text for text, names in PHRASES.items() if TOOLS[names[0]]["category"] == category]


def served(all_tools: bool) -> dict[str, list[str]]:
    """Return the phrases with a tool that is served."""
    tools = {name for name, entry in TOOLS.items() if all_tools or entry["tier"] == "core"}
    return {text: names for text, names in PHRASES.items() if tools & set(names)}


def shares_a_stem(text: str) -> bool:
    own = (terms(f"{name} {TOOLS[name]['summary']}") for name in PHRASES[text])
    return not set().union(*own).isdisjoint(terms(text))


def load_index() -> Any:
    return json.loads(files("workbench_server").joinpath("search_index.json").read_text("utf-8"))


@cache
def index(*, all_tools: bool) -> ToolIndex:
    selection = Selection("search-call", all_tools=all_tools)
    return style_for(CATALOGUE, selection, load_index, load_postings=load_postings).index


def search(query: str, *, all_tools: bool = True) -> list[str]:
    return [hit.name for hit in index(all_tools=all_tools).search(query)]


def search_without(name: str, use_case: str) -> list[str]:
    """Search for a use case of the tool `name` that is removed from the index."""
    entry = TOOLS[name]
    others = [text for text in entry["use_cases"] if text != use_case]
    catalogue: Catalogue = {**CATALOGUE, "tools": {**TOOLS, name: {**entry, "use_cases": others}}}
    return [hit.name for hit in ToolIndex(catalogue, TOOLS, lambda: build_index(catalogue)).search(use_case)]


def answer(style: str, meta_tool: str, query: str) -> list[dict[str, Any]]:
    """The tools in the first answer of a meta-tool, as a client gets it."""

    async def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    server = style_for(CATALOGUE, Selection(style), load_index, load_postings=load_postings)
    result = json.loads(asyncio.run(server.call(meta_tool, {"query": query}, run))["content"][0]["text"])
    tools: list[dict[str, Any]] = result["results" if style == "search-call" else "tools"]
    return tools


def test_every_tool_has_a_phrase() -> None:
    assert {name for names in PHRASES.values() for name in names} == set(TOOLS)


@pytest.mark.parametrize("category", LARGE)
def test_a_large_category_has_sixty_phrases(category: str) -> None:
    assert len(in_category(category)) >= MIN_PHRASES


@pytest.mark.parametrize("category", LARGE)
def test_a_third_of_the_phrases_share_no_stem_with_name_or_summary(category: str) -> None:
    phrases = in_category(category)
    others = [text for text in phrases if not shares_a_stem(text)]

    assert len(others) >= MIN_SHARE_OF_OTHER_WORDS * len(phrases)


@pytest.mark.parametrize("all_tools", [False, True], ids=["core", "all"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared-stem", "other-words"])
def test_everyday_phrases_find_their_tool_in_the_first_five(shared: bool, all_tools: bool) -> None:
    phrases = [text for text in served(all_tools) if shares_a_stem(text) is shared]
    missed = [text for text in phrases if not set(PHRASES[text]) & set(search(text, all_tools=all_tools)[:PLACES])]

    assert len(missed) <= MAX_MISSED[shared] * len(phrases), missed


@pytest.mark.parametrize("all_tools", [False, True], ids=["core", "all"])
def test_no_phrase_in_the_words_of_its_tool_is_answered_by_one_tool_alone(all_tools: bool) -> None:
    phrases = [text for text in served(all_tools) if shares_a_stem(text)]

    assert [text for text in phrases if len(search(text, all_tools=all_tools)) < 2] == []


def test_use_cases_find_their_tool_in_the_first_five_without_themselves_in_the_index() -> None:
    """By words only: the committed vectors contain the use case, and new ones need the model."""
    use_cases = [(name, use_case) for name, entry in TOOLS.items() for use_case in entry["use_cases"]]
    missed = [pair for pair in use_cases if pair[0] not in search_without(*pair)[:PLACES]]

    assert len(missed) <= MAX_MISSED_USE_CASES * len(use_cases), missed


def test_read_a_file_shows_read_files() -> None:
    assert "read_files" in search("read a file", all_tools=False)[:2]


def test_analyze_codebase_finds_the_three_tools_of_appendix_d() -> None:
    found = {tool["tool_name"] for tool in answer("search-call", "search", "analyze codebase")}
    discovered = {tool["name"] for tool in answer("discover-schema", "discover_tools", "analyze codebase")}

    assert found >= APPENDIX_D
    assert discovered >= APPENDIX_D


@pytest.mark.parametrize("query", ["transactions and connection pools", "translate"])
def test_similar_meaning_alone_gives_few_tools_without_a_schema(query: str) -> None:
    results = answer("search-call", "search", query)

    assert 0 < len(results) <= MAX_MEANING_HITS
    assert [(result["match"], "input_schema" in result) for result in results] == [("meaning", False)] * len(results)


@pytest.mark.parametrize(("part", "share"), [("development", 0.05), ("held_out", MAX_FOUND_HELD_OUT)])
def test_a_query_about_something_else_finds_no_tool(part: str, share: float) -> None:
    index = style_for(
        CATALOGUE, Selection("search-call", all_tools=True), load_index, load_postings=load_postings
    ).index
    found = {query: [hit.name for hit in index.search(query)] for query in OFF_TOPIC[part]}
    found = {query: names for query, names in found.items() if names}

    assert len(OFF_TOPIC[part]) == 100
    assert len(found) <= share * 100, found


def test_a_server_whose_tools_cover_everyday_life_finds_them_by_the_same_queries() -> None:
    """The threshold depends on the tools: it has no list of subjects."""
    assert "grounding_search" in search("search the web for the weather in Lisbon")


def test_no_tool_is_an_answer_with_the_nearest_words_and_the_categories() -> None:
    async def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    server = style_for(CATALOGUE, Selection("search-call"), load_index, load_postings=load_postings)
    result = asyncio.run(server.call("search", {"query": "order a pepperoni pizza, dokcer"}, run))
    nothing = json.loads(result["content"][0]["text"])

    assert nothing["results"] == []
    assert nothing["hint"] == "No tool matches. Use other words, or browse a category."
    assert "docker" in nothing["nearest_words"]
    assert "files" in nothing["categories"]


@pytest.mark.parametrize(
    ("query", "tool"), [("raed flie", "read_files"), ("serach fiels", "search_files"), ("brnach", "git_branch")]
)
def test_exchanged_letters_of_short_words_still_find_the_tool(query: str, tool: str) -> None:
    assert tool in [result["tool_name"] for result in answer("search-call", "search", query)]


@pytest.mark.parametrize(
    ("query", "word"), [("gti pizza", "git"), ("raed zzzqqqxx", "read"), ("zzzqqqxx dokcer", "docker")]
)
def test_exchanged_letters_give_the_nearest_word(query: str, word: str) -> None:
    assert word in ToolIndex(CATALOGUE, TOOLS, load_index).nearest_words(query)
