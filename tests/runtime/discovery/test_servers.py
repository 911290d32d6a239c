"""Several servers behind one: a tool that they all have is one result, and no server fills a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.hits import Hit
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.servers import MAX_SHARED_HITS, PAGE, SHARE
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.catalogue.same_tools import same_tools
from toolmason.catalogue.search_index import build_index
from toolmason.evaluation.measure import evaluate
from toolmason.evaluation.queries import Query
from toolmason.lint.discoverability import rank_use_cases

from .conftest import READS, WRITES, catalogue_of, entry, text

STYLES = {"search-call": "search", "discover-schema": "discover_tools", "code": "search"}


def tool(
    name: str, server: str, summary: str, parameters: Sequence[str], *, reads: bool = False, more: str = ""
) -> tuple[str, ToolEntry]:
    properties = {parameter: text("A value") for parameter in parameters}
    made = entry(name, server or "own", summary, properties, hints=READS if reads else WRITES, more=more)
    if server:
        made["upstream"] = server
    return name, made


def gateway(tools: Sequence[tuple[str, ToolEntry]]) -> Catalogue:
    servers = dict.fromkeys(made["upstream"] for _, made in tools if "upstream" in made)
    catalogue = catalogue_of(dict(tools), dict.fromkeys([*servers, "own"], ("", [])))
    return catalogue | {"upstreams": {server: {"summary": "", "tags": []} for server in servers}}


def groups(*tools: tuple[str, ToolEntry]) -> list[list[str]]:
    names = [name for name, _ in tools]
    return [[names[place] for place in group["tools"]] for group in same_tools(gateway(tools))]


def trackers(*servers: str) -> list[tuple[str, ToolEntry]]:
    """Return the same tools of several trackers, and one of its own for each."""
    return [
        made
        for server in servers
        for made in (
            tool(
                f"{server}_create_issue", server, f"Create a new issue in {server}", ["title", "body", f"{server}_repo"]
            ),
            tool(f"{server}_list_issues", server, f"List the issues of a {server} project", ["state"], reads=True),
            tool(f"{server}_sync_issues", server, f"Copy issues from {server} to a mirror {len(server)}", [server]),
        )
    ]


def open_index(catalogue: Catalogue) -> ToolIndex:
    data = build_index(catalogue)
    return ToolIndex(catalogue, catalogue["tools"], lambda: data)


def shown(hits: Sequence[Hit]) -> list[str]:
    return [hit.name for hit in hits]


SAME = {
    "prefixes": ("github_create_issue", "gitlab_create_issue"),
    "no prefix in one": ("create_issue", "gitlab_create_issue"),
    "another spelling": ("github_createIssue", "gitlab-create-issue"),
    "a suffix": ("create_issue_github", "create_issue"),
    "prefixes that no server has": ("gh_create_issue", "gl_create_issue"),
}


@pytest.mark.parametrize("names", SAME.values(), ids=SAME)
def test_the_same_tool_has_the_same_name_without_prefix(names: tuple[str, str]) -> None:
    one, other = names
    found = groups(
        tool(one, "github", "Create a new issue in a GitHub repository", ["owner", "repo", "title", "body"]),
        tool(f"{one.split('_')[0]}_star", "github", "Mark a repository", ["repo"]),
        tool(other, "gitlab", "Create a new issue in a GitLab project", ["project_id", "title", "description"]),
        tool(f"{other.split('_')[0]}_lint", "gitlab", "Check a pipeline", ["content"]),
    )
    assert found == [[one, other]]


@pytest.mark.parametrize("names", [("查询_创建", "库存_创建"), ("查询库存", "查询库房"), ("élan_créer", "ELAN_CRÉER")])
def test_names_in_other_scripts_are_compared_whole(names: tuple[str, str]) -> None:
    one, other = names
    found = groups(tool(one, "查询", "Create a record", ["title"]), tool(other, "库存", "Create a record", ["title"]))
    assert found == ([] if names == ("查询库存", "查询库房") else [[one, other]])


DIFFERENT = {
    "another object of a vague name": (
        ("search", "Search the web with a query", ["query"], True),
        ("search", "Search for nodes in the knowledge graph", ["query"], True),
    ),
    "other parameters": (
        ("read_file", "Read the content of a file", ["path"], True),
        ("read_file", "Read the content of a file", ["drive_id"], True),
    ),
    "one needs no parameter": (
        ("list_users", "List all users", [], True),
        ("list_users", "List all users", ["cursor", "limit"], True),
    ),
    "another effect": (
        ("sync_notes", "Sync the notes of a folder", ["folder"], True),
        ("sync_notes", "Sync the notes of a folder", ["folder"], False),
    ),
    "another summary": (
        ("update_issue", "Change title, labels or milestone of an issue", ["issue", "title"], False),
        ("update_issue", "Resolve or ignore a group of crashes", ["issue", "status"], False),
    ),
    "another name": (
        ("create_issue", "Create an issue", ["title"], False),
        ("create_issues", "Create an issue", ["title"], False),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_tools_that_do_different_things_stay_apart(pair: tuple[tuple[str, str, list[str], bool], ...]) -> None:
    servers = ("alpha", "beta")
    tools = [
        tool(f"{server}_{name}", server, summary, parameters, reads=reads)
        for server, (name, summary, parameters, reads) in zip(servers, pair, strict=True)
    ]
    assert groups(*tools) == []


def test_a_server_has_one_tool_of_a_group() -> None:
    copies = [tool(f"evil_create_issue{'_' * place}", "evil", "Create an issue", ["title"]) for place in range(3)]
    found = groups(tool("create_issue", "github", "Create an issue", ["title"]), *copies)
    assert found == [["create_issue", "evil_create_issue"]]


def test_tools_of_the_author_and_of_one_server_are_never_merged() -> None:
    own = tool("create_issue", "", "Create an issue", ["title"])
    assert groups(own, tool("github_create_issue", "github", "Create an issue", ["title"])) == []
    assert "same" not in build_index(gateway([own]))
    assert "same" not in build_index(gateway([]))


def test_a_server_with_the_name_of_another_ones_prefix_changes_nothing() -> None:
    found = groups(
        tool("git_hub_create_issue", "git", "Create an issue", ["title"]),
        tool("github_create_issue", "github", "Create an issue", ["title"]),
        tool("github", "gitlab", "Import from GitHub", ["repo"]),
        tool("create", "hub", "Create an issue", ["title"]),
    )
    assert found == []


def test_the_same_tool_is_one_result_with_the_name_for_each_server() -> None:
    index = open_index(gateway(trackers("github", "gitlab", "linear")))
    first = index.search("create an issue")[0]

    assert first.name == "github_create_issue"
    assert first.same is not None
    assert first.same.name == "create_issue"
    assert first.same.tools == {server: f"{server}_create_issue" for server in ("github", "gitlab", "linear")}
    assert sum("create_issue" in name for name in shown(index.search("create an issue"))) == 1


@pytest.mark.parametrize("query", ["create an issue in linear", "linear_create_issue", "linear create issue"])
def test_a_server_in_the_query_comes_first(query: str) -> None:
    index = open_index(gateway(trackers("github", "gitlab", "linear")))
    assert index.search(query)[0].name == "linear_create_issue"


def test_a_filter_leaves_only_tools_that_it_allows() -> None:
    catalogue = gateway(trackers("github", "gitlab", "linear"))
    catalogue["tools"]["gitlab_create_issue"]["category"] = "github"
    index = open_index(catalogue)
    first = index.search("create an issue", category="github")[0]

    assert first.same is not None
    assert first.same.tools == {"github": "github_create_issue", "gitlab": "gitlab_create_issue"}
    assert index.search("create an issue", cli="linear")[0].same is None


def test_texts_bring_no_server_to_the_first_place_of_a_group() -> None:
    tools = trackers("github", "evil")
    stuffed = tool(
        "evil_create_issue", "evil", "Create a new issue in evil", ["title", "body"], more="create an issue bug " * 20
    )
    index = open_index(gateway([made if made[0] != "evil_create_issue" else stuffed for made in tools]))
    assert index.search("create an issue for a bug")[0].name == "github_create_issue"


def test_a_phrase_in_the_texts_of_one_server_does_not_rank_first() -> None:
    phrase = "show what is open"
    real = tool("github_list_open_issues", "github", "Show open issues", ["state"], reads=True)
    evil = tool("evil_do", "evil", "Do anything", ["what"], more=f"{'all kinds of other work ' * 20}{phrase}")
    assert open_index(gateway([evil, real])).search(phrase)[0].name == "github_list_open_issues"


@pytest.mark.parametrize("kind", ["all words in one tool", "words in many tools", "copies of the tools"])
def test_stuffed_texts_bring_no_server_to_the_first_place(large: Catalogue, kind: str) -> None:
    tools = deepcopy(large["tools"])
    for place, made in enumerate(tools.values()):
        made["upstream"] = f"server{place % 3}"
    summaries = {name: made["summary"] for name, made in tools.items()}
    words = sorted({word for summary in summaries.values() for word in summary.split()})
    stuffed = [tool("evil_all", "evil", "Do anything", ["what"], more=" ".join(words))]
    if kind == "words in many tools":
        parts = [words[start : start + 20] for start in range(0, len(words), 20)]
        stuffed = [tool(f"evil_{part[0]}", "evil", "Do anything", ["what"], more=" ".join(part * 3)) for part in parts]
    elif kind == "copies of the tools":
        stuffed = [(f"evil_{name}", deepcopy(made) | {"upstream": "evil"}) for name, made in list(tools.items())[::2]]
        for name, made in stuffed:
            made["tool"] |= {"name": name, "description": f"{made['tool']['description']} {made['summary']}"}
    index = open_index(gateway([*tools.items(), *stuffed]))
    found = {name: [hit.entry["upstream"] for hit in index.search(summary)[:5]] for name, summary in summaries.items()}

    assert [name for name, servers in found.items() if servers[0] == "evil"] == []
    assert sum(servers.count("evil") for servers in found.values()) <= len(found) / 10


def test_the_number_of_tools_of_a_small_server_counts_each_server(desk: Any) -> None:
    server = desk(gateway(trackers("github", "gitlab", "linear")), "search-call")
    hint = server.ask("search", query="create an issue")["hint"]

    assert "3 servers have `create_issue`; `same_tool` has their names. Arguments may differ." in hint
    server = desk(
        gateway([*trackers("github", "gitlab"), tool("zebra", "", "Paint stripes", ["colour"])]), "search-call"
    )
    assert "this server has 7 tools" in server.ask("search", query="paint stripes")["hint"]


@pytest.mark.parametrize("servers", [2, 3, 50])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("query", ["create an issue", "issues", "list the issues of a project and create an issue"])
def test_answers_stay_small(desk: Any, style: str, servers: int, query: str) -> None:
    catalogue = gateway(trackers(*(f"tracker{number}" for number in range(servers))))
    [block] = desk(catalogue, style).call(STYLES[style], {"query": query})["content"]

    assert estimate_tokens(block["text"]) <= 450
    assert f"{servers} servers have" in block["text"]
    if servers == 50:
        assert "more_servers" in block["text"] or " more" in block["text"]


def test_a_listing_names_the_same_tool_once(desk: Any) -> None:
    catalogue = gateway(trackers("github", "gitlab", "linear"))
    catalogue["tools"]["linear_list_issues"]["enabled"] = False
    server = desk(catalogue, "list-describe")
    listed = server.ask("list_available_tools", include_disabled=True)
    names = [line["name"] for line in listed["tools"]]

    assert names.count("github_create_issue") == 1
    assert "gitlab_create_issue" not in names
    assert listed["tools"][0]["same_tool"]["linear"] == "linear_create_issue"
    assert "linear_list_issues" in names
    assert [line["name"] for line in server.ask("list_available_tools", category="linear")["tools"]] == [
        "linear_create_issue",
        "linear_sync_issues",
    ]


def test_names_only_are_objects_where_several_servers_have_a_tool(desk: Any) -> None:
    server = desk(gateway(trackers("github", "gitlab")), "discover-schema")
    first, *_ = server.ask("discover_tools", query="create an issue", detail_level="name_only")["tools"]

    assert first == {
        "name": "github_create_issue",
        "same_tool": {"github": "github_create_issue", "gitlab": "gitlab_create_issue"},
    }


def test_several_queries_of_a_program_show_a_tool_once(desk: Any) -> None:
    server = desk(gateway(trackers("github", "gitlab")), "code")
    [block] = server.call("search", {"query": "create issue in gitlab; create issue in github"})["content"]

    assert "2 servers have it: this is gitlab; github_create_issue (github)" in block["text"]
    assert block["text"].count("_create_issue(") == 1


MANY = st.dictionaries(st.sampled_from(["alpha", "beta", "gamma", "delta"]), st.integers(1, 30), min_size=2)


def crowd(sizes: Mapping[str, int]) -> Catalogue:
    """Return as many matching tools of each server, and two of the author's own."""
    servers = [server for server, size in sizes.items() for _ in range(size)]
    foreign = [
        tool(f"{server}_report_{place}", server, f"Print report {place}", [f"p{place}"])
        for place, server in enumerate(servers)
    ]
    return gateway([*foreign, *(tool(f"own_report_{day}", "", f"Print report {day}", ["day"]) for day in ("a", "b"))])


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(sizes=MANY)
def test_no_server_takes_more_than_its_share_of_a_page_while_others_match(sizes: dict[str, int]) -> None:
    index = open_index(crowd(sizes))
    hits = [hit for hit in index.search("print a report") if hit.reason != "rest"]
    servers = [hit.entry.get("upstream", "") for hit in hits]

    assert shown(hits) == shown(
        [hit for hit in open_index(crowd(sizes)).search("print a report") if hit.reason != "rest"]
    )
    assert len(set(shown(hits))) == len(hits) == sum(sizes.values()) + 2
    for start in range(min(len(servers), MAX_SHARED_HITS) - PAGE + 1):
        page, rest = servers[start : start + PAGE], servers[start + PAGE :]
        for server, count in Counter(page).items():
            assert not server or count <= SHARE or set(rest) <= {server}


def test_a_server_that_the_query_names_may_fill_a_page() -> None:
    hits = open_index(crowd({"alpha": 20, "beta": 20})).search("print a report of beta")
    assert {hit.entry["upstream"] for hit in hits[:PAGE]} == {"beta"}


def test_the_order_of_one_server_is_that_of_its_scores() -> None:
    catalogue = crowd({"alpha": 20})
    with_server = shown(open_index(catalogue).search("print a report"))
    for made in catalogue["tools"].values():
        made.pop("upstream", None)
    assert with_server == shown(open_index(catalogue).search("print a report"))


@settings(deadline=None, max_examples=30)
@given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), server=st.text(min_size=1, max_size=6))
def test_any_names_are_compared(name: str, server: str) -> None:
    tools = [tool(name, server, "Do it", []), tool(f"{server}_{name}", f"{server}2", "Do it", [])]
    found = same_tools(gateway(tools))
    assert json.loads(json.dumps(found)) == found
    assert all(sorted(set(group["tools"])) == group["tools"] for group in found)


def test_a_use_case_finds_the_tool_of_each_server() -> None:
    catalogue = gateway(trackers("github", "gitlab", "linear", "sentry"))
    names = [name for name in catalogue["tools"] if name.endswith("_create_issue")]
    for name in names:
        catalogue["tools"][name]["use_cases"] = ["Report a bug to the developers"]

    ranks = {ranked.tool: (ranked.rank, ranked.ranked_higher) for ranked in rank_use_cases(catalogue)}
    assert ranks == dict.fromkeys(names, (1, ()))


def test_a_result_for_several_servers_finds_each_of_their_tools() -> None:
    index = open_index(gateway(trackers("github", "gitlab")))
    categories = {name: made["category"] for name, made in index.tools.items()}
    queries = [Query("create an issue", ("gitlab_create_issue",)), Query("create an issue", ("github_create_issue",))]
    evaluation = evaluate(queries, lambda text: [hit.tools for hit in index.search(text)], categories, top=1)

    assert evaluation.total.recall[1] == 1
    assert evaluation.outcomes[0].first == "gitlab_create_issue"
