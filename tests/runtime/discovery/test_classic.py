from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.discovery import classic as classic_style
from toolmason_runtime.discovery.listing import listed_tool
from toolmason_runtime.shared.catalogue import Catalogue, WireTool

MakeDesk = Callable[..., Any]

CORE = [
    *("read_file", "write_file", "search_files", "directory_tree"),
    *("git_log", "git_diff", "git_commit", "git_branch"),
    *("create_issue", "list_issues", "find_issue", "send_email"),
]
"""The tools that are listed: `fax` is disabled."""


def test_us4_1_classic_lists_all_tools_in_their_short_form(catalogue: Catalogue, desk: MakeDesk) -> None:
    classic = desk(catalogue, "classic", all_tools=True)
    listed = [{key: tool[key] for key in tool if key != "_meta"} for tool in classic.style.listed()]

    assert listed == [listed_tool(entry["tool"]) for name, entry in catalogue["tools"].items() if name != "fax"]


def test_us4_2_fr_012_classic_has_no_meta_tools(catalogue: Catalogue, desk: MakeDesk) -> None:
    classic = desk(catalogue, "classic")

    assert not {"search", "call", "call_read"} & set(classic.listed())
    assert not classic.style.is_meta_tool("search")
    assert classic.refusal("search", query="x").startswith("Unknown tool `search`.")


def test_a_page_of_the_list_has_the_tools_of_the_whole_list_and_makes_no_others(
    catalogue: Catalogue, desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = desk(catalogue, "classic").style.listed()
    whole = [*listed]
    made = []

    def count(tool: WireTool) -> WireTool:
        made.append(tool["name"])
        return listed_tool(tool)

    monkeypatch.setattr(classic_style, "listed_tool", count)
    assert len(listed) == len(whole)
    assert listed[2:4] == whole[2:4]
    assert listed[-1] == whole[-1]
    assert made == [tool["name"] for tool in (*whole[2:4], whole[-1])]


def test_us4_3_fr_014_classic_still_has_the_index(catalogue: Catalogue, desk: MakeDesk) -> None:
    classic = desk(catalogue, "classic")

    assert classic.style.index.search("commit")[0].name == "git_commit"


def test_classic_permits_every_tool_of_the_tier_and_no_other(catalogue: Catalogue, desk: MakeDesk) -> None:
    style = desk(catalogue, "classic").style

    assert style.allows_direct_call("git_log")
    assert style.allows_direct_call("findFiles")
    assert not style.allows_direct_call("purge_mailbox")
    assert style.allows_direct_call("fax"), "a disabled tool says itself that it is"


def test_sc_006_classic_lists_every_tool_of_the_tier_whole_and_in_the_order_of_the_manifest(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    listed = desk(catalogue, "classic").style.listed()

    assert [tool["name"] for tool in listed] == CORE
    (read,) = [tool for tool in listed if tool["name"] == "read_file"]
    assert read == {
        "name": "read_file",
        "description": "Read a text file, whole or in part. Give head or tail for large files.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the root"},
                "head": {"type": "integer", "description": "First N lines"},
                "tail": {"type": "integer", "description": "Last N lines"},
            },
            "required": ["path"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
        "_meta": {"anthropic/searchHint": "open, cat, codebase"},
    }
