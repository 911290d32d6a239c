from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_server.catalogue import CATALOGUE as WORKBENCH

MakeDesk = Callable[..., Any]


@pytest.fixture
def server(catalogue: Catalogue, desk: MakeDesk) -> Any:
    return desk(catalogue, "discover-schema")


def by_name(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in answer["tools"]}


def test_feature_3_answer_repeats_the_question_and_counts_the_tools(server: Any) -> None:
    answer = server.ask("discover_tools", category="git")

    assert {key: answer[key] for key in ("query", "category", "detail_level", "tool_count")} == {
        "query": None,
        "category": "git",
        "detail_level": "with_description",
        "tool_count": 4,
    }
    assert list(answer)[-1] == "tools"


@pytest.mark.parametrize(
    ("query", "tool"),
    [("save my work", "git_commit"), ("bug", "create_issue"), ("tree", "directory_tree"), ("compare", "git_diff")],
)
def test_feature_3_a_query_searches_names_descriptions_keywords_and_use_cases(
    server: Any, query: str, tool: str
) -> None:
    assert server.ask("discover_tools", query=query)["tools"][0]["name"] == tool


def test_feature_3_no_filter_gives_all_tools(server: Any) -> None:
    assert server.ask("discover_tools", detail_level="name_only")["tools"] == list(server.style.index.tools)


def test_feature_3_query_and_category_must_both_hold(server: Any) -> None:
    answer = server.ask("discover_tools", query="list", category="issues")

    assert set(by_name(answer)) <= {"create_issue", "list_issues", "find_issue"}
    assert answer["tools"][0]["name"] == "list_issues"


def test_feature_3_name_only_gives_names(server: Any) -> None:
    answer = server.ask("discover_tools", category="git", detail_level="name_only")

    assert answer["tools"] == ["git_log", "git_diff", "git_commit", "git_branch"]


def test_feature_3_with_description_gives_three_fields(server: Any) -> None:
    assert by_name(server.ask("discover_tools", category="git"))["git_commit"] == {
        "name": "git_commit",
        "description": "Record staged changes as a commit",
        "complexity": "moderate",
    }


def test_feature_3_with_use_cases_adds_two(server: Any) -> None:
    answer = server.ask("discover_tools", category="git", detail_level="with_use_cases")

    assert by_name(answer)["git_commit"] == {
        "name": "git_commit",
        "description": "Record staged changes as a commit",
        "complexity": "moderate",
        "use_cases": ["Save my work in version control"],
        "requires_codebase": False,
    }


def test_feature_3_full_gives_all_metadata(server: Any) -> None:
    answer = server.ask("discover_tools", category="files", detail_level="full")

    assert by_name(answer)["read_file"] == {
        "name": "read_file",
        "category": "files",
        "short_description": "Read a text file, whole or in part",
        "keywords": ["open", "cat", "codebase"],
        "use_cases": ["Look at the first lines of a log"],
        "complexity": "simple",
        "requires_codebase": False,
    }


def test_keywords_and_tags_do_not_set_requires_codebase(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["categories"]["git"]["tags"].append("codebase")
    catalogue["tools"]["git_diff"]["keywords"].append("codebase")
    catalogue["tools"]["git_commit"]["requires_codebase"] = True
    answer = desk(catalogue, "discover-schema").ask("discover_tools", category="git", detail_level="full")

    assert [tool["name"] for tool in answer["tools"] if tool["requires_codebase"]] == ["git_commit"]


def test_requires_codebase_equals_the_registry_of_the_specification() -> None:
    registry = {
        "query_codebase": True,
        "find_code_by_intent": True,
        "trace_feature": True,
        "list_error_patterns": True,
        "validate_against_codebase": True,
        "check_consistency": True,
        "analyze_codebase": True,
        "ask_gemini": False,
    }

    assert {name: WORKBENCH["tools"][name].get("requires_codebase", False) for name in registry} == registry


def test_feature_3_an_invalid_category_is_answered_with_the_valid_ones(server: Any) -> None:
    assert json.loads(server.refusal("discover_tools", category="nope")) == {
        "error": "Invalid category: nope",
        "valid_categories": ["files", "git", "issues", "messages"],
    }


def test_feature_3_an_invalid_detail_level_is_answered_with_the_valid_ones(server: Any) -> None:
    assert json.loads(server.refusal("discover_tools", detail_level="everything")) == {
        "error": "Invalid detail_level: everything",
        "valid_levels": ["name_only", "with_description", "with_use_cases", "full"],
    }


def test_nothing_found_is_an_empty_list_with_the_categories(server: Any) -> None:
    answer = server.ask("discover_tools", query="zzzqqq")

    assert (answer["tools"], answer["tool_count"]) == ([], 0)
    assert answer["valid_categories"] == ["files", "git", "issues", "messages"]
    assert "commit" in server.ask("discover_tools", query="zzz_commmit_xyz")["nearest_words"]


def test_an_answer_counts_the_matches_that_a_category_leaves_out(server: Any) -> None:
    answer = server.ask("discover_tools", query="branch", category="messages")

    assert answer["tools"] == []
    assert answer["note"] == "Only category messages was searched; matches left out: git 2."
    assert "note" not in server.ask("discover_tools", category="git")


def test_a_deprecated_tool_is_marked(server: Any) -> None:
    assert "list_issues" in by_name(server.ask("discover_tools", category="issues"))["find_issue"]["deprecated"]
    assert "deprecated" in server.ask("get_tool_schema", tool_name="find_issue")


def test_long_answers_come_in_pages(huge: Catalogue, desk: MakeDesk) -> None:
    server = desk(huge, "discover-schema")
    first = server.ask("discover_tools", detail_level="name_only")
    second = server.ask("discover_tools", detail_level="name_only", offset=first["next_offset"])

    for page in (first, second):
        assert page["tool_count"] == len(page["tools"]) < page["total"] == 1000
    assert first["tools"] + second["tools"] == list(huge["tools"])[: second["next_offset"]]


def test_feature_3_4_get_tool_schema_gives_the_real_parameter_schema(catalogue: Catalogue, server: Any) -> None:
    tool = catalogue["tools"]["create_issue"]["tool"]

    assert server.ask("get_tool_schema", tool_name="create_issue") == {
        "name": "create_issue",
        "description": tool["description"],
        "inputSchema": tool["inputSchema"],
    }
    assert server.ask("get_tool_schema", tool_name="findFiles")["name"] == "search_files"


def test_feature_3_4_an_unknown_tool_is_answered_as_json_with_the_nearest_names_first(server: Any) -> None:
    answer = json.loads(server.refusal("get_tool_schema", tool_name=" creat_isue "))

    assert list(answer) == ["error", "available_tools"]
    assert answer["error"] == "Tool not found: creat_isue"
    assert answer["available_tools"][0] == "create_issue"
    assert set(answer["available_tools"]) == set(server.style.index.tools)


@pytest.mark.parametrize("name", ["fax", " fax ", "telefax"])
def test_feature_3_4_a_disabled_tool_is_answered_as_json(catalogue: Catalogue, desk: MakeDesk, name: str) -> None:
    catalogue["tools"]["fax"]["aliases"] = ["telefax"]
    message = desk(catalogue, "discover-schema").refusal("get_tool_schema", tool_name=name)

    assert json.loads(message) == {"error": "Tool fax is disabled on this server"}


def test_feature_3_4_a_disabled_tool_that_would_not_be_served_anyway_is_unknown(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    message = desk(catalogue, "discover-schema", toolsets=("git",)).refusal("get_tool_schema", tool_name="fax")

    assert json.loads(message)["error"] == "Tool not found: fax"


def test_the_names_in_the_answer_to_an_unknown_tool_are_bounded(huge: Catalogue, desk: MakeDesk) -> None:
    name = next(iter(huge["tools"]))
    message = desk(huge, "discover-schema").refusal("get_tool_schema", tool_name=f"{name}x")

    assert json.loads(message)["available_tools"][0] == name
    assert estimate_tokens(message) <= 350


def test_call_tool_names_the_tools_nearest_to_an_unknown_one(server: Any) -> None:
    message = server.refusal("call_tool", tool_name="creat_isue")

    assert message.startswith("Unknown tool `creat_isue`. Nearest names: `create_issue`, ")
    assert message.count("`") == 8
    assert message == server.style.unknown_tool_text("creat_isue")


def test_a_misnamed_tool_name_argument_is_taken_with_a_note(server: Any) -> None:
    result = server.call("get_tool_schema", {"name": "git_log"})

    assert result["content"][-1]["text"] == "Note: argument 'name' was taken as 'tool_name'"


def test_feature_3_7_hidden_tools_stay_directly_callable(server: Any) -> None:
    assert all(server.style.allows_direct_call(name) for name in server.style.index.tools)
    assert server.style.allows_direct_call("fax"), "a disabled tool says itself that it is"
    assert not server.style.allows_direct_call("purge_mailbox")


def test_a_workflow_of_discovery_schema_and_call(server: Any) -> None:
    name = server.ask("discover_tools", query="open a ticket")["tools"][0]["name"]
    schema = server.ask("get_tool_schema", tool_name=name)["inputSchema"]
    server.call("call_tool", {"tool_name": name, "arguments": dict.fromkeys(schema["required"], "Login fails")})

    assert server.ran == [("create_issue", {"title": "Login fails"})]


def test_the_schema_names_the_categories_and_levels(server: Any) -> None:
    properties = server.style.listed()[0]["inputSchema"]["properties"]

    assert properties["category"] == {"type": "string", "enum": ["files", "git", "issues", "messages"]}
    assert properties["detail_level"]["default"] == "with_description"
    assert len(properties["detail_level"]["enum"]) == 4


def test_feature_3_6_initial_exposure_stays_below_500_tokens(huge: Catalogue, desk: MakeDesk) -> None:
    for category in list(huge["categories"]):
        assert len(category) < 8
    listed = desk(huge, "discover-schema").style.listed()

    assert estimate_tokens(json.dumps(listed, separators=(",", ":"))) <= 500
