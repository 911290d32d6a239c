"""Facts about MCP clients: `clients.toml`, read once."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

Excess = Literal["refused", "dropped", "cut", "cut in the middle", "hashed"]
"""What happens to a name that is too long: the request fails, the tool is not offered, or the name is made shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The file in which a client is told how to start a server."""

    file: str
    """Its place in a project."""
    template: str = "clients/config.json.jinja"
    servers: str = ""
    entry: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFile:
    """The file of one slash command: its place in a project, with `{command.name}`, and its template."""

    file: str
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """How a client, or a provider whose declarations are pasted in by hand, sends the names of tools to a model.

    Example: with `form = "mcp_{label}_{tool}"` and `label_length = 13`, VS Code sends the tool `lend` of the server
    `My-Library-Server` as `mcp_my-library-se_lend`.
    """

    title: str
    form: str
    max_length: int
    excess: Excess
    source: str
    checked: dt.date
    rewritten: str = ""
    """Pattern of the characters that become underscores; empty for none."""
    label_length: int = 0
    repeats_prefix: bool = True
    """Whether a name that already begins with the fixed start of `form` gets it once more."""
    max_tools: int | None = None
    by_hearsay: bool = False
    """Whether users report the number of tools, not the vendor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Environment variables that a client passes to a server only if the server's `env` names them."""

    pattern: str
    passed_prefixes: tuple[str, ...]
    names: frozenset[str]
    source: str

    def includes(self, variable: str) -> bool:
        """Return whether `variable` is withheld."""
        name = variable.upper()
        if name.startswith(self.passed_prefixes):
            return False
        return name in self.names or re.search(self.pattern, name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client. A fact that does not apply to it, or that nobody knows, is None."""

    key: str
    title: str
    source: str
    checked: dt.date
    configuration: Configuration | None = None
    commands: CommandFile | None = None
    names: ToolNames | None = None
    withheld: Withheld | None = None
    max_description: int | None = None
    max_parameter_description: int | None = None
    output: str = ""
    """How much of one answer its model sees: `10,000 tokens`."""
    tool_timeout_s: int | None = None


@cache
def clients() -> Mapping[str, Client]:
    """Return all clients by key, in the order of the file."""
    data = tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
    return {key: _client(key, table) for key, table in data.items()}


def _client(key: str, table: Mapping[str, Any]) -> Client:
    values = dict(table)
    origin = {name: table[name] for name in ("title", "source", "checked")}
    if "configuration" in table:
        values["configuration"] = Configuration(**table["configuration"])
    if "commands" in table:
        values["commands"] = CommandFile(**table["commands"])
    if "names" in table:
        values["names"] = ToolNames(**{**origin, **table["names"]})
    if withheld := table.get("withheld"):
        sets = {"passed_prefixes": tuple(withheld["passed_prefixes"]), "names": frozenset(withheld["names"])}
        values["withheld"] = Withheld(**{**withheld, **sets})
    return Client(key=key, **values)


CLAUDE_CODE: Final = "claude-code"
CLAUDE_CODE_PLUGIN: Final = "claude-code-plugin"
CODEX: Final = "codex"
GEMINI_CLI: Final = "gemini-cli"
VSCODE: Final = "vscode"
"""Keys of clients whose facts a rule reads by name."""
