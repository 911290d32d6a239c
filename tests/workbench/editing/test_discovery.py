"""The editing tools as a model finds them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from toolmason_runtime.shared.selection import Selection

from workbench_server.catalogue import CATALOGUE

MODES = ("BATCH", "SINGLE", "APPEND", "CREATE", "OVERWRITE", "FILES")
TOOL = CATALOGUE["tools"]["propose_and_review"]


def test_the_description_lists_the_modes_first_and_batch_before_single() -> None:
    description = TOOL["tool"]["description"]

    positions = [description.index(f"\n- {mode}") for mode in MODES]
    assert positions == sorted(positions)
    assert max(positions) < description.index("`user_action`")
    assert "of which you use one" in description[: positions[0]]


@pytest.mark.parametrize("query", ["append an entry to the log file", "edit a file", "replace text in a source file"])
def test_a_search_finds_it_first_and_a_search_for_its_name_has_a_schema_that_names_every_mode(
    query: str, room: Any
) -> None:
    found, named = (first_result(room, text) for text in (query, "propose_and_review"))

    assert found["tool_name"] == named["tool_name"] == "propose_and_review"
    assert named["description"] == TOOL["tool"]["description"].replace("{tool:commit_review}", "commit_review")
    schema = json.dumps(named["input_schema"])
    modes = ("BATCH", "SINGLE", "`APPEND_TO_FILE` adds", "`OVERWRITE_FILE` replaces", "empty creates a new file")
    assert all(mode in schema for mode in modes)


def first_result(room: Any, query: str) -> dict[str, Any]:
    answer = room.request("tools/call", {"name": "search", "arguments": {"query": query}}, Selection("search-call"))
    result: dict[str, Any] = json.loads(answer["content"][0]["text"])["results"][0]
    return result


def test_every_parameter_of_a_mode_names_it() -> None:
    properties = TOOL["tool"]["inputSchema"]["properties"]

    assert properties["edits"]["description"].startswith("BATCH")
    assert properties["files"]["description"].startswith("FILES")
    assert all(
        value in properties["match_text"]["description"] for value in ("SINGLE", "APPEND_TO_FILE", "OVERWRITE_FILE")
    )
    assert TOOL["tool"]["inputSchema"].get("required", []) == []
    assert {example["description"].split(":")[0] for example in TOOL["examples"]} == set(MODES)


def test_the_reviewing_tools_are_in_the_core_tier_and_only_the_status_reads() -> None:
    tools = {name: CATALOGUE["tools"][name] for name in ("propose_and_review", "commit_review", "review_status")}

    assert {entry["tier"] for entry in tools.values()} == {"core"}
    assert [name for name, entry in tools.items() if entry["tool"]["annotations"]["readOnlyHint"]] == ["review_status"]
