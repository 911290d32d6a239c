from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK_ENTRY
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.text import STOP_WORDS
from toolmason_runtime.shared.search.words import SearchData, WordRanker

from toolmason.catalogue.search_index import build_index

MakeIndex = Callable[[Catalogue], ToolIndex]


def found(index: ToolIndex, query: str = "", **filters: str) -> list[str]:
    return [hit.name for hit in index.search(query, **filters)]


@pytest.mark.parametrize(
    "query", ["git_log", "git log", "git-log", "GitLog", "gitLog", "GIT_LOG", "mcp__desk__git_log"]
)
def test_a_name_comes_first_however_it_is_written(catalogue: Catalogue, make_index: MakeIndex, query: str) -> None:
    hit = make_index(catalogue).search(query)[0]

    assert (hit.name, hit.reason) == ("git_log", "name")


@pytest.mark.parametrize("query", ["findFiles", "find_files", "find files"])
def test_an_alias_comes_first_however_it_is_written(catalogue: Catalogue, make_index: MakeIndex, query: str) -> None:
    assert found(make_index(catalogue), query)[0] == "search_files"


def test_every_name_of_a_large_catalogue_comes_first(large: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(large)
    spellings = [(name, query) for name in large["tools"] for query in (name, name.replace("_", " "))]

    assert [query for name, query in spellings if found(index, query)[0] != name] == []


def test_two_or_three_words_of_a_description_find_their_tool(large: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(large)
    random = Random(7)
    missed = []
    for name, entry in large["tools"].items():
        said = dict.fromkeys(re.findall(r"\w+", entry["tool"]["description"].lower()))
        own = [word for word in said if word not in STOP_WORDS]
        for count in (2, 3):
            query = " ".join(random.sample(own, count))
            if name not in found(index, query)[:5]:
                missed.append((name, query))

    assert len(missed) <= 0.05 * 2 * len(large["tools"]), missed


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("which commits are on this branch", "git_log"),
        ("save my changes", "git_commit"),
        ("report a bug", "create_issue"),
        ("open the readme", "read_file"),
        ("project layout", "directory_tree"),
        ("urgent", "create_issue"),
    ],
)
def test_words_find_the_tool_that_was_meant(catalogue: Catalogue, make_index: MakeIndex, query: str, tool: str) -> None:
    assert tool in found(make_index(catalogue), query)[:3]


def test_a_literal_piece_of_one_tools_text_is_honoured_first(catalogue: Catalogue, make_index: MakeIndex) -> None:
    hit = make_index(catalogue).search("ith GP")[0]

    assert (hit.name, hit.reason) == ("git_commit", "literal")


def test_a_literal_piece_of_one_tools_text_hides_no_other_tool(catalogue: Catalogue, make_index: MakeIndex) -> None:
    catalogue["tools"]["git_log"]["tool"]["description"] += ". With dates: show a file of text as it was"
    index = make_index(catalogue)
    hits = index.search("a file of text")

    assert (hits[0].name, hits[0].reason) == ("git_log", "literal")
    assert "read_file" in [hit.name for hit in hits[1:5]]


def test_a_name_typed_with_spaces_hides_no_other_tool(catalogue: Catalogue, make_index: MakeIndex) -> None:
    names = found(make_index(catalogue), "search files")

    assert names[0] == "search_files"
    assert {"read_file", "write_file"} <= set(names[1:])


def test_a_literal_piece_gives_way_to_a_tool_named_so(catalogue: Catalogue, make_index: MakeIndex) -> None:
    catalogue["tools"]["git_diff"]["keywords"] = ["emails"]

    assert found(make_index(catalogue), "emails")[0] == "send_email"


def test_a_typing_mistake_is_forgiven(large: Catalogue, catalogue: Catalogue, make_index: MakeIndex) -> None:
    assert found(make_index(catalogue), "emial")[0] == "send_email"
    assert found(make_index(catalogue), "serch files")[0] == "search_files"
    hits = make_index(large).search(next(iter(large["tools"])).split("_")[1] + "x")
    assert {hit.reason for hit in hits} == {"spelling"}


@pytest.mark.parametrize(
    ("query", "tool"), [("the e-mails", "send_email"), ("Émails", "send_email"), ("wi-fi", "wifi"), ("wifi", "wi_fi")]
)
def test_accents_and_hyphens_do_not_hide_a_tool(
    catalogue: Catalogue, make_index: MakeIndex, query: str, tool: str
) -> None:
    catalogue["tools"]["git_log"]["tool"]["description"] += ". By wifi"
    catalogue["tools"]["git_diff"]["tool"]["description"] += ". By Wi-Fi"
    wanted = {"wifi": "git_log", "wi_fi": "git_diff"}.get(tool, tool)

    hits = {hit.name: hit.reason for hit in make_index(catalogue).search(query)}
    assert hits[wanted] in ("words", "literal")


@pytest.mark.parametrize(("query", "tool"), [("telephones", "fax"), ("versioning", "git_commit")])
def test_another_form_of_a_word_finds_its_tool(
    catalogue: Catalogue, make_index: MakeIndex, query: str, tool: str
) -> None:
    catalogue["tools"]["fax"].pop("enabled")
    catalogue["tools"]["write_file"]["keywords"] = ["whatever"]
    hits = {hit.name: hit.reason for hit in make_index(catalogue).search(query)}

    assert len(hits) <= 5
    assert tool in hits


def test_a_tool_that_matches_is_followed_by_at_most_two_of_similar_spelling(
    catalogue: Catalogue, make_index: MakeIndex
) -> None:
    for number in range(12):
        catalogue["tools"][f"other{number}"] = catalogue["tools"]["send_email"] | {"keywords": ["giraffe"]}
    catalogue["tools"]["git_log"]["keywords"] = ["zebra"]
    index = make_index(catalogue)

    assert [hit.reason for hit in index.search("girafe")][:3] == ["spelling"] * 3
    assert [hit.reason for hit in index.search("zebra girafe")] == ["words", "spelling", "spelling"]


def test_a_typing_mistake_counts_less_in_a_longer_query(catalogue: Catalogue) -> None:
    ranker = WordRanker(build_index(catalogue))

    def gain(query: str) -> float:
        return ranker.rank(f"{query} emial")["send_email"] - ranker.rank(query)["send_email"]

    short, longer = gain("message person"), gain("message person red blue")
    assert short > longer > 0
    assert gain("message person red blue green white black") == 0


def test_a_repeated_word_counts_once(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)

    assert found(index, "branch files files files") == found(index, "files branch")


def test_a_small_catalogue_is_given_back_whole(catalogue: Catalogue, make_index: MakeIndex) -> None:
    for name in ("fax", "purge_mailbox"):
        del catalogue["tools"][name]
    hits = make_index(catalogue).search("commit")

    assert len(hits) == len(catalogue["tools"]) == 12
    assert hits[0].name == "git_commit"
    assert hits[-1].reason == "rest"


@pytest.mark.parametrize("query", ["commmit", "emial"])
def test_a_small_catalogue_is_not_given_back_whole_after_likeness_of_spelling_alone(
    catalogue: Catalogue, make_index: MakeIndex, query: str
) -> None:
    for name in ("fax", "purge_mailbox"):
        del catalogue["tools"][name]
    hits = make_index(catalogue).search(query)

    assert {hit.reason for hit in hits} == {"spelling"}
    assert len(hits) < len(catalogue["tools"])


def test_a_small_catalogue_is_not_given_back_whole_after_a_hit_outside_the_category(
    catalogue: Catalogue, make_index: MakeIndex
) -> None:
    for name in ("fax", "purge_mailbox"):
        del catalogue["tools"][name]

    assert found(make_index(catalogue), "create_issue", category="files") == []


def test_a_search_of_a_large_catalogue_returns_only_matches(large: Catalogue, make_index: MakeIndex) -> None:
    assert 0 < len(found(make_index(large), "archive")) < len(large["tools"])


@pytest.mark.parametrize("query", ["???", "- _ .", "…", "\u200b!", "zzzqqqxx"])
def test_a_query_that_matches_nothing_finds_nothing(catalogue: Catalogue, make_index: MakeIndex, query: str) -> None:
    assert found(make_index(catalogue), query) == []


def test_filters_must_both_hold(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)

    assert found(index, "list", category="git")[0] in ("git_log", "git_branch")
    hits = index.search("list", category="GIT")
    assert {hit.name for hit in hits if hit.reason == "words"} == {"git_log", "git_branch"}
    assert {hit.entry["category"] for hit in hits} == {"git"}
    assert found(index, cli="git-tools", category="files") == []
    assert set(found(index, cli="files")) == set(found(index, category="files"))


def test_browsing_keeps_the_order_of_the_manifest(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)

    assert found(index, category="issues") == ["create_issue", "list_issues", "find_issue"]
    assert found(index) == [name for name in catalogue["tools"] if name != "fax"]


def test_a_deprecated_tool_is_found_after_its_equal(catalogue: Catalogue, make_index: MakeIndex) -> None:
    names = found(make_index(catalogue), "list open tickets")

    assert names[:2] == ["list_issues", "find_issue"]
    assert names.index("find_issue") == 1


def test_a_deprecated_tool_is_ranked_after_its_equal(catalogue: Catalogue, make_index: MakeIndex) -> None:
    tools = catalogue["tools"]
    tools["list_tickets"] = json.loads(json.dumps(tools["list_issues"]))
    tools["list_tickets"]["tool"]["name"] = "list_issues"
    tools["list_issues"]["deprecated"] = {"since": "1.0", "replaced_by": "", "message": ""}

    names = found(make_index(catalogue), "show open tickets")
    assert names.index("list_tickets") < names.index("list_issues")


def test_get_resolves_names_and_aliases(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)

    assert index.get("git_log") is catalogue["tools"]["git_log"]
    assert index.get("findFiles") is catalogue["tools"]["search_files"]
    assert index.get("nonexistent") is None
    assert index.get("fax") is None


def test_nearest_names_are_the_likest(catalogue: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(catalogue)

    assert index.nearest("read_fiel")[0] == "read_file"
    assert index.nearest("issueCreate")[0] == "create_issue"
    assert len(index.nearest("qqq")) == 3


def test_summary_counts_the_tools_of_each_program_or_category(catalogue: Catalogue, make_index: MakeIndex) -> None:
    groups = {group.name: group for group in make_index(catalogue).summary()}

    assert list(groups) == ["files", "git-tools", "issues", "messages"]
    assert (groups["git-tools"].tool_count, groups["git-tools"].category) == (4, "git")
    assert groups["git-tools"].tags == ("vcs", "history")


@pytest.mark.parametrize("query", ["fetch_chunk", "fetchChunk", "workbench__fetch_chunk", "Fetch chunk"])
def test_fetch_chunk_is_found_by_its_name_and_counted_nowhere(
    catalogue: Catalogue, make_index: MakeIndex, query: str
) -> None:
    index = make_index(catalogue)

    assert index.search(query)[0].name == "fetch_chunk"
    assert index.search("how do I fetch the next chunk")[-1].name == "fetch_chunk"
    assert "fetch_chunk" not in [hit.name for hit in (*index.search(), *index.search(query, category="files"))]
    assert "fetch_chunk" not in index.tools
    assert index.get("fetch_chunk") == FETCH_CHUNK_ENTRY
    assert "" not in index.categories


def test_the_index_is_read_at_the_first_search_and_only_once(catalogue: Catalogue) -> None:
    reads: list[str] = []

    def load() -> SearchData:
        reads.append("read")
        return build_index(catalogue)

    index = ToolIndex(catalogue, catalogue["tools"], load)
    index.summary()
    index.get("git_log")
    index.nearest("gitlog")
    index.search(category="git")
    assert reads == []

    index.search("commit")
    index.search("branch")
    assert reads == ["read"]


@given(query=st.text())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_query_is_answered_with_each_tool_once_at_most(
    catalogue: Catalogue, make_index: MakeIndex, query: str
) -> None:
    index = make_index(catalogue)
    names = found(index, query)

    assert len(names) == len(set(names))
    assert set(names) <= set(index.tools)
    assert found(index, query) == names
