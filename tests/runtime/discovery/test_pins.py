"""Pinned tools: those of all styles, those of one style, and aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue

MakeDesk = Callable[..., Any]
METAS = {
    "search-call": ["search", "call_read", "call"],
    "list-describe": ["list_available_tools", "get_tool_description", "call_tool"],
    "discover-schema": ["discover_tools", "get_tool_schema", "call_tool"],
}


@pytest.fixture
def pinning(catalogue: Catalogue) -> Catalogue:
    catalogue["discovery"]["pinned"] = ["git_log"]
    catalogue["discovery"]["pins"] = {"discover-schema": ["findFiles", "read_file"], "list-describe": []}
    return catalogue


@pytest.mark.parametrize(
    ("style", "pinned"),
    [("search-call", ["git_log"]), ("list-describe", []), ("discover-schema", ["findFiles", "read_file"])],
)
def test_a_style_lists_its_own_pins_or_those_of_all_styles(
    pinning: Catalogue, desk: MakeDesk, style: str, pinned: list[str]
) -> None:
    listed = desk(pinning, style).listed()

    assert sorted(listed[:3]) == sorted(METAS[style])
    assert listed[3:] == pinned


@pytest.mark.parametrize("style", METAS)
def test_a_pinned_alias_is_a_tool_with_the_schema_of_its_own_and_is_called_by_that_name(
    catalogue: Catalogue, desk: MakeDesk, style: str
) -> None:
    catalogue["discovery"]["pinned"] = ["findFiles"]
    server = desk(catalogue, style)
    tool = catalogue["tools"]["search_files"]["tool"]

    *_, pinned = server.style.listed()
    assert pinned["name"] == "findFiles"
    assert pinned["inputSchema"] == tool["inputSchema"]
    assert pinned["_meta"] == {"anthropic/alwaysLoad": True}
    assert server.style.allows_direct_call("findFiles")
    assert server.style.allows_direct_call("search_files")
    assert server.style.call_of(catalogue["tools"]["search_files"], {"pattern": "*"}) == ("findFiles", {"pattern": "*"})
    assert tool["name"] == "search_files"


@pytest.mark.parametrize("name", ["fax", "Fax"])
def test_a_pinned_tool_that_is_not_served_is_not_listed(catalogue: Catalogue, desk: MakeDesk, name: str) -> None:
    catalogue["tools"]["fax"]["aliases"] = ["Fax"]
    catalogue["discovery"]["pins"] = {"discover-schema": [name]}

    assert desk(catalogue, "discover-schema").listed() == METAS["discover-schema"]


def test_discover_schema_lists_a_pinned_tool_with_its_summary_because_get_tool_schema_returns_the_rest(
    catalogue: Catalogue, desk: MakeDesk
) -> None:
    catalogue["discovery"]["pinned"] = ["search_files"]
    entry = catalogue["tools"]["search_files"]
    entry["tool"] |= {"description": "A long text.", "outputSchema": {"type": "object"}}

    *_, complete = desk(catalogue, "list-describe").style.listed()
    *_, brief = desk(catalogue, "discover-schema").style.listed()

    assert complete["description"] == "A long text."
    assert complete["outputSchema"] == {"type": "object"}
    assert brief["description"] == entry["summary"]
    assert "outputSchema" not in brief
    assert brief["inputSchema"] == complete["inputSchema"]
