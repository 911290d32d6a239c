from __future__ import annotations

from typing import Any, cast

import pytest
from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry
from toolmason_runtime.protocol.selection import STYLES, Selection, visible_tools


def test_tools_of_the_tier_all_are_served_only_when_asked_for(catalogue: Catalogue) -> None:
    assert "purge_mailbox" not in visible_tools(catalogue, Selection("classic"))
    assert "purge_mailbox" in visible_tools(catalogue, Selection("classic", all_tools=True))


def test_disabled_tools_are_never_visible(catalogue: Catalogue) -> None:
    assert "fax" not in visible_tools(catalogue, Selection("classic", all_tools=True))


def test_toolsets_keep_their_categories(catalogue: Catalogue) -> None:
    visible = visible_tools(catalogue, Selection("classic", toolsets=("git", " issues ")))

    assert {entry["category"] for entry in visible.values()} == {"git", "issues"}


def with_part(catalogue: Catalogue, name: str, **more: Any) -> Catalogue:
    """The catalogue with a tool of the category `files` before all others."""
    entry = catalogue["tools"]["read_file"]
    part = cast("ToolEntry", {**entry, "tool": {**entry["tool"], "name": name}, **more})
    return {**catalogue, "tools": {name: part, **catalogue["tools"]}}


@pytest.mark.parametrize(("name", "aliases"), [("fetch_chunk", []), ("read_part", ["fetch_chunk"])])
def test_what_reads_the_rest_of_an_output_is_served_with_programs_of_any_toolset(
    catalogue: Catalogue, name: str, aliases: list[str]
) -> None:
    found = with_part(catalogue, name, aliases=aliases, tier="all")

    assert next(iter(visible_tools(found, Selection("classic", toolsets=("git",))))) == name
    assert name not in visible_tools(found, Selection("classic", toolsets=("issues",)))


def test_what_reads_the_rest_of_an_answer_is_served_with_the_tools_that_name_it_as_related(
    catalogue: Catalogue,
) -> None:
    found = with_part(catalogue, "fetch_chunk")
    name, entry = next((name, entry) for name, entry in found["tools"].items() if entry["category"] == "issues")
    tools: dict[str, ToolEntry] = {**found["tools"], name: {**entry, "related": ["fetch_chunk"]}}
    naming: Catalogue = {**found, "tools": tools}

    assert "fetch_chunk" in visible_tools(naming, Selection("classic", toolsets=("issues",)))
    assert "fetch_chunk" not in visible_tools(naming, Selection("classic", toolsets=("messages",)))


def test_a_disabled_tool_is_not_visible_for_the_sake_of_programs(catalogue: Catalogue) -> None:
    found = with_part(catalogue, "fetch_chunk", enabled=False)

    assert "fetch_chunk" not in visible_tools(found, Selection("classic", toolsets=("git",)))


def test_an_unknown_toolset_is_an_error_that_names_the_known_ones(catalogue: Catalogue) -> None:
    expected = r"unknown toolset `gti`: there are `files`, `git`, `issues`, `messages`; did you mean `git`\?"
    with pytest.raises(ValueError, match=expected):
        visible_tools(catalogue, Selection("classic", toolsets=("gti",)))


def test_an_unknown_style_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown discovery style `serch-call`: there are `search-call`"):
        Selection("serch-call")
    assert [Selection(style).style for style in STYLES] == list(STYLES)
