"""Names with the prefix of a server, and back."""

from __future__ import annotations

import pytest
from toolmason_runtime.shared.shown_names import MAX_NAME_CHARS, ShownNames, bare_name, default_prefix, is_prefixed


@pytest.mark.parametrize(
    ("server", "prefix"),
    [
        ("workbench", "workbench_"),
        ("weather-mcp-server", "weather_"),
        ("MCP", "mcp_"),
        ("My.Library Server", "my_library_"),
        ("1password", "s1password_"),
        ("日本", "s_"),
        ("a-server-with-a-very-long-name-of-many-words", "a_with_a_very_long_name_"),
        ("w" * 60, "w" * 23 + "_"),
    ],
)
def test_the_default_prefix_is_made_of_the_words_of_a_servers_name(server: str, prefix: str) -> None:
    assert default_prefix(server) == prefix


def test_a_client_that_prefixes_sees_bare_names_and_any_other_prefixed_ones() -> None:
    clients = ("claude-code", "Cline", "continue-cli-client", "mcp", "")

    assert [is_prefixed(name) for name in clients] == [False, False, True, True, True]


def test_names_have_the_prefix_and_can_be_called_in_both_forms() -> None:
    names = {"search", "call", "desk_sweep", "log", "desk_log", "x" * 60}
    shown = ShownNames("desk_", names)

    assert shown.is_prefixed
    assert shown.shown("search") == "desk_search"
    assert shown.shown("desk_sweep") == "desk_sweep"  # has it already
    assert shown.shown("log") == "log"  # the other name is that of another tool
    assert shown.shown("x" * 60) == "x" * 60  # would be too long
    for name in names:
        assert len(shown.shown(name)) <= MAX_NAME_CHARS
        assert bare_name(name, "desk_", names) == name
        assert bare_name(shown.shown(name), "desk_", names) == name
    assert bare_name("desk_unknown", "desk_", names) == "desk_unknown"


def test_without_a_prefix_names_stay() -> None:
    shown = ShownNames()

    assert not shown.is_prefixed
    assert shown.shown("search") == "search"
    assert bare_name("desk_search", "", {"search"}) == "desk_search"
