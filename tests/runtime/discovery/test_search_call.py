from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.discovery.listing import listed_tool
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK_ENTRY
from toolmason_runtime.shared.shown_names import ShownNames
from toolmason_runtime.shared.tokens import estimate_tokens
from toolmason_runtime.shared.values.wording import call_text

MakeDesk = Callable[..., Any]
BRIEF = {"tool_name", "description"}
RESULT = {*BRIEF, "signature"}
FULL = {*RESULT, "cli_name", "category", "tags", "input_schema"}
GROUP = {"name", "description", "tool_count", "category", "tags"}


def names(answer: dict[str, Any]) -> list[str]:
    return [result["tool_name"] for result in answer["results"]]


def cost(value: object) -> int:
    return estimate_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def read_by_models(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the hints and `_meta`: they are for clients, models never see them."""
    return [{key: value for key, value in tool.items() if key not in ("annotations", "_meta")} for tool in tools]


@pytest.fixture
def server(catalogue: Catalogue, desk: MakeDesk) -> Any:
    return desk(catalogue, "search-call")


def test_a_query_gives_matching_tools_with_signatures(server: Any) -> None:
    answer = server.ask("search", query="record my commit")

    first, *others = (frozenset(result.keys() - {"match"}) for result in answer["results"])
    assert first == RESULT
    assert set(others) <= {frozenset(BRIEF), frozenset(RESULT)}
    assert answer["results"][0] == {
        "tool_name": "git_commit",
        "description": "Record staged changes as a commit",
        "signature": '(message:str "What changed and why", sign?:bool=false)',
    }


@pytest.mark.parametrize(("detail", "query"), [("full", "record my commit"), ("signature", "git_commit")])
def test_us1_1_fr_002_in_full_or_by_its_name_a_tool_has_all_of_its_details(
    catalogue: Catalogue, desk: MakeDesk, detail: str, query: str
) -> None:
    catalogue["discovery"]["detail"] = detail
    first, *others = desk(catalogue, "search-call").ask("search", query=query)["results"]

    assert first.keys() == FULL
    kinds = {frozenset(other.keys() - {"match"}) for other in others}
    assert kinds <= ({frozenset(FULL)} if detail == "full" else {frozenset(RESULT), frozenset(BRIEF)})
    assert first["tool_name"] == "git_commit"
    assert first["cli_name"] == "git-tools"
    assert first["category"] == "git"
    assert first["tags"] == ["vcs", "history"]
    assert first["input_schema"]["required"] == ["message"]
    assert first["input_schema"]["properties"]["sign"]["default"] is False


@pytest.mark.parametrize(("default", "asked"), [("signature", "full"), ("full", "signature")])
def test_a_call_may_ask_for_the_other_detail(catalogue: Catalogue, desk: MakeDesk, default: str, asked: str) -> None:
    catalogue["discovery"]["detail"] = default
    answer = desk(catalogue, "search-call").ask("search", query="record my commit", detail=asked)

    assert {"input_schema" in result for result in answer["results"]} == {asked == "full"}


def test_us1_2_a_category_gives_its_tools_alone(server: Any) -> None:
    assert names(server.ask("search", category="git")) == ["git_log", "git_diff", "git_commit", "git_branch"]


def test_us1_3_a_cli_gives_its_tools_alone(server: Any) -> None:
    assert names(server.ask("search", cli="git-tools")) == ["git_log", "git_diff", "git_commit", "git_branch"]


def test_us1_4_query_and_category_must_both_hold(server: Any) -> None:
    assert set(names(server.ask("search", query="branch"))) > {"git_branch", "read_file"}
    answer = server.ask("search", query="branch", category="git")
    assert names(answer)[0] == "git_branch"
    assert set(names(answer)) < set(names(server.ask("search", category="git")))
    assert answer["hint"].endswith("Only category git was searched; nothing else matches.")


def test_an_answer_counts_the_matches_that_a_filter_leaves_out(server: Any) -> None:
    answer = server.ask("search", query="git file", category="git")
    assert "Only category git was searched; matches left out: files " in answer["hint"]
    nothing = server.ask("search", query="branch", category="messages")
    assert nothing["results"] == []
    assert nothing["hint"].endswith("Only category messages was searched; matches left out: git 2.")
    assert "searched" not in server.ask("search", category="git").get("hint", "")


@pytest.mark.parametrize(
    "query", ["zzz_nonexistent_xyz", "asdfghjkl", "xyzzy plugh", "blorptastic teapot", "zzz_commmit_xyz", "東京の天気"]
)
def test_a_query_about_something_else_has_no_results(server: Any, query: str) -> None:
    answer = server.ask("search", query=query)

    assert answer["results"] == []
    assert answer["categories"]
    assert answer["hint"].startswith("No tool matches.")
    assert "input_schema" not in json.dumps(answer)


def test_the_nearest_words_of_a_query_without_a_match_are_words_of_tools(server: Any) -> None:
    answer = server.ask("search", query="zzz_commmit_xyz")

    assert answer["nearest_words"][0] == "commit"
    assert names(server.ask("search", query=answer["nearest_words"][0]))[0] == "git_commit"
    assert "nearest_words" not in server.ask("search", query="commit")


@pytest.mark.parametrize("limit", [3, "3", 3.0])
def test_us1_5_limit_bounds_the_results(server: Any, limit: object) -> None:
    assert len(server.ask("search", query="file", limit=limit)["results"]) == 3


def test_us1_6_no_arguments_give_a_summary_and_no_tools(server: Any) -> None:
    answer = server.ask("search")

    assert answer["mode"] == "summary"
    assert [group["name"] for group in answer["summary"]] == ["files", "git-tools", "issues", "messages"]
    assert all(group.keys() == GROUP for group in answer["summary"])
    assert answer["summary"][1] == {
        "name": "git-tools",
        "description": "Version control",
        "tool_count": 4,
        "category": "git",
        "tags": ["vcs", "history"],
    }


def test_fr_001_search_takes_four_optional_filters_and_an_offset(server: Any) -> None:
    schema = server.style.listed()[0]["inputSchema"]

    assert {name: part["type"] for name, part in schema["properties"].items()} == {
        "query": "string",
        "category": "string",
        "cli": "string",
        "limit": "integer",
        "offset": "integer",
    }
    assert schema["properties"]["limit"]["default"] == 10
    assert "required" not in schema


def test_fr_003_no_filters_gives_a_summary_capped_at_limit(server: Any) -> None:
    answer = server.ask("search", query=None, category="", limit=2)

    assert [group["name"] for group in answer["summary"]] == ["files", "git-tools"]
    assert (answer["total_matches"], answer["next_offset"], answer["total_tools"]) == (4, 2, 12)
    assert [group["name"] for group in server.ask("search", limit=9, offset=2)["summary"]] == ["issues", "messages"]


def test_fr_004_results_are_one_of_two_shapes(server: Any) -> None:
    found, summary = server.ask("search", query="email"), server.ask("search")

    assert list(found)[:2] == ["mode", "results"]
    assert list(summary)[:2] == ["mode", "summary"]


def test_fr_005_call_takes_a_name_and_an_object(server: Any) -> None:
    schema = server.style.listed()[1]["inputSchema"]

    assert schema["properties"] == {"tool_name": {"type": "string"}, "args": {"type": "object"}}
    assert schema["required"] == ["tool_name"]


def test_fr_006_call_finds_the_tool_by_name_or_alias(server: Any) -> None:
    server.call("call", {"tool_name": "findFiles", "args": {"pattern": "*"}})

    assert server.ran == [("search_files", {"pattern": "*"})]


@pytest.mark.parametrize("args", [{"limit": 5}, '{"limit": 5}'])
def test_us2_2_call_passes_the_arguments_on(server: Any, args: object) -> None:
    server.call("call", {"tool_name": "git_log", "args": args})

    assert server.ran == [("git_log", {"limit": 5})]


@pytest.mark.parametrize("arguments", [{}, {"args": None}, {"args": {}}, {"args": ""}, {"args": "null"}, {"extra": 1}])
def test_call_without_arguments_passes_none(server: Any, arguments: dict[str, object]) -> None:
    server.call("call", {"tool_name": "git_log", **arguments})

    assert server.ran == [("git_log", {})]


def test_fr_010_sc_004_call_gives_the_tools_own_result_untouched(server: Any) -> None:
    assert server.call("call", {"tool_name": "git_log"}) == {
        "content": [{"type": "text", "text": "git_log ran"}],
        "isError": False,
    }


def test_us2_5_an_unknown_tool_is_an_error_with_three_nearest_names(server: Any) -> None:
    message = server.refusal("call", tool_name="git_lgo")

    assert message.startswith("Unknown tool `git_lgo`. Nearest names: `git_log`, ")
    assert message.count("`") == 8
    assert server.ran == []


@pytest.mark.parametrize("name", ["purge_mailbox", "search", ""])
def test_call_refuses_a_tool_that_is_not_served(server: Any, name: str) -> None:
    assert server.refusal("call", tool_name=name).startswith("Unknown tool")


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("call", {}, "Argument 'tool_name' is required: a string"),
        ("call", {"tool_name": 5}, "Argument 'tool_name' must be a string; got 5"),
        ("call", {"tool_name": "git_log", "args": "x"}, "Argument 'args' must be an object; got \"x\""),
        ("call", {"tool_name": "git_log", "args": [1]}, "Argument 'args' must be an object; got an array of 1 item"),
        ("search", {"limit": 0}, "Argument 'limit' must be an integer of at least 1; got 0"),
        ("search", {"limit": 2.9}, "Argument 'limit' must be an integer of at least 1; got 2.9"),
        ("search", {"limit": True}, "Argument 'limit' must be an integer of at least 1; got true"),
        ("search", {"limit": "many"}, "Argument 'limit' must be an integer of at least 1; got \"many\""),
        ("search", {"limit": float("inf")}, "Argument 'limit' must be an integer of at least 1; got Infinity"),
        (
            "search",
            {"query": [1], "offset": -1, "catgory": "git"},
            (
                "Argument 'query' must be a string; got an array of 1 item\n"
                "Argument 'offset' must be an integer of at least 0; got -1\n"
                "Note: unknown argument 'catgory' was ignored; did you mean 'category'?"
            ),
        ),
    ],
)
def test_fr_008_invalid_arguments_are_answered_with_the_expected_form(
    server: Any, tool: str, arguments: dict[str, object], expected: str
) -> None:
    *problems, example = server.refusal(tool, **arguments).splitlines()
    name, _, right = example.removeprefix("Example: ").partition(" ")

    assert problems == expected.splitlines()
    assert name == tool
    assert server.ran == []
    assert not server.call(tool, json.loads(right)).get("isError")


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"querry": "x"}, "Note: unknown argument 'querry' was ignored; did you mean 'query'?"),
        ({"query": "read", "catgory": "git"}, "Note: unknown argument 'catgory' was ignored; did you mean 'category'?"),
        (
            {"zzz": None},
            "Note: unknown argument 'zzz' was ignored; known are: query, category, cli, limit, offset, detail",
        ),
    ],
)
def test_an_unknown_argument_of_search_is_noted_in_a_block_of_its_own(
    server: Any, arguments: dict[str, object], note: str
) -> None:
    known = {name: value for name, value in arguments.items() if name == "query"}
    plain, noted = server.call("search", known), server.call("search", arguments)

    assert noted == plain | {"content": [*plain["content"], {"type": "text", "text": note}]}


@pytest.mark.parametrize("sent_as", ["arguments", "params", "parameters", "input"])
def test_misnamed_arguments_are_taken_with_a_note(server: Any, sent_as: str) -> None:
    for sent in ({sent_as: {"limit": 5}}, {sent_as: '{"limit": 5}', "args": {}}):
        for meta in ("call", "call_read"):
            result = server.call(meta, {"tool_name": "git_log", **sent})
            assert result["content"][0]["text"] == f"Note: argument '{sent_as}' was taken as 'args'"
    assert server.ran == [("git_log", {"limit": 5})] * 4


@pytest.mark.parametrize("sent", [{"arguments": {}}, {"params": None}, {"args": {"limit": 5}, "input": {"limit": 6}}])
def test_another_name_that_takes_nothing_away_is_only_noted(server: Any, sent: dict[str, Any]) -> None:
    result = server.call("call", {"tool_name": "git_log", **sent})

    assert server.ran == [("git_log", sent.get("args", {}))]
    assert result["content"][0]["text"].endswith("was ignored; did you mean 'args'?")


@pytest.mark.parametrize("sent_as", ["name", "tool"])
def test_a_misnamed_tool_name_argument_is_taken_with_a_note(server: Any, sent_as: str) -> None:
    result = server.call("call_read", {sent_as: "git_log", "arguments": {"limit": 5}})

    assert server.ran == [("git_log", {"limit": 5})]
    assert result["content"][0]["text"] == f"Note: argument '{sent_as}' was taken as 'tool_name'"


def test_an_unknown_argument_beside_an_unknown_tool_is_noted_too(server: Any) -> None:
    result = server.call("call", {"tool_name": "nope", "input": {}})

    assert result["isError"] is True
    assert result["content"][0]["text"].endswith("did you mean 'args'?")


def test_wait_for_previous_of_gemini_cli_is_ignored_without_a_note(server: Any) -> None:
    assert server.ask("search", query="commit", wait_for_previous=True) == server.ask("search", query="commit")


def test_us3_1_fr_011_without_split_calls_exactly_two_tools_are_listed(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["split_calls"] = False

    server = desk(catalogue, "search-call")
    assert server.listed() == ["search", "call"]
    assert not server.style.is_meta_tool("call_read")


def test_split_calls_adds_a_tool_that_only_reads(server: Any) -> None:
    assert server.listed() == ["search", "call", "call_read"]
    server.call("call_read", {"tool_name": "git_log"})
    assert server.ran == [("git_log", {})]


@pytest.mark.parametrize("name", ["git_commit", "write_file"])
def test_call_read_refuses_a_writing_tool_and_names_call(server: Any, name: str) -> None:
    assert server.refusal("call_read", tool_name=name) == f"`{name}` is not read-only: run it with `call`."
    assert server.ran == []


def test_with_a_writing_tool_only_call_read_is_read_only(server: Any) -> None:
    hints = {tool["name"]: tool["annotations"].get("readOnlyHint", False) for tool in server.style.listed()}
    texts = {tool["name"]: tool["description"] for tool in server.style.listed()}

    assert hints == {"search": True, "call": False, "call_read": True}
    assert texts["call"] == "Run a tool that writes"
    assert texts["call_read"] == "Run a read-only tool"


def test_without_a_writing_tool_both_are_read_only(catalogue: Catalogue, desk: MakeDesk) -> None:
    for name in ("write_file", "git_commit", "git_branch", "create_issue", "send_email"):
        catalogue["tools"][name]["tier"] = "all"
    listed = desk(catalogue, "search-call").style.listed()

    assert [tool["annotations"]["readOnlyHint"] for tool in listed] == [True, True, True]
    assert listed[1]["description"] == "Run a found tool"


PART = {"cacheKey": "cache_1", "chunkIndex": 2}
THROUGH_CALL_TOOL = 'call_tool(tool_name="fetch_chunk", arguments={"cacheKey": "cache_1", "chunkIndex": 2})'


@pytest.mark.parametrize(
    ("style", "tool", "text"),
    [
        (
            "search-call",
            "fetch_chunk",
            'call_read(tool_name="fetch_chunk", args={"cacheKey": "cache_1", "chunkIndex": 2})',
        ),
        ("search-call", "git_commit", 'call(tool_name="git_commit", args={"cacheKey": "cache_1", "chunkIndex": 2})'),
        ("search-call", "git_log", 'git_log(cacheKey="cache_1", chunkIndex=2)'),
        ("list-describe", "fetch_chunk", THROUGH_CALL_TOOL),
        ("discover-schema", "fetch_chunk", THROUGH_CALL_TOOL),
        ("classic", "fetch_chunk", 'fetch_chunk(cacheKey="cache_1", chunkIndex=2)'),
    ],
)
def test_a_call_is_shown_as_the_model_of_the_style_sends_it(
    catalogue: Catalogue, desk: MakeDesk, style: str, tool: str, text: str
) -> None:
    catalogue["discovery"]["pinned"] = ["git_log"]
    entry = catalogue["tools"].get(tool, FETCH_CHUNK_ENTRY)

    assert call_text(*desk(catalogue, style).style.call_of(entry, PART)) == text


def test_call_read_refuses_a_tool_that_does_not_say(catalogue: Catalogue, desk: MakeDesk) -> None:
    del catalogue["tools"]["git_log"]["tool"]["annotations"]

    assert "not read-only" in desk(catalogue, "search-call").refusal("call_read", tool_name="git_log")


def test_call_read_answers_an_unknown_tool_as_call_does(server: Any) -> None:
    assert server.refusal("call_read", tool_name="nope") == server.refusal("call", tool_name="nope")


def test_us3_2_every_tool_can_be_reached_by_call(server: Any) -> None:
    for name in server.style.index.tools:
        server.call("call", {"tool_name": name})

    assert [name for name, _ in server.ran] == list(server.style.index.tools)


def test_sc_001_two_calls_find_and_run_a_tool(server: Any) -> None:
    first = server.ask("search", query="urgent ticket")["results"][0]
    args = dict.fromkeys(re.findall(r"(\w+):", first["signature"]), "x")
    server.call("call", {"tool_name": first["tool_name"], "args": args})

    assert server.ran == [("create_issue", {"title": "x"})]


def test_sc_002_the_list_does_not_grow_with_the_catalogue(huge: Catalogue, desk: MakeDesk) -> None:
    assert len(desk(huge, "search-call").style.listed()) == 3


def test_a_hidden_tool_does_not_answer_to_its_own_name(server: Any) -> None:
    assert not server.style.allows_direct_call("git_log")
    assert not server.style.is_meta_tool("git_log")


@pytest.mark.parametrize(
    ("name", "runner"), [("git_log", "call_read"), ("findFiles", "call_read"), ("git_commit", "call")]
)
def test_an_unlisted_tool_called_directly_is_answered_with_its_runner(server: Any, name: str, runner: str) -> None:
    assert server.style.unknown_tool_text(name) == f"Unknown tool `{name}`: it is not listed; run it with `{runner}`."


RUNNING = [
    *(("search-call", name) for name in ("call", "call_read")),
    *((style, "call_tool") for style in ("list-describe", "discover-schema")),
]


@pytest.mark.parametrize(("style", "meta"), RUNNING)
@pytest.mark.parametrize("name", ["fax", " fax ", "telefax"])
def test_a_meta_tool_reports_that_a_named_tool_is_disabled(
    catalogue: Catalogue, desk: MakeDesk, *, style: str, meta: str, name: str
) -> None:
    catalogue["tools"]["fax"]["aliases"] = ["telefax"]
    server = desk(catalogue, style)

    assert server.refusal(meta, tool_name=name) == "Tool fax is disabled on this server"
    assert server.ran == []


@pytest.mark.parametrize(("style", "meta"), RUNNING)
def test_a_disabled_tool_that_would_not_be_served_anyway_is_unknown(
    catalogue: Catalogue, desk: MakeDesk, style: str, meta: str
) -> None:
    server = desk(catalogue, style, toolsets=("git",))

    assert server.refusal(meta, tool_name="fax").startswith("Unknown tool `fax`. Nearest names: ")
    assert not server.style.allows_direct_call("fax")


def test_a_disabled_tool_is_not_listed_under_its_own_name_where_hidden_tools_are_not(server: Any) -> None:
    assert not server.style.allows_direct_call("fax")
    assert server.style.unknown_tool_text("fax") == "Unknown tool `fax`: it is not listed, and disabled on this server."


def test_a_disabled_tool_that_is_pinned_answers_to_its_own_name(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["pinned"] = ["fax"]
    server = desk(catalogue, "search-call")

    assert server.style.allows_direct_call("fax")
    assert "fax" not in server.listed()


@pytest.mark.parametrize(
    ("style", "meta", "key", "known"),
    [
        ("search-call", "search", "query", {}),
        ("search-call", "search", "category", {}),
        ("discover-schema", "discover_tools", "query", {}),
        ("list-describe", "get_tool_description", "tool_name", {}),
    ],
)
def test_a_text_is_read_up_to_1000_characters_and_that_is_noted(
    catalogue: Catalogue, desk: MakeDesk, *, style: str, meta: str, key: str, known: dict[str, Any]
) -> None:
    server = desk(catalogue, style)
    whole = server.call(meta, known | {key: "commit " * 200})
    short = server.call(meta, known | {key: ("commit " * 200)[:1000]})
    note = f"Note: only the first 1000 characters of argument '{key}' were used"

    assert {"type": "text", "text": note} in whole["content"]
    assert [block for block in whole["content"] if block["text"] != note] == short["content"]


def test_the_nearest_names_of_a_long_name_are_those_of_its_beginning(server: Any) -> None:
    index = server.style.index

    assert index.nearest("git_log" + "x" * 193 + "git_diff" * 1000) == index.nearest("git_log" + "x" * 193)


def test_arguments_nested_too_deeply_are_not_an_object(server: Any) -> None:
    message = server.refusal("call", tool_name="git_log", args='{"a":' + "[" * 100_000)

    assert message.startswith("Argument 'args' must be an object; got ")


@pytest.mark.parametrize("style", ["search-call", "list-describe", "discover-schema"])
def test_meta_tools_state_the_defaults_that_they_keep_to(catalogue: Catalogue, desk: MakeDesk, style: str) -> None:
    stated: dict[str, Any] = {}
    for tool in desk(catalogue, style).style.listed():
        stated |= tool["inputSchema"]["properties"]
    if style == "search-call":
        assert stated["limit"] == {"type": "integer", "default": 10}
    if style == "list-describe":
        assert stated["include_disabled"] == {"type": "boolean", "default": False}
        assert stated["include_examples"] == {"type": "boolean", "default": True}
    if style != "search-call":
        assert stated["offset"] == {"type": "integer", "default": 0}


def test_without_split_calls_call_runs_every_hidden_tool(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["split_calls"] = False

    assert desk(catalogue, "search-call").style.unknown_tool_text("git_log").endswith("; run it with `call`.")


@pytest.mark.parametrize("name", ["git_lgo", "purge_mailbox"])
def test_an_unknown_tool_is_answered_in_the_same_words_by_its_own_name_and_through_call(server: Any, name: str) -> None:
    assert server.style.unknown_tool_text(name) == server.refusal("call", tool_name=name)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"query": "git_log", "limit": 1}, "Run with call_read."),
        ({"query": "git_commit", "limit": 1}, "Run with call."),
        ({"category": "git", "limit": 3}, "Run with call_read, but git_commit with call."),
        ({"category": "git"}, "Run with call_read, but git_commit, git_branch with call."),
        ({"category": "git", "offset": 1}, "Run with call, but git_diff with call_read."),
    ],
)
def test_a_search_hint_names_the_runner_of_each_hit(server: Any, asked: dict[str, object], said: str) -> None:
    assert server.ask("search", **asked)["hint"].startswith(said)


def test_a_search_hint_for_many_hits_names_the_runner_by_kind(huge: Catalogue, desk: MakeDesk) -> None:
    hint = desk(huge, "search-call").ask("search", category="area3", limit=100)["hint"]

    assert hint.startswith("Run read-only tools with call_read, others with call.")


def test_without_split_calls_a_search_has_nothing_to_say_about_the_only_tool_that_runs(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    catalogue["discovery"]["split_calls"] = False

    assert "hint" not in desk(catalogue, "search-call").ask("search", query="git_log", limit=1)


def test_pinned_tools_are_listed_and_answer_to_their_own_names(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["pinned"] = ["search_files", "purge_mailbox"]
    style = desk(catalogue, "search-call").style

    (pinned,) = style.listed()[3:]
    assert pinned == listed_tool(catalogue["tools"]["search_files"]["tool"]) | {"_meta": {"anthropic/alwaysLoad": True}}
    assert style.allows_direct_call("search_files")
    assert style.allows_direct_call("findFiles")
    assert not style.allows_direct_call("purge_mailbox")


def test_the_prefix_is_before_all_names(catalogue: Catalogue, desk: MakeDesk) -> None:
    server = desk(catalogue, "search-call", ShownNames("desk_"))

    assert server.listed() == ["desk_search", "desk_call", "desk_call_read"]
    assert "desk_call" in server.ask("search", query="commit")["hint"]
    assert "`desk_call`" in server.refusal("call_read", tool_name="git_commit")
    assert server.ask("search")["hint"].startswith("Call desk_search ")


def test_a_meta_tool_with_the_name_of_a_tool_has_the_prefix_of_the_manifest(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    catalogue["discovery"]["prefix"] = "desk_"
    tool = catalogue["tools"]["search_files"]
    catalogue["tools"]["search"] = {**tool, "tool": {**tool["tool"], "name": "search"}}

    assert desk(catalogue, "search-call").listed() == ["desk_search", "call", "call_read"]


@pytest.mark.parametrize("arguments", [{"query": "zzzqqq"}, {"query": "?!"}, {"category": "nonexistent"}])
def test_a_search_without_matches_is_an_empty_list_with_the_categories(server: Any, arguments: dict[str, str]) -> None:
    answer = server.ask("search", **arguments)

    assert answer["results"] == []
    assert answer["categories"] == ["files", "git", "issues", "messages"]


def test_a_deprecated_tool_is_marked(server: Any) -> None:
    results = {result["tool_name"]: result for result in server.ask("search", category="issues")["results"]}

    assert results["find_issue"]["deprecated"] == "since 2.0; use `list_issues`; Goes in 3.0."
    assert "deprecated" not in results["list_issues"]


def test_an_answer_within_its_budget_has_the_next_offset(huge: Catalogue, desk: MakeDesk) -> None:
    server = desk(huge, "search-call")
    answer = server.ask("search", query="archive the records", limit=200)

    assert cost(answer) <= huge["discovery"]["page_tokens"]
    assert answer["next_offset"] == len(answer["results"]) < 200


def test_pages_join_to_the_whole_ranking(huge: Catalogue, desk: MakeDesk) -> None:
    server = desk(huge, "search-call")
    seen: list[str] = []
    while True:
        page = server.ask("search", category="area3", limit=40, offset=len(seen))
        seen += names(page)
        if "next_offset" not in page:
            break
        assert page["next_offset"] == len(seen)

    assert seen == [name for name, entry in huge["tools"].items() if entry["category"] == "area3"]


def test_an_offset_past_the_end_is_reported(server: Any) -> None:
    answer = server.ask("search", category="git", offset=50)

    assert answer["results"] == []
    assert "next_offset" not in answer
    assert answer["hint"] == "There are only 4 matches: use a smaller offset."


def test_a_tool_that_a_signature_cannot_express_has_its_schema_and_the_list_is_shortened_for_it(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    catalogue["discovery"]["page_tokens"] = 300
    schema = catalogue["tools"]["git_log"]["tool"]["inputSchema"]
    schema["properties"] |= {f"label_{number}": {"anyOf": [{"type": "string"}]} for number in range(6)}
    server = desk(catalogue, "search-call")

    answer = server.ask("search", category="git")
    assert names(answer)[0] == "git_log"
    assert answer["results"][0]["input_schema"] == schema
    assert all("input_schema" not in result for result in answer["results"][1:])
    assert cost(answer) <= 300

    schema["properties"] |= {f"name_{number}": {"type": "string"} for number in range(80)}
    assert names(server.ask("search", category="git")) == ["git_log"]


def test_a_hit_by_similar_spelling_is_marked(server: Any) -> None:
    answer = server.ask("search", query="comit the staged changes")

    reasons = {hit.name: hit.reason for hit in server.style.index.search("comit the staged changes")}
    marked = {result["tool_name"]: result.get("match") for result in answer["results"]}
    assert marked == {name: "spelling" if reasons[name] == "spelling" else None for name in marked}
    [found] = server.ask("search", query="brnach", limit=1)["results"]
    assert (found["tool_name"], found["match"]) == ("git_branch", "spelling")


def test_arguments_as_json_text_pass_the_same_boundary(server: Any) -> None:
    message = server.refusal("call_read", tool_name="git_log", args='{"limit": 1e999, "path": ["\\ud800"]}')

    assert message.splitlines() == [
        "Argument 'args.limit' must be a finite number; got inf",
        (
            r"Argument 'args.path[0]' contains the unpaired surrogate `\ud800` at character 1; "
            r"send the complete pair, such as `\ud83d\ude00`, or remove it"
        ),
    ]


def test_weak_hits_of_a_small_catalogue_are_called_so(server: Any) -> None:
    answer = server.ask("search", query="commit", limit=12)
    [matches] = re.findall(
        r"Only the first (\d+) match; this server has 12 tools, so the others follow", answer["hint"]
    )
    assert len(answer["results"]) == 12
    assert 1 <= int(matches) < 12
    assert "the others follow" not in server.ask("search", query="commit", limit=2)["hint"]
    assert len(server.ask("search", query="commit", category="git")["results"]) < 4


def test_a_literal_hit_comes_first_with_others_after_it(server: Any) -> None:
    answer = server.ask("search", query="ith GP")

    assert names(answer)[0] == "git_commit"
    assert len(names(answer)) > 1


def test_a_description_is_whole_for_a_tool_that_is_looked_up_by_its_name(server: Any) -> None:
    [named] = server.ask("search", query="read_file", limit=1)["results"]
    [found] = server.ask("search", query="look at the first lines of a text file", limit=1)["results"]

    assert named["description"] == "Read a text file, whole or in part. Give head or tail for large files."
    assert (found["tool_name"], found["description"]) == ("read_file", "Read a text file, whole or in part")


def test_a_search_hint_explains_how_to_get_an_omitted_description(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["tools"]["git_log"]["tool"]["description"] = "Modes, mutually exclusive. " * 10
    server = desk(catalogue, "search-call")
    said = "Search a tool_name for details."

    assert said in server.ask("search", category="git", limit=1)["hint"]
    assert said not in server.ask("search", category="git", offset=1, limit=1)["hint"]
    answer = server.ask("search", query="git_log", limit=1)
    assert answer["results"][0]["description"] == catalogue["tools"]["git_log"]["tool"]["description"]
    assert said not in answer["hint"]


def test_the_search_tool_describes_the_tool_count_and_the_categories(server: Any) -> None:
    description = server.style.listed()[0]["description"]

    assert description.endswith("12 tools: files, git, issues, messages")


def test_many_categories_are_counted_rather_than_named(huge: Catalogue, desk: MakeDesk) -> None:
    description = desk(huge, "search-call").style.listed()[0]["description"]

    assert description.endswith("1000 tools: area0, area1, area2, area3, area4 and 7 more")


def test_a_server_without_tools_reports_that_none_are_served(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["tools"] = {}
    server = desk(catalogue, "search-call")

    assert server.style.listed()[0]["description"].endswith("No tools are served")
    assert server.refusal("call", tool_name="x") == "Unknown tool `x`. No tools are served."
    assert server.ask("search")["summary"] == []


def test_default_surface_costs_at_most_200_tokens(catalogue: Catalogue, desk: MakeDesk) -> None:
    listed = desk(catalogue, "search-call").style.listed()

    assert cost(read_by_models(listed)) <= 200


def test_surface_with_a_pinned_tool_costs_at_most_250_tokens(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["pinned"] = ["send_email"]

    assert cost(read_by_models(desk(catalogue, "search-call").style.listed())) <= 250


@pytest.mark.parametrize("style", ["search-call", "list-describe", "discover-schema"])
def test_meta_tools_have_portable_schemas_and_the_hints_that_clients_need(
    catalogue: Catalogue, desk: MakeDesk, style: str
) -> None:
    for tool in desk(catalogue, style).style.listed():
        schema = tool["inputSchema"]
        assert schema.keys() <= {"type", "properties", "required"}
        assert all(part["type"] in ("string", "integer", "boolean", "object") for part in schema["properties"].values())
        only_reads = tool["annotations"].get("readOnlyHint")
        assert tool["annotations"].keys() == {"readOnlyHint" if only_reads else "destructiveHint", "openWorldHint"}


RUNNERS = pytest.mark.parametrize(
    ("style", "runner"), [("search-call", "call"), ("list-describe", "call_tool"), ("discover-schema", "call_tool")]
)


def hints_of(catalogue: Catalogue, desk: MakeDesk, style: str, runner: str) -> list[bool]:
    """Give whether the tool that runs others reads only, destroys, is idempotent and reaches out."""
    (hints,) = (tool["annotations"] for tool in desk(catalogue, style).style.listed() if tool["name"] == runner)
    # A hint that is left out follows from `readOnlyHint`.
    only_reads = hints.get("readOnlyHint", False)
    left_out = {"readOnlyHint": False, "destructiveHint": not only_reads, "idempotentHint": only_reads}
    return [(left_out | hints)[f"{name}Hint"] for name in ("readOnly", "destructive", "idempotent", "openWorld")]


@RUNNERS
@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, [True, False, True, False]),
        ({"readOnlyHint": False}, [False, False, True, False]),
        ({"readOnlyHint": False, "destructiveHint": True}, [False, True, True, False]),
        ({"readOnlyHint": False, "idempotentHint": False}, [False, False, False, False]),
        ({"openWorldHint": True}, [True, False, True, True]),
        (None, [False, True, False, True]),
    ],
)
def test_annotations_of_a_runner_cover_those_of_its_tools(
    catalogue: Catalogue,
    desk: MakeDesk,
    *,
    style: str,
    runner: str,
    annotations: dict[str, bool] | None,
    expected: list[bool],
) -> None:
    tools = {name: catalogue["tools"][name] for name in ("read_file", "git_log", "git_diff")}
    catalogue["tools"] = tools
    if annotations is None:
        del tools["git_diff"]["tool"]["annotations"]
    else:
        tools["git_diff"]["tool"]["annotations"] |= annotations

    assert hints_of(catalogue, desk, style, runner) == expected


@RUNNERS
def test_tools_that_are_not_served_do_not_count_for_the_marks(
    catalogue: Catalogue, desk: MakeDesk, style: str, runner: str
) -> None:
    catalogue["tools"] = {name: catalogue["tools"][name] for name in ("read_file", "purge_mailbox", "fax")}

    assert hints_of(catalogue, desk, style, runner) == [True, False, True, False]


def test_call_is_marked_by_the_worst_of_its_tools(catalogue: Catalogue, desk: MakeDesk) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in desk(catalogue, "search-call").style.listed()}
    offline = desk(catalogue, "search-call", toolsets=("files",)).style.listed()

    assert hints["search"]["readOnlyHint"]
    assert not hints["search"]["openWorldHint"]
    assert hints["call"] == {"destructiveHint": True, "openWorldHint": True}
    assert hints["call_read"]["readOnlyHint"]
    assert hints["call_read"]["openWorldHint"]
    assert [tool["annotations"]["openWorldHint"] for tool in offline] == [False, False, False]
