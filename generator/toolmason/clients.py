"""Facts about MCP clients, read once from `clients.toml`."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from toolmason.model.server import Server

Excess = Literal["refused", "dropped", "cut", "cut in the middle", "hashed"]
"""How a client handles a name that is too long: it rejects the request, drops the tool, or shortens the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration file in which a client declares servers."""

    file: str
    """Path relative to the project."""
    template: str = "clients/config.json.jinja"
    servers: str = ""
    entry: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFile:
    """The file of one slash command: its path in a project, with `{command.name}`, and its template."""

    file: str
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """The names of tools that a client, or a provider used without a client, sends to a model.

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
    """Regular expression for characters that become underscores, such as `[^a-z]`; empty to keep all."""
    label_length: int = 0
    repeats_prefix: bool = True
    """Whether a name that begins with the fixed prefix of `form` gets the prefix again."""
    max_tools: int | None = None
    by_hearsay: bool = False
    """Whether `max_tools` is reported by users and not documented by the vendor."""


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
    """One client. Facts that are unknown or do not apply are None."""

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
    """Maximum length of an answer that reaches the model, such as `10,000 tokens`."""
    tool_timeout_s: int | None = None
    client_info: str = ""
    """The name that it sends to servers (`clientInfo.name`); empty if unknown."""


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


def configuration(client: Client, server: Server) -> dict[str, Any]:
    """Return the content of the file that configures `server` in `client`.

    Example: `entry = { command = "$command", env = "$env" }` gives `{"mcpServers": {"books": {"command": "books"}}}`
    for a server without variables that the client withholds.
    """
    template = client.configuration
    if template is None:
        raise ValueError(f"{client.title} has no configuration file")
    values = {
        "$launch": list(server.launch),
        "$command": server.launch[0],
        "$args": list(server.launch[1:]),
        "$anywhere.command": server.launch_anywhere[0],
        "$anywhere.args": list(server.launch_anywhere[1:]),
        "$env": _environment(client, server),
    }
    entry = {
        key: values.get(value, value) if isinstance(value, str) else value for key, value in template.entry.items()
    }
    if not entry.get("env", True):
        del entry["env"]
    return {**template.top, template.servers: {server.name: entry}}


def tool_timeouts(server: Server) -> dict[str, float]:
    """Return the seconds that clients wait for a tool of `server`, by the name that they send to it.

    Codex may wait for less, because its configuration contains the timeout of the manifest.
    """
    timeouts: dict[str, float] = {
        client.client_info: client.tool_timeout_s
        for client in clients().values()
        if client.client_info and client.tool_timeout_s
    }
    codex = clients()[CODEX].client_info
    if server.tool_timeout is not None:
        timeouts[codex] = min(timeouts[codex], server.tool_timeout)
    return timeouts


def _environment(client: Client, server: Server) -> dict[str, str]:
    """Return the `env` for the variables of `server` that `client` withholds by default.

    Each has an empty default, as in `${TOKEN:-}`: without one, Gemini CLI sends an undefined `$TOKEN` literally.
    """
    withheld = client.withheld
    return {name: f"${{{name}:-}}" for name in server.variables if withheld and withheld.includes(name)}


CLAUDE_CODE: Final = "claude-code"
CLAUDE_CODE_PLUGIN: Final = "claude-code-plugin"
CODEX: Final = "codex"
GEMINI_CLI: Final = "gemini-cli"
VSCODE: Final = "vscode"
"""Keys of clients that lint rules read directly."""
