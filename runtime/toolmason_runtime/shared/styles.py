"""The discovery styles: how models find tools that are not listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

CLASSIC: Final = "classic"
"""The style that lists all tools."""
CODE: Final = "code"
"""The style whose meta-tools run a program that calls tools."""


class StyleFacts(NamedTuple):
    """The meta-tools of a style, by their bare names."""

    module: str
    """Module of `toolmason_runtime.discovery` with the function of the same name that creates the style."""
    metas: tuple[str, ...] = ()
    """All of them, in the order of their list."""
    describe: str = ""
    """Describes the parameters of an unlisted tool."""
    call: str = ""
    """Calls an unlisted tool."""
    call_read: str = ""
    """Calls only tools that read, with `split_calls`; empty in a style without that choice."""


STYLES: Final[Mapping[str, StyleFacts]] = {
    "search-call": StyleFacts(
        "search_call", ("search", "call", "call_read"), describe="search", call="call", call_read="call_read"
    ),
    "list-describe": StyleFacts(
        "list_describe",
        ("list_available_tools", "get_tool_description", "call_tool"),
        describe="get_tool_description",
        call="call_tool",
    ),
    "discover-schema": StyleFacts(
        "discover_schema",
        ("discover_tools", "get_tool_schema", "call_tool"),
        describe="get_tool_schema",
        call="call_tool",
    ),
    CLASSIC: StyleFacts("classic"),
    CODE: StyleFacts("code", ("search", "run", "run_read"), describe="search", call="run", call_read="run_read"),
}
"""Name in the manifest -> facts. The first one is the default."""
DEFAULT: Final = next(iter(STYLES))
