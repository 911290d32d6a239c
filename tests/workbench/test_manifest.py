from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

from workbench_server.catalogue import CATALOGUE
from workbench_server.server import build_server

READING = {
    "analyze_work_log",
    "directory_tree",
    "get_file_info",
    "grep_content",
    "list_allowed_directories",
    "list_directory_with_sizes",
    "query_json",
    "query_yaml",
    "query_toml",
    "read_files",
    "read_media_file",
    "search_files",
    "validate_paths",
}


def test_the_reading_half_of_the_file_tools_is_there() -> None:
    assert CATALOGUE["tools"].keys() >= READING


@pytest.mark.parametrize("entry", [CATALOGUE["tools"][name] for name in sorted(READING)], ids=sorted(READING))
def test_a_reading_tool_has_read_only_hints_and_use_cases(entry: ToolEntry) -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert hints.items() <= entry["tool"]["annotations"].items()
    assert entry["tier"] == "core"
    assert len(entry["use_cases"]) >= 3
    assert entry["examples"]
    assert entry["related"]


def test_the_name_of_the_specification_still_calls_the_work_log_tool() -> None:
    assert CATALOGUE["tools"]["analyze_work_log"].get("aliases") == ["analyze_gsd_work_log"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("is_all", [False, True], ids=["meta-tools", "every tool"])
def test_both_revisions_know_each_list(room: Any, style: str, is_all: bool) -> None:
    assert room.request("tools/list", {}, Selection(style, all_tools=is_all))["tools"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("variable", "prefix"),
    [(None, "workbench-"), ("gw-", "gw-"), ("", ""), ("../", "workbench-")],
    ids=["unset", "another", "empty", "refused"],
)
async def test_the_owner_sets_the_prefix_of_commands(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, prefix: str
) -> None:
    monkeypatch.delenv("GEMINI_COMMAND_PREFIX", raising=False)
    if variable is not None:
        monkeypatch.setenv("GEMINI_COMMAND_PREFIX", variable)
    async with Client(build_server()) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]

    assert names == [f"{prefix}{name}" for name in ("explore", "find", "summarize-log")]


def test_the_style_of_the_specification_lists_the_general_tool(room: Any) -> None:
    listed = [tool["name"] for tool in room.request("tools/list", {}, Selection("discover-schema"))["tools"]]

    assert listed[:4] == ["discover_tools", "get_tool_schema", "call_tool", "ask_gemini"]
