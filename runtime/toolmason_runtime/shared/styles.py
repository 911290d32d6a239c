"""The discovery styles: how models find tools that are not listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

CLASSIC: Final = "classic"
"""The style that lists all tools."""


class StyleFacts(NamedTuple):
    """The meta-tools of a style that others name. `{}` is the `prefix` of `[discovery]`."""

    module: str
    """Module of `toolmason_runtime.discovery` with the function of the same name that creates the style."""
    describe: str = ""
    """Describes the parameters of an unlisted tool."""
    call: str = ""
    """Calls an unlisted tool."""
    call_read: str = ""
    """Calls only tools that read, with `split_calls`; empty in a style without that choice."""


STYLES: Final[Mapping[str, StyleFacts]] = {
    "search-call": StyleFacts("search_call", describe="{}search", call="{}call", call_read="{}call_read"),
    "list-describe": StyleFacts("list_describe", describe="get_tool_description", call="call_tool"),
    "discover-schema": StyleFacts("discover_schema", describe="get_tool_schema", call="call_tool"),
    CLASSIC: StyleFacts("classic"),
}
"""Name in the manifest -> facts. The first one is the default."""
DEFAULT: Final = next(iter(STYLES))
