"""`_meta` of listed tools, as a client gets it over stdio in both protocol eras and in every style."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from oracle import ERAS
from stdio_peer import talking

SAMPLE = (sys.executable, "-m", "sample_server")
META_TOOLS = {
    "search-call": {"search", "call"},
    "list-describe": {"list_available_tools", "get_tool_description", "call_tool"},
    "discover-schema": {"discover_tools", "get_tool_schema", "call_tool"},
}
WRITTEN = {"anthropic/maxResultSizeChars": 100000, "com.example/owner": {"team": "text"}}


def listed(version: str, style: str) -> dict[str, dict[str, Any]]:
    """Return `_meta` of each tool on the first page of the sample server, by name."""
    with talking(version, "--discovery", style, command=SAMPLE) as peer:
        return {tool["name"]: tool.get("_meta", {}) for tool in peer.result("tools/list")["tools"]}


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize("style", META_TOOLS)
def test_meta_tools_and_pinned_tools_are_loaded_at_once(version: str, style: str) -> None:
    always = {"anthropic/alwaysLoad": True}

    assert listed(version, style) == dict.fromkeys(META_TOOLS[style], always) | {"count_words": always | WRITTEN}


@pytest.mark.parametrize("version", ERAS)
def test_classic_tools_carry_their_keywords_as_a_search_hint(version: str) -> None:
    tools = listed(version, "classic")

    assert tools["count_words"] == {"anthropic/searchHint": "wc, word length"} | WRITTEN
    assert tools["shout"] == {}, "a tool without keywords has no hint"
