"""What clients make of names. The names expected of Gemini CLI were given by its own function."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolmason.clients import CLAUDE_CODE, GEMINI_CLI, ToolNames, clients
from toolmason.resolve.client_names import (
    Clash,
    clashes,
    full_name,
    names_of,
    shown_name,
    too_long,
    too_many,
    tool_names,
)
from toolmason.resolve.tool_names import client_name

BY_NAME = {client.title: client for client in tool_names()}
SERVERS = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,40}", fullmatch=True)
TOOLS = st.from_regex(r"[A-Za-z0-9_.:/ -]{1,90}", fullmatch=True)


def known(name: str) -> ToolNames:
    """Give a client of the table."""
    return BY_NAME[name]


@pytest.mark.parametrize(
    ("client", "server", "tool", "shown"),
    [
        ("Claude Code", "library", "lend.book", "mcp__library__lend_book"),
        ("Claude Code", "library", "lend-book", "mcp__library__lend-book"),
        ("Codex", "my-library", "lend-book", "mcp__my_library__lend_book"),
        ("OpenCode", "my-library", "lend.book", "my-library_lend_book"),
        ("VS Code", "My-Library-Server", "lend.book", "mcp_my-library-se_lend_book"),
        ("Cursor", "library", "lend", "library:lend"),
        ("OpenAI", "library", "lend", "lend"),
        ("Gemini CLI", "library", "lend.book", "mcp_library_lend.book"),
        ("Gemini CLI", "library", "lend book:x/y", "mcp_library_lend_book:x_y"),
        ("Gemini CLI", "mcp", "lend", "mcp_lend"),
        ("Gemini CLI", "mcp_library", "lend", "mcp_library_lend"),
        ("Gemini CLI", "mcp-library", "lend", "mcp_mcp-library_lend"),
    ],
)
def test_each_client_builds_names_in_its_own_way(client: str, server: str, tool: str, shown: str) -> None:
    assert shown_name(known(client), server, tool) == shown


@pytest.mark.parametrize(
    ("client", "shown"),
    [
        ("Claude Code", f"mcp__library__{'l' * 60}"),
        ("Codex", f"mcp__library__{'l' * 10}daa70f42a0ef2eaf940a9efe76f0cd410b347936"),
        ("Gemini CLI", f"mcp_library_{'l' * 18}...{'l' * 30}"),
        ("VS Code", f"mcp_library_{'l' * 52}"),
        ("Cursor", f"library:{'l' * 60}"),
    ],
)
def test_each_client_treats_long_names_in_its_own_way(client: str, shown: str) -> None:
    assert shown_name(known(client), "library", "l" * 60) == shown


def test_names_of_claude_code_are_those_of_permissions_and_docs() -> None:
    assert (
        client_name("lend", "library") == shown_name(names_of(CLAUDE_CODE), "library", "lend") == "mcp__library__lend"
    )


@given(server=SERVERS, tool=TOOLS, client=st.sampled_from(tool_names()))
def test_shown_name_is_as_long_as_its_client_takes_unless_that_refuses_it(
    server: str, tool: str, client: ToolNames
) -> None:
    fits = len(full_name(client, server, tool)) <= client.max_length

    assert fits == (client not in too_long(tool, server))
    if fits or client.excess in {"refused", "dropped"}:
        assert shown_name(client, server, tool) == full_name(client, server, tool)
    else:
        assert client.max_length >= len(shown_name(client, server, tool))


def pairs_alike_in_gemini_cli() -> st.SearchStrategy[tuple[str, str]]:
    """Give two names that differ only in what Gemini CLI rewrites, or in the middle that it leaves out."""
    rewritten = st.tuples(TOOLS, st.sampled_from(" /é$"), st.sampled_from("_@ ")).map(
        lambda given: (f"{given[0]}{given[1]}x", f"{given[0]}{given[2]}x")
    )
    middle = st.text("abc", min_size=1, max_size=12)
    head, tail = st.text("abc_", min_size=30, max_size=30), st.text("abc_", min_size=30, max_size=30)
    cut = st.tuples(head, middle, middle, tail).map(
        lambda given: (f"{given[0]}{given[1]}{given[3]}", f"{given[0]}{given[2]}{given[3]}")
    )
    return rewritten | cut


@given(server=SERVERS, pair=pairs_alike_in_gemini_cli())
@example(server="library", pair=(f"{'a' * 40}b{'c' * 30}", f"{'a' * 40}d{'c' * 30}"))
def test_two_names_that_gemini_cli_shows_as_one_are_always_found(server: str, pair: tuple[str, str]) -> None:
    first, second = pair
    assume(first != second)
    assert shown_name(names_of(GEMINI_CLI), server, first) == shown_name(names_of(GEMINI_CLI), server, second)

    assert [clash.second for clash in clashes({first: "one", second: "other"}, server)] == [second]


@given(server=SERVERS, tools=st.lists(TOOLS, max_size=6, unique=True))
def test_exactly_the_tools_with_the_same_shown_name_clash(server: str, tools: list[str]) -> None:
    found = list(clashes({tool: tool for tool in tools}, server))

    for clash in found:
        assert clash.first != clash.second
        assert {shown_name(clash.client, server, each) for each in (clash.first, clash.second)} == {clash.shown}
    apart = [tool for tool in tools if tool not in {clash.second for clash in found}]
    for client in tool_names():
        assert len({shown_name(client, server, tool) for tool in apart}) == len(apart)


@given(server=SERVERS, tools=st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True), unique=True))
def test_plain_short_names_stay_apart_everywhere(server: str, tools: list[str]) -> None:
    assert list(clashes({tool: tool for tool in tools}, server[:20])) == []


def test_names_of_one_tool_do_not_clash() -> None:
    alike = {"lend-book": "lend", "lend_book": "lend"}

    assert list(clashes(alike, "library")) == []
    assert list(clashes(alike | {"lend_book": "return"}, "library")) == [
        Clash(known("Codex"), "mcp__library__lend_book", "lend-book", "lend_book")
    ]


@pytest.mark.parametrize(
    ("tools", "clients"),
    [
        (80, set()),
        (81, {"Cursor"}),
        (128, {"Cursor"}),
        (129, {"Cursor", "VS Code", "OpenAI", "Vertex AI"}),
        (512, {"Cursor", "VS Code", "OpenAI", "Vertex AI"}),
        (513, {"Cursor", "VS Code", "OpenAI", "Vertex AI", "the Gemini API"}),
    ],
)
def test_clients_that_take_fewer_tools_are_named(tools: int, clients: set[str]) -> None:
    assert {client.title for client in too_many(tools)} == clients


def test_every_client_row_has_a_source_a_date_and_a_valid_pattern() -> None:
    assert len(BY_NAME) == len(tool_names())
    for client in tool_names():
        assert client.source
        assert client.checked.year >= 2026
        assert "{tool}" in client.form
        re.compile(client.rewritten)


def test_every_client_has_a_source_and_a_date() -> None:
    for client in clients().values():
        assert client.source
        assert client.checked.year >= 2026
