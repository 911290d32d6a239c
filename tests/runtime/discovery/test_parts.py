"""A request for several tools is split, each part is searched, and the answer has the part that each tool serves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.clauses import MAX_PARTS, parts_of
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.tokens import estimate_tokens

MakeIndex = Callable[[Catalogue], ToolIndex]


class Search(NamedTuple):
    """The search of a style, and the names of its results and of a tool in them."""

    style: str
    tool: str
    results: str
    name: str


SEARCHES = [
    Search("search-call", "search", "results", "tool_name"),
    Search("discover-schema", "discover_tools", "tools", "name"),
]


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("show the commits and then send a message", ["show the commits", "send a message"]),
        ("Show the commits. Send a message to Ann!", ["Show the commits.", "Send a message to Ann!"]),
        ("read the log; report a bug", ["read the log;", "report a bug"]),
        ("read the log, and report a bug", ["read the log", "report a bug"]),
        ("read the log\n\nreport bugs\n", ["read the log", "report bugs"]),
        ("commit\nbranch", ["commit", "branch"]),
        ("\u67e5\u770b\u63d0\u4ea4\u8bb0\u5f55\u3002\u53d1\u9001\u7535\u5b50\u90ae\u4ef6", None),
        ("read the file main.py version 1.2.3", ["read the file main.py version 1.2.3"]),
        ("find files by name and size", ["find files by name and size"]),
        ("Please. Show the commits of the branch", ["Please. Show the commits of the branch"]),
        ("List open tickets. Thanks!", ["List open tickets. Thanks!"]),
        ("git_log", ["git_log"]),
        ("", []),
    ],
)
def test_the_parts_of_a_request(request_: str, parts: list[str] | None) -> None:
    found = parts_of(request_)
    assert found == parts if parts is not None else len(found) > 1


@given(st.text(st.sampled_from("ab .!?;\n,and then\u3002")))
def test_the_parts_have_the_words_of_the_request_only(request_: str) -> None:
    parts = parts_of(request_)
    assert len(parts) <= MAX_PARTS
    assert all(part.strip() == part != "" for part in parts)
    assert all(word in request_ for part in parts for word in part.split())


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "query",
    [
        "show the newest commits of a branch and then open a ticket in the tracker",
        "Show the newest commits of a branch. Open a ticket in the tracker.",
        "newest commits of a branch\nopen a ticket",
        ["newest commits of a branch", "open a ticket"],
    ],
)
def test_each_part_has_its_tool_in_the_answer(
    catalogue: Catalogue, desk: Any, query: str | list[str], search: Search
) -> None:
    answer = desk(catalogue, search.style).ask(search.tool, query=query)
    served = {found[search.name]: found.get("part") for found in answer[search.results][:4]}

    assert len(answer["parts"]) == 2
    assert served["git_log"] == 1
    assert served["create_issue"] == 2


def test_names_alone_have_the_parts_but_no_numbers(catalogue: Catalogue, desk: Any) -> None:
    query = ["newest commits of a branch", "open a ticket"]
    answer = desk(catalogue, "discover-schema").ask("discover_tools", query=query, detail_level="name_only")

    assert answer["parts"] == query
    assert {"git_log", "create_issue"} <= set(answer["tools"][:4])


@pytest.mark.parametrize("search", SEARCHES)
def test_a_request_for_one_tool_has_no_parts(catalogue: Catalogue, desk: Any, search: Search) -> None:
    answer = desk(catalogue, search.style).ask(search.tool, query="newest commits of a branch")

    assert "parts" not in answer
    assert all("part" not in found for found in answer[search.results])
    assert answer[search.results][0][search.name] == "git_log"


def test_a_part_without_a_tool_changes_nothing(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)
    hits, parts, places = index.search_parts("newest commits of a branch\nzzzqqq xxkkjj")

    assert parts == ("newest commits of a branch", "zzzqqq xxkkjj")
    assert [hit.name for hit in hits] == [hit.name for hit in index.search(parts[0])][: len(hits)]
    assert set(places.values()) == {1}


def test_parts_are_searched_in_the_category_only(catalogue: Catalogue, make_index: MakeIndex) -> None:
    hits, _, _ = make_index(catalogue).search_parts("commits of a branch\nopen a ticket", category="git")

    assert {hit.entry["category"] for hit in hits} == {"git"}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("query", [[], ["a", 1], [["a"]]])
def test_a_list_of_other_values_is_no_query(catalogue: Catalogue, desk: Any, query: list[Any], search: Search) -> None:
    assert "query" in desk(catalogue, search.style).refusal(search.tool, query=query)


@pytest.mark.parametrize(
    ("style", "tool", "most"), [("search-call", "search", 450), ("discover-schema", "discover_tools", 350)]
)
def test_an_answer_for_several_parts_is_short(huge: Catalogue, desk: Any, style: str, tool: str, most: int) -> None:
    query = "\n".join(f"{entry['summary']} of the last year, as a list" for entry in list(huge["tools"].values())[:6])
    answer = desk(huge, style).ask(tool, query=query)

    assert len(answer["parts"]) == MAX_PARTS
    assert estimate_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= most
