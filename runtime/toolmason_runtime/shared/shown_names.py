"""The names under which a client sees the tools of a server: bare, or with the prefix of the server.

Two servers in one client may both have a tool `search`. Some clients put the server's name before each name; for the
others, the server does. Both forms of a name can be called in every session.
"""

from __future__ import annotations

from toolmason_runtime.shared.client_profiles import client_profile

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final

MAX_NAME_CHARS: Final = 64
"""Maximum characters of a name that all providers accept."""
MAX_PREFIX_CHARS: Final = 24
_COMMON_WORDS: Final = frozenset({"mcp", "server"})


def default_prefix(server_name: str) -> str:
    """Return the prefix of a server without one in its manifest: the words of its name, if they are short.

    Example: `weather-mcp-server` has the prefix `weather_`.
    """
    text = "".join(character if character.isascii() and character.isalnum() else " " for character in server_name)
    words = text.lower().split()
    words = [word for word in words if word not in _COMMON_WORDS] or words
    while len(words) > 1 and len("_".join(words)) >= MAX_PREFIX_CHARS:
        words.pop()
    prefix = "_".join(words)[: MAX_PREFIX_CHARS - 1]
    # Gemini rejects names that begin with a digit.
    return f"{prefix}_" if prefix and not prefix[0].isdecimal() else f"s{prefix}_"[:MAX_PREFIX_CHARS]


def is_prefixed(client_name: str) -> bool:
    """Return whether a client sees the names of tools with the prefix, from its `clientInfo.name`."""
    return not client_profile(client_name).prefixes


class ShownNames:
    """The names that one client sees.

    Args:
        prefix: the prefix in this session; empty if the client sees bare names.
        names: all names of tools, aliases and meta-tools. A name keeps its bare form if the other one is among them.
    """

    def __init__(self, prefix: str = "", names: Collection[str] = ()) -> None:
        self.prefix = prefix
        self._names = names

    @property
    def is_prefixed(self) -> bool:
        """Whether names have the prefix in this session."""
        return bool(self.prefix)

    def shown(self, name: str) -> str:
        """Return the name that the client sees for a tool, an alias or a meta-tool."""
        if not self.prefix or name.startswith(self.prefix):
            return name
        shown = self.prefix + name
        return name if shown in self._names or len(shown) > MAX_NAME_CHARS else shown


def meta_name(meta_tool: str, tools: Collection[str], prefix: str) -> str:
    """Return the bare name of a meta-tool: with the prefix of the manifest if a tool has the name."""
    return prefix + meta_tool if meta_tool in tools else meta_tool


def bare_name(name: str, prefix: str, names: Collection[str]) -> str:
    """Return the bare form of a name that a client calls, which may have the prefix; `names` are all bare names."""
    if name in names or not prefix or not name.startswith(prefix):
        return name
    bare = name[len(prefix) :]
    return bare if bare in names else name
