"""What each client and provider makes of a server's tool names, and how many tools it takes: one table.

A client puts its own words and the server's name before a tool's name, rewrites the characters it does not like, and
does something about a name that is then too long. What it shows its model is what it later maps back to the tool, so of
two tools that it shows under one name only one can be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Final, Literal, NamedTuple

Excess = Literal["refused", "dropped", "cut", "cut in the middle", "hashed"]
"""What becomes of a name that is too long: the request fails, the tool is not offered, or the name is made shorter."""

_LABEL: Final = 13
"""Characters of a server's name that VS Code keeps."""
_HALF: Final = 30
"""Characters that Gemini CLI keeps on either side of `...`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client, or one provider whose tool declarations are pasted in by hand.

    `form` is how it builds a name out of `{server}`, `{label}` (what VS Code keeps of the server's name) and `{tool}`;
    `rewritten` are the characters that it then makes underscores, as a pattern. `most_tools` is None where no limit is
    known. `by_hearsay` says that users report the count, not the vendor. `source` is where the row comes from.
    """

    name: str
    form: str
    longest: int
    excess: Excess
    source: str
    rewritten: str = ""
    most_tools: int | None = None
    by_hearsay: bool = False


CLAUDE_CODE: Final = Client(
    name="Claude Code",
    form="mcp__{server}__{tool}",
    rewritten=r"\.",
    longest=64,
    excess="refused",
    source="names sent by 2.1.329; anthropics/claude-code#16425, #23149",
)
CLAUDE_PLUGIN: Final = Client(
    name="Claude Code, from a plugin called like the server,",
    form="mcp__plugin_{server}_{server}__{tool}",
    rewritten=r"\.",
    longest=64,
    excess="refused",
    source="anthropics/claude-code#20983, #23149",
)
"""A plugin has a name of its own; mostly it is that of its server."""
GEMINI_CLI: Final = Client(
    name="Gemini CLI",
    form="mcp_{server}_{tool}",
    rewritten=r"[^a-zA-Z0-9_.:-]",
    longest=63,
    excess="cut in the middle",
    source="@google/gemini-cli-core 0.61.0, generateValidName",
)

CLIENTS: Final[tuple[Client, ...]] = (
    CLAUDE_CODE,
    CLAUDE_PLUGIN,
    Client(
        name="Codex",
        form="mcp__{server}__{tool}",
        rewritten=r"[^a-zA-Z0-9_]",
        longest=64,
        excess="hashed",
        source="names sent by 0.169.0; openai/codex:codex-rs/core/src/mcp_connection_manager.rs",
    ),
    GEMINI_CLI,
    Client(
        name="OpenCode",
        form="{server}_{tool}",
        rewritten=r"[^a-zA-Z0-9_-]",
        longest=64,
        excess="refused",
        source="anomalyco/opencode:packages/opencode/src/mcp/index.ts; the limit is that of its models",
    ),
    Client(
        name="VS Code",
        form="mcp_{label}_{tool}",
        rewritten=r"\.",
        longest=64,
        excess="cut",
        most_tools=128,
        source="microsoft/vscode:src/vs/workbench/contrib/mcp/common/mcpServer.ts; microsoft/vscode#337428",
    ),
    Client(
        name="Cursor",
        form="{server}:{tool}",
        longest=60,
        excess="dropped",
        most_tools=80,
        by_hearsay=True,
        source="aashari/mcp-server-atlassian-confluence#16; Snowflake-Labs/mcp#77 (40 before September 2025)",
    ),
    Client(
        name="OpenAI",
        form="{tool}",
        longest=64,
        excess="refused",
        most_tools=128,
        source="`^[a-zA-Z0-9_-]{1,64}$`; zed-industries/zed#32946 for the count",
    ),
    Client(
        name="Vertex AI",
        form="{tool}",
        longest=64,
        excess="refused",
        most_tools=128,
        source="googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    ),
    Client(
        name="the Gemini API",
        form="{tool}",
        longest=64,
        excess="refused",
        most_tools=512,
        source="the same, google/ai/generativelanguage/v1beta/content.proto; google-gemini/gemini-cli#19083",
    ),
    Client(
        name="Anthropic",
        form="{tool}",
        longest=64,
        excess="refused",
        source="128 in a declaration, 64 where a tool is referred to: anthropics/claude-code#16425",
    ),
)
"""As looked at in November 2026."""


def full_name(client: Client, server: str, tool: str) -> str:
    """Give the name that `client` builds, before anything is done about its length."""
    label = re.sub(r"[^a-z0-9_.-]+", "_", server.lower())[:_LABEL]
    name = client.form.format(server=server, label=label, tool=tool)
    if client is GEMINI_CLI:
        # It adds the prefix to what does not begin with it: behind a server called `mcp` or `mcp_x` there is no second.
        name = name.removeprefix("mcp_") if f"{server}_".startswith("mcp_") else name
    return re.sub(client.rewritten, "_", name) if client.rewritten else name


def shown_name(client: Client, server: str, tool: str) -> str:
    """Give the name that `client` shows its model for a tool. One that it refuses or drops is given whole."""
    name = full_name(client, server, tool)
    if len(name) <= client.longest:
        return name
    match client.excess:
        case "cut":
            return name[: client.longest]
        case "cut in the middle":
            return f"{name[:_HALF]}...{name[-_HALF:]}"
        case "hashed":
            digest = sha1(client.form.format(server=server, tool=tool).encode(), usedforsecurity=False).hexdigest()
            return name[: client.longest - len(digest)] + digest
        case "refused" | "dropped":
            return name


class Clash(NamedTuple):
    """Two names of different tools that `client` shows as one, `shown`."""

    client: Client
    shown: str
    first: str
    second: str


def clashes(names: Mapping[str, str], server: str) -> Iterator[Clash]:
    """Find each name that some client shows as one before it: once, for the first such client.

    `names` leads from each name to the tool that answers to it; names of one tool do not clash.
    """
    found: set[str] = set()
    for client in CLIENTS:
        taken: dict[str, str] = {}
        for name, tool in names.items():
            first = taken.setdefault(shown_name(client, server, name), name)
            if names[first] != tool and name not in found:
                found.add(name)
                yield Clash(client, shown_name(client, server, name), first, name)


def too_long(tool: str, server: str) -> tuple[Client, ...]:
    """Give the clients for which the name of `tool` is too long."""
    return tuple(client for client in CLIENTS if len(full_name(client, server, tool)) > client.longest)


def too_many(tools: int) -> tuple[Client, ...]:
    """Give the clients that take fewer tools than `tools`."""
    return tuple(client for client in CLIENTS if client.most_tools is not None and tools > client.most_tools)
