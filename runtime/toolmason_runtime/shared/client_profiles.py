"""The facts about the client of a session, by the name that it sends to servers (`clientInfo.name`)."""

from __future__ import annotations

from functools import lru_cache

from toolmason_runtime.shared.client_table import CLIENTS

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from typing import Final

UNKNOWN_ANSWER_SIZE: Final = 8_000
"""Size of an answer that most clients pass to their model whole: the smallest of the known limits."""
TOOLMASON: Final = "toolmason"
"""The name of the toolkit's own clients, which see bare names and long answers."""
_MAX_NAME_CHARS: Final = 200


class ClientProfile:
    """The facts about one client; the defaults are those of an unknown one. None means that a fact is unknown."""

    __slots__ = (
        *("always_load", "answer_size", "calls_unlisted", "elicitation", "key", "prefixes", "progress", "prompts"),
        *("repeats_structure", "skills", "tool_timeout_s"),
    )

    def __init__(
        self,
        *,
        key: str = "",
        answer_size: int = UNKNOWN_ANSWER_SIZE,
        prefixes: bool = False,
        always_load: str = "",
        elicitation: tuple[str, ...] | None = None,
        prompts: bool | None = None,
        skills: bool | None = None,
        progress: bool | None = None,
        repeats_structure: bool = False,
        calls_unlisted: bool = False,
        tool_timeout_s: int | None = None,
    ) -> None:
        self.key = key
        """Its key in `clients.toml` of the toolkit; empty for an unknown client."""
        self.answer_size = answer_size
        """Maximum size of an answer that reaches its model whole; see `answer_size.size_of`."""
        self.prefixes = prefixes
        """Whether it makes the names of tools of several servers different, so that it needs no prefix."""
        self.always_load = always_load
        """Key of `_meta` or of its configuration that makes it load a tool at once; empty without one."""
        self.elicitation = elicitation
        """The modes in which it asks its user."""
        self.prompts = prompts
        """Whether it offers the prompts of servers to its user."""
        self.skills = skills
        self.progress = progress
        """Whether it asks for progress."""
        self.repeats_structure = repeats_structure
        """Whether its model gets the text and the structured content of a result, which are the same."""
        self.calls_unlisted = calls_unlisted
        """Whether it is code that calls each tool by its name, listed or not, and reads the code of an error."""
        self.tool_timeout_s = tool_timeout_s
        """Seconds that it waits for a tool."""


@lru_cache(maxsize=64)  # each request asks for it, and most are of one client
def client_profile(client_name: str) -> ClientProfile:
    """Return the facts about the client that calls itself `client_name`, in any case and with words after its name.

    Example: `Visual Studio Code - Insiders` is Visual Studio Code, and `claude-ai (via mcp-remote 0.1)` Claude Desktop.
    """
    name = client_name[:_MAX_NAME_CHARS].casefold().strip()
    while name not in CLIENTS and " " in name:
        name = name.rpartition(" ")[0]
    if name not in CLIENTS:
        # A name that ends with a dash is followed by the name of the server.
        name = next((known for known in CLIENTS if known.endswith("-") and name.startswith(known)), "")
    return ClientProfile(**CLIENTS.get(name, {}))


def makes_names_different(key: str) -> bool:
    """Return whether the client with this key in `clients.toml` shows the bare names of a server's tools."""
    return any(facts["key"] == key and facts.get("prefixes", False) for facts in CLIENTS.values())
