"""An answer of a search has a few signatures, the other tools in brief, and few tokens whatever the tools are."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_server.catalogue import CATALOGUE

from .conftest import entry, synthetic, text

MAX_TOKENS = 450


def cost(answer: dict[str, Any]) -> int:
    return estimate_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


@pytest.mark.parametrize("query", ["archive the records", "list", "delete one record by its date", "area3"])
def test_an_answer_has_at_most_450_tokens(huge: Catalogue, desk: Any, query: str) -> None:
    assert cost(desk(huge, "search-call").ask("search", query=query)) <= MAX_TOKENS
    assert cost(desk(huge, "discover-schema").ask("discover_tools", query=query)) <= 300


def wide(parameters: int) -> Catalogue:
    """Return tools of which each has `parameters` parameters."""
    catalogue = synthetic(12)
    options = {f"option_{number}": text("One of many options") for number in range(parameters)}
    for name in list(catalogue["tools"]):
        catalogue["tools"][name] = entry(name, "area0", "Archive a record", options, required=("option_0",))
    return catalogue


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parameters=st.integers(0, 60))
def test_the_wider_the_tools_the_fewer_signatures(desk: Any, parameters: int) -> None:
    server = desk(wide(parameters), "search-call")
    results = server.ask("search", query="archive a record")["results"]
    first = estimate_tokens(json.dumps(results[0]))

    signed = ["signature" in result for result in results]
    assert signed == sorted(signed, reverse=True)
    assert signed[0]
    assert len(results) >= 7 or first > 250
    assert cost(server.ask("search", query="archive a record")) <= max(MAX_TOKENS, first + 150)


def test_a_hit_in_brief_is_looked_up_by_its_name(desk: Any) -> None:
    server = desk(wide(8), "search-call")
    answer = server.ask("search", query="archive a record")
    brief = next(result for result in answer["results"] if "signature" not in result)

    assert "Search a tool_name for its arguments." in answer["hint"]
    assert brief == {"tool_name": brief["tool_name"], "description": "Archive a record"}
    [named] = server.ask("search", query=brief["tool_name"], limit=1)["results"]
    assert named["tool_name"] == brief["tool_name"]
    assert named["signature"].startswith("(option_0:str")


def test_pages_of_brief_hits_join_to_all_hits(desk: Any) -> None:
    server, seen, offset = desk(wide(14), "search-call"), [], 0
    while True:
        page = server.ask("search", query="archive", offset=offset)
        seen += [result["tool_name"] for result in page["results"]]
        if (offset := page.get("next_offset", 0)) == 0:
            break

    assert sorted(seen) == sorted(server.style.index.tools)


def test_a_tool_that_only_follows_has_no_signature(catalogue: Catalogue, desk: Any) -> None:
    for name in ("fax", "purge_mailbox"):
        del catalogue["tools"][name]
    server = desk(catalogue, "search-call")
    reasons = {hit.name: hit.reason for hit in server.style.index.search("commit")}
    results = server.ask("search", query="commit", limit=12)["results"]

    assert [
        result["tool_name"] for result in results if reasons[result["tool_name"]] == "rest" and "signature" in result
    ] == []


def test_weak_and_deprecated_hits_in_brief_are_marked(catalogue: Catalogue, desk: Any) -> None:
    results = desk(catalogue, "search-call").ask("search", category="issues")["results"]
    assert results[2]["deprecated"].startswith("since 2.0")


REQUESTS = (
    "read several files",
    "new empty __init__.py",
    "ask a model about the code",
    "write a file\nlist a directory\nmake a directory\nsearch the text of files\nshow the diff",
    ["propose a change", "commit the review", "trace a feature", "commit", "query a JSON file", "log", "blame"],
    "Read the configuration. Change the port in it. Show me what changed. Commit that with a message. " * 3,
    "; ".join(f"nothing like {word * 40}" for word in ("zxq", "wvk", "qjf")) + "; read a file",
    "commit " * 2000,
)
"""Searches for one tool and for several, as texts and lists, short and long."""


@pytest.mark.parametrize("query", REQUESTS, ids=range(len(REQUESTS)))
@pytest.mark.parametrize("table", ["workbench", "wide", "huge"])
def test_an_answer_in_python_has_at_most_450_tokens(table: str, huge: Catalogue, desk: Any, query: Any) -> None:
    found = {"workbench": CATALOGUE, "wide": wide(9), "huge": huge}[table]
    answer = desk(found, "code").call("search", {"query": query})

    assert estimate_tokens(answer["content"][0]["text"]) <= MAX_TOKENS


@pytest.mark.parametrize("query", REQUESTS, ids=range(len(REQUESTS)))
def test_an_answer_of_discover_tools_has_at_most_300_tokens(desk: Any, query: Any) -> None:
    answer = desk(CATALOGUE, "discover-schema").call("discover_tools", {"query": query})

    assert cost(json.loads(answer["content"][0]["text"])) <= 300


def test_the_best_function_of_each_query_comes_before_second_ones(desk: Any) -> None:
    queries = ["list a directory", "change a text in a file", "who changed a line", "zxq"]
    lines = desk(CATALOGUE, "code").call("search", {"query": queries})["content"][0]["text"].splitlines()
    names = [re.split(r"[(:]", line.removeprefix("# "))[0] for line in lines if not line.startswith(" ")]

    assert names[0].startswith("list_directory")
    assert names[1] == "propose_and_review"
    assert names[2] == "git_blame"
    assert re.search(r"Nothing matches zxq\. Also: [\w, ]+\.$", lines[-1])


def test_a_sentence_that_ends_with_a_newline_is_searched_as_one_without(desk: Any) -> None:
    index = desk(CATALOGUE, "search-call").style.index
    request = "Show the newest commits of a branch. Tell me who wrote the line."

    assert [hit.name for hit in index.search_parts(f"{request}\n").hits] == [
        hit.name for hit in index.search_parts(request).hits
    ]
