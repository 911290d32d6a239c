from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.placeholders import placeholders_of
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_server.catalogue import CATALOGUE as WORKBENCH

MakeDesk = Callable[..., Any]


def cost(value: object) -> int:
    return estimate_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def names(answer: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in answer["tools"]]


@pytest.fixture
def server(catalogue: Catalogue, desk: MakeDesk) -> Any:
    return desk(catalogue, "list-describe")


def test_req_015_1_returns_all_registered_tools(server: Any) -> None:
    answer = server.ask("list_available_tools")

    assert list(answer) == ["tools", "total", "categories"]
    assert answer["tools"][0] == {
        "name": "read_file",
        "summary": "Read a text file, whole or in part",
        "category": "files",
        "enabled": True,
    }
    assert len(answer["tools"]) == answer["total"] == 12
    assert answer["categories"] == ["files", "git", "issues", "messages"]


def test_req_015_1_summaries_have_at_most_80_characters(server: Any) -> None:
    assert max(len(tool["summary"]) for tool in server.ask("list_available_tools")["tools"]) <= 80


def test_req_015_1_category_filtering_works(server: Any) -> None:
    answer = server.ask("list_available_tools", category="issues")

    assert names(answer) == ["create_issue", "list_issues", "find_issue"]
    assert answer["total"] == 3


def test_req_015_1_an_unknown_category_names_the_known_ones(server: Any) -> None:
    message = server.refusal("list_available_tools", category="nope")

    assert message == "Unknown category `nope`. Categories: files, git, issues, messages."


def test_req_015_1_full_listing_of_twelve_tools_costs_at_most_500_tokens(server: Any) -> None:
    assert cost(server.ask("list_available_tools")) <= 500


def test_a_listing_of_twelve_tools_with_summaries_of_two_words_costs_at_most_260_tokens(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    for name, entry in catalogue["tools"].items():
        entry["summary"] = name.replace("_", " ")

    assert cost(desk(catalogue, "list-describe").ask("list_available_tools")) <= 260


def test_disabled_tools_are_listed_when_asked_for(server: Any) -> None:
    assert "fax" not in names(server.ask("list_available_tools"))
    tools = {tool["name"]: tool for tool in server.ask("list_available_tools", include_disabled="true")["tools"]}

    assert tools["fax"]["enabled"] is False
    assert "purge_mailbox" not in tools


def test_a_deprecated_tool_is_marked_in_the_listing(server: Any) -> None:
    marked = [tool["name"] for tool in server.ask("list_available_tools")["tools"] if tool.get("deprecated")]

    assert marked == ["find_issue"]


def test_long_catalogues_come_in_pages_that_join(huge: Catalogue, desk: MakeDesk) -> None:
    server = desk(huge, "list-describe")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = server.ask("list_available_tools", offset=offset)
        assert cost(page) <= 500
        assert page["total"] == 1000
        seen += names(page)
        offset = page.get("next_offset")

    assert seen == list(huge["tools"])


def test_req_015_2_returns_the_complete_parameter_schema(server: Any) -> None:
    answer = server.ask("get_tool_description", tool_name="create_issue")

    assert list(answer) == ["name", "description", "parameters", "examples", "related_tools"]
    assert answer["parameters"] == {
        "title": {"type": "string", "description": "One line", "required": True},
        "labels": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Labels to set",
            "required": False,
        },
        "priority": {
            "type": "string",
            "description": "How urgent it is",
            "enum": ["low", "normal", "high"],
            "required": False,
        },
    }


def test_req_015_2_nested_parameters_mark_required_members(catalogue: Catalogue, desk: MakeDesk) -> None:
    item = {"type": "object", "properties": {"path": {"type": "string"}, "head": {"type": "integer"}}}
    catalogue["tools"]["read_file"]["tool"]["inputSchema"]["properties"]["more"] = {
        "type": "array",
        "items": item | {"required": ["path"]},
    }
    answer = desk(catalogue, "list-describe").ask("get_tool_description", tool_name="read_file")

    assert answer["parameters"]["more"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "required": True},
                "head": {"type": "integer", "required": False},
            },
        },
        "required": False,
    }


def test_req_015_2_examples_are_those_of_the_manifest(server: Any) -> None:
    answer = server.ask("get_tool_description", tool_name="git_log")

    assert answer["examples"] == [
        {
            "description": "List commits of a branch, newest first, the usual way",
            "invocation": "git_log(branch='main', limit=5)",
        }
    ]
    assert "examples" not in server.ask("get_tool_description", tool_name="git_log", include_examples=False)


def test_req_015_2_related_tools_are_named(server: Any) -> None:
    assert server.ask("get_tool_description", tool_name="git_log")["related_tools"] == ["git_diff"]


@pytest.mark.parametrize("name", ["git_lgo", "purge_mailbox"])
def test_req_015_2_unknown_tool_name_returns_helpful_error(server: Any, name: str) -> None:
    message = server.refusal("get_tool_description", tool_name=name)

    assert message.startswith(f"Unknown tool `{name}`. Nearest names: ")
    assert message.count("`") == 8
    assert message == server.refusal("call_tool", tool_name=name) == server.style.unknown_tool_text(name)


def test_descriptions_cost_at_most_200_tokens_as_a_rule(server: Any) -> None:
    costs = [cost(server.ask("get_tool_description", tool_name=name)) for name in server.style.index.tools]

    assert max(costs) <= 200


def test_a_deprecated_tool_names_its_replacement(server: Any) -> None:
    answer = server.ask("get_tool_description", tool_name="find_issue")

    assert answer["deprecated"] == "since 2.0; use `list_issues`; Goes in 3.0."


def test_examples_of_a_long_description_are_trimmed_first(catalogue: Catalogue, desk: MakeDesk) -> None:
    entry = catalogue["tools"]["git_log"]
    entry["examples"] *= 30
    answer = desk(catalogue, "list-describe").ask("get_tool_description", tool_name="git_log")

    assert cost(answer) <= 400
    assert answer["trimmed"] == ["examples"]
    assert 0 < len(answer["examples"]) < 30
    assert answer["description"] == entry["tool"]["description"]


def test_long_texts_are_cut_after_examples_and_related_tools_and_whole_on_request(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    words = "Some words. " * 300
    tool = catalogue["tools"]["git_log"]["tool"]
    tool["description"] = words
    tool["inputSchema"]["properties"]["branch"]["description"] = words
    server = desk(catalogue, "list-describe")
    answer = server.ask("get_tool_description", tool_name="git_log")

    assert cost(answer) <= 400
    assert answer["trimmed"] == ["description", "parameters", "examples", "related_tools"]
    assert words.startswith(answer["description"].removesuffix("\u2026"))
    assert len(answer["description"]) > 400
    assert answer["parameters"]["branch"]["type"] == "string"
    full = server.ask("get_tool_description", tool_name="git_log", full=True)
    assert (full["description"], full["parameters"]["branch"]["description"]) == (words, words)


def test_a_parameter_without_a_schema_may_be_anything(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["tools"]["git_log"]["tool"]["inputSchema"]["properties"]["extra"] = True
    answer = desk(catalogue, "list-describe").ask("get_tool_description", tool_name="git_log")

    assert answer["parameters"]["extra"] == {"type": "any", "required": False}


@pytest.mark.parametrize("count", [80, 2000])
def test_of_too_many_parameters_the_names_remain_required_ones_first(
    catalogue: Catalogue, desk: MakeDesk, count: int
) -> None:
    properties = {f"option_{number}": {"type": "string"} for number in range(count)}
    catalogue["tools"]["git_diff"]["tool"]["inputSchema"] = {
        "type": "object",
        "properties": properties,
        "required": ["option_60"],
    }
    server = desk(catalogue, "list-describe")
    answer = server.ask("get_tool_description", tool_name="git_diff")

    assert cost(answer) <= 400
    assert answer["more_parameters"][:3] == ["option_60", "option_0", "option_1"]
    assert answer["trimmed"] == ["parameters", "examples"]
    full = server.ask("get_tool_description", tool_name="git_diff", full=True)
    assert list(full["parameters"]) == list(properties)


def test_texts_inside_parameters_go_before_the_last_example(catalogue: Catalogue, desk: MakeDesk) -> None:
    words = "Many words about this. " * 20
    inner = {f"inner_{number}": {"type": "integer", "minimum": 1, "description": words} for number in range(6)}
    outer = {"type": "array", "description": "Outer", "items": {"type": "object", "properties": inner}}
    catalogue["tools"]["git_log"]["tool"]["inputSchema"]["properties"] = {"description": outer}
    answer = desk(catalogue, "list-describe").ask("get_tool_description", tool_name="git_log")

    assert cost(answer) <= 400
    assert answer["trimmed"] == ["parameters"]
    assert answer["parameters"]["description"]["description"] == "Outer"
    assert answer["parameters"]["description"]["items"]["properties"] == {
        name: {"type": "integer", "minimum": 1, "required": False} for name in inner
    }


def deep(count: int) -> dict[str, Any]:
    """Return a list of objects with `count` members that have rules and long texts."""
    words = "Many words about this. " * 20
    inner = {f"inner_{number}": {"type": "integer", "minimum": 1, "description": words} for number in range(count)}
    return {"type": "array", "description": "Outer", "items": {"type": "object", "properties": inner}}


@pytest.mark.parametrize(
    ("members", "item"),
    [
        (20, {"type": "integer", "required": False}),
        (400, None),
    ],
    ids=["rules go", "members go"],
)
def test_members_of_huge_parameters_are_trimmed_last(
    catalogue: Catalogue, desk: MakeDesk, members: int, item: dict[str, Any] | None
) -> None:
    one_of = {"anyOf": [{"type": "string", "description": "Stays", "minLength": 1}, {"type": "null"}]}
    schema = catalogue["tools"]["git_log"]["tool"]["inputSchema"]
    schema["properties"] = {"list": deep(members), "other": one_of, "top": {"type": "integer", "minimum": 3}}
    answer = desk(catalogue, "list-describe").ask("get_tool_description", tool_name="git_log")

    assert cost(answer) <= 400
    assert answer["trimmed"] == ["parameters", "examples", "related_tools"]
    assert answer["parameters"]["list"].get("items", {}).get("properties", {}).get("inner_0") == item
    assert answer["parameters"]["list"]["description"] == "Outer"
    assert answer["parameters"]["top"] == {"type": "integer", "minimum": 3, "required": False}
    assert answer["parameters"]["other"]["anyOf"] == one_of["anyOf"], "the text of a parameter that may be null"


def test_req_015_4_all_tools_remain_directly_callable(server: Any) -> None:
    assert all(server.style.allows_direct_call(name) for name in server.style.index.tools)
    assert server.style.allows_direct_call("findFiles")
    assert server.style.allows_direct_call("fax"), "a disabled tool says itself that it is"


def test_a_disabled_tool_is_described_and_marked_as_disabled(server: Any) -> None:
    described = server.ask("get_tool_description", tool_name="fax")

    assert list(described)[:3] == ["name", "enabled", "description"]
    assert described["enabled"] is False
    assert "enabled" not in server.ask("get_tool_description", tool_name="git_log")


def test_disabled_tools_are_listed_with_a_toolset_written_with_spaces(catalogue: Catalogue, desk: MakeDesk) -> None:
    server = desk(catalogue, "list-describe", toolsets=(" messages ",))

    assert names(server.ask("list_available_tools", include_disabled=True)) == ["send_email", "fax"]


def skeleton(part: Any) -> Any:
    """Leave of a parameter its names, types and what is required."""
    if not isinstance(part, dict):
        return part
    kept = {key: part[key] for key in ("type", "required") if key in part}
    if "properties" in part:
        kept["properties"] = {name: skeleton(each) for name, each in part["properties"].items()}
    if "items" in part:
        kept["items"] = skeleton(part["items"])
    return kept


@pytest.mark.parametrize("name", WORKBENCH["tools"])
def test_req_015_2_each_tool_of_the_workbench_keeps_its_parameters_within_400_tokens(desk: MakeDesk, name: str) -> None:
    server = desk(WORKBENCH, "list-describe", all_tools=True)
    answer = server.ask("get_tool_description", tool_name=name)
    full = server.ask("get_tool_description", tool_name=name, full=True)

    described = placeholders_of(WORKBENCH, "list-describe").fill_entry(WORKBENCH["tools"][name])
    assert cost(answer) <= 400
    assert full["description"] == described["tool"]["description"]
    assert full["description"].startswith(answer["description"].removesuffix("\u2026"))
    top = {"properties": answer["parameters"]}, {"properties": full["parameters"]}
    assert without_members(top[0]) == without_members(top[1])
    assert full["parameters"].keys() == WORKBENCH["tools"][name]["tool"]["inputSchema"]["properties"].keys()
    assert "trimmed" not in full
    assert ("note" in answer) == (answer != full)


def without_members(part: dict[str, Any]) -> dict[str, Any]:
    """Leave of each parameter its type and whether it is required."""
    members: dict[str, dict[str, Any]] = skeleton(part)["properties"]
    return {name: {key: member[key] for key in ("type", "required")} for name, member in members.items()}


def test_log_001_read_files_describes_its_files_as_objects(desk: MakeDesk) -> None:
    answer = desk(WORKBENCH, "list-describe").ask("get_tool_description", tool_name="read_files")

    assert "objects with a path, not bare strings" in answer["parameters"]["files"]["description"]


def test_req_015_2_the_whole_of_a_description_that_was_shortened_is_one_call_away(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    entry = catalogue["tools"]["git_log"]
    entry["examples"] *= 30
    server = desk(catalogue, "list-describe")

    assert "full=true" in server.ask("get_tool_description", tool_name="git_log")["note"]
    full = server.ask("get_tool_description", tool_name="git_log", full=True)
    assert len(full["examples"]) == 30
    assert not full.keys() & {"trimmed", "note"}


def test_call_tool_runs_a_tool(server: Any) -> None:
    result = server.call("call_tool", {"tool_name": "git_log", "arguments": '{"limit": 1}'})

    assert result == {"content": [{"type": "text", "text": "git_log ran"}], "isError": False}
    assert server.ran == [("git_log", {"limit": 1})]
    assert "Nearest names" in server.refusal("call_tool", tool_name="nope")


@pytest.mark.parametrize("sent_as", ["args", "params", "parameters", "input"])
def test_misnamed_arguments_are_taken_with_a_note(server: Any, sent_as: str) -> None:
    result = server.call("call_tool", {"tool_name": "git_log", sent_as: {"limit": 1}})

    assert result["content"][0]["text"] == f"Note: argument '{sent_as}' was taken as 'arguments'"
    assert server.ran == [("git_log", {"limit": 1})]


def test_three_meta_tools_and_the_pinned_are_listed(catalogue: Catalogue, desk: MakeDesk) -> None:
    catalogue["discovery"]["pinned"] = ["git_log"]

    assert desk(catalogue, "list-describe").listed() == [
        "list_available_tools",
        "get_tool_description",
        "call_tool",
        "git_log",
    ]


def test_total_reduction_is_over_40_percent(catalogue: Catalogue, desk: MakeDesk) -> None:
    full = cost([*desk(catalogue, "classic").style.listed()])

    assert cost(desk(catalogue, "list-describe").style.listed()) < 0.6 * full
