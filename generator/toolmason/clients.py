"""Facts about MCP clients, read once from `clients.toml`."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from toolmason.model.server import Server

Excess = Literal["refused", "dropped", "cut", "cut in the middle", "hashed"]
"""How a client handles a name that is too long: it rejects the request, drops the tool, or shortens the name."""
Effect = Literal["run", "read", "replace"]
"""The effect of live syntax: the client runs a command, reads a file, or replaces the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration file in which a client declares servers."""

    file: str
    """Path relative to the project."""
    template: str = "clients/config.json.jinja"
    servers: str
    entry: Mapping[str, Any]
    top: Mapping[str, Any] = field(default_factory=dict)
    project: bool = True
    """Whether the client reads the file in a project."""
    user: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Paths of the user's file, for every platform or by `sys.platform`, as in `$CODEX_HOME/config.toml`."""
    other_file: str = ""
    rejects: Sequence[str] = ()
    project_note: str = ""
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFile:
    """The file of one slash command: its path in a project, with `{command.name}`, and its template."""

    file: str
    template: str
    form: Literal["frontmatter", "plain", "toml"]
    """Form of the file: Markdown with or without YAML before it, or TOML."""
    hint_key: str = ""
    """Key of the argument hint in the YAML; empty if there is none."""
    arguments: str
    """The words that the client replaces by the text after the command, or that refer to it."""
    user: Sequence[str] | Mapping[str, Sequence[str]]
    """Directories of the user's commands, as `user` of `Configuration`."""
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The files of one plugin, extension, bundle, registry entry or image."""

    files: Mapping[str, str]
    """Path -> template."""
    needs: str = ""
    """Key of `[server]` without which no file is generated."""
    commands: str = ""
    """Path of one slash command, with `{command.name}`; its template is that of `commands`. Empty for none."""
    command_name: str = "{command.name}"
    """Name of a slash command of the plugin, for `{COMMAND_NAME}` in its text."""
    skills: bool = False
    """Whether it has the skills of the server, in `skills/`."""
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSyntax:
    """Syntax with an effect in the text of a command, as regular expressions; empty for none."""

    run: str = ""
    """Text that the client runs as a command, such as `!\\{[^}]*\\}`."""
    read: str = ""
    replace: str = ""
    argument: str = ""
    """Argument that the client sends in `prompts/get` and replaces in the answer by the words of the person."""
    run_start: str = ""
    """Text, not an expression, that begins a command in an answer of `prompts/get`; the client runs the command."""
    source: str
    checked: dt.date

    def texts(self, effect: Effect, prompt: str) -> Iterator[str]:
        """Return the parts of `prompt` with an effect."""
        if pattern := {"run": self.run, "read": self.read, "replace": self.replace}[effect]:
            yield from dict.fromkeys(match[0] for match in re.finditer(pattern, prompt))


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
class Passed:
    """The only environment variables that a client passes to a server whose entry names no others."""

    names: tuple[str, ...]
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsField:
    """The form in which a client sends tools to a model; clients.toml describes the placeholders."""

    tool: Mapping[str, Any]
    group: Mapping[str, Any] = field(default_factory=dict)
    """The entry around all tools of a server; empty if there is none."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that it adds to every tool."""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    """Keywords that it adds to every schema."""
    passes: Sequence[str] = ()
    """The only keywords of a schema that it sends; empty if it sends all."""
    max_described: int | None = None
    """Maximum bytes of a schema that it sends with descriptions."""
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client. Facts that are unknown or do not apply are None."""

    key: str
    title: str
    source: str
    checked: dt.date
    configuration: Configuration | None = None
    commands: CommandFile | None = None
    plugin: Plugin | None = None
    live: LiveSyntax | None = None
    names: ToolNames | None = None
    tools_field: ToolsField | None = None
    withheld: Withheld | None = None
    passed: Passed | None = None
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
    if "plugin" in table:
        values["plugin"] = Plugin(**table["plugin"])
    if "live" in table:
        values["live"] = LiveSyntax(**table["live"])
    if "names" in table:
        values["names"] = ToolNames(**{**origin, **table["names"]})
    if "tools_field" in table:
        values["tools_field"] = ToolsField(**table["tools_field"])
    if withheld := table.get("withheld"):
        sets = {"passed_prefixes": tuple(withheld["passed_prefixes"]), "names": frozenset(withheld["names"])}
        values["withheld"] = Withheld(**{**withheld, **sets})
    if passed := table.get("passed"):
        values["passed"] = Passed(**{**passed, "names": tuple(passed["names"])})
    return Client(key=key, **values)


def configuration(client: Client, server: Server) -> dict[str, Any]:
    """Return the content of the file that configures `server` in `client`.

    Example: `entry = { command = "$command", env = "$env" }` gives `{"mcpServers": {"books": {"command": "books"}}}`
    for a server without variables that the client withholds.
    """
    template = client.configuration
    if template is None:
        raise ValueError(f"{client.title} has no configuration file")
    launch = {
        "$launch": list(server.launch),
        "$command": server.launch[0],
        "$args": list(server.launch[1:]),
        "$anywhere.command": server.launch_anywhere[0],
        "$anywhere.args": list(server.launch_anywhere[1:]),
    }
    return {**template.top, template.servers: {server.table.name: _entry(template, launch | _values(client, server))}}


def plugin_entry(client: Client, server: Server) -> dict[str, Any]:
    """Return the entry of `server` in a plugin of `client`, which starts its command from PATH.

    A plugin has the files of commands, unless `[outputs]` leaves them out. With them, the server serves no prompts.
    """
    if client.configuration is None:
        raise ValueError(f"{client.title} has no configuration file")
    commands = f"plugins/{client.key}/{client.plugin.commands if client.plugin else ''}"
    include, omit = server.outputs.include, server.outputs.omit
    has_commands = _contains(include or ("plugins",), commands) and not _contains(omit, commands)
    args = ["--no-command-prompts"] if server.commands and has_commands else []
    return _entry(client.configuration, {"$command": server.command, "$args": args} | _values(client, server))


def _contains(entries: Iterable[str], directory: str) -> bool:
    """Return whether an entry of `[outputs]` is a directory, written with a final slash, or contains it."""
    return any(directory.startswith(f"{entry.rstrip('/')}/") for entry in entries)


def install_facts(server: Server) -> dict[str, Any]:
    """Return the content of `install.json`: what `install` has to know of `server` and of each client.

    Entries keep the placeholders `$launch`, `$command` and `$args`, which depend on the machine.
    """
    return {
        "server": server.table.name,
        "package": server.package,
        "command": server.command,
        "manifest": server.source if server.launch[1:] else "",
        "variables": list(server.variables),
        "clients": {
            client.key: _install_facts(client, client.configuration, server)
            for client in clients().values()
            if client.configuration
        },
    }


def _install_facts(client: Client, file: Configuration, server: Server) -> dict[str, Any]:
    own_launch = {"$anywhere.command": "$command", "$anywhere.args": "$args"}
    facts = {
        "title": client.title,
        "project": file.file if file.project else "",
        "user": _by_platform(file.user),
        "other_file": file.other_file,
        "rejects": file.rejects,
        "project_note": file.project_note,
        "servers": file.servers,
        "entry": _entry(file, own_launch | _values(client, server)),
        "top": file.top,
    }
    if withheld := client.withheld:
        rules = {"pattern": withheld.pattern, "passed_prefixes": withheld.passed_prefixes}
        facts["withheld"] = {**rules, "names": sorted(withheld.names)}
    if client.commands and server.commands:
        path = client.commands.file.replace("{command.name}", "{name}")
        facts["commands"] = {"file": path, "user": _by_platform(client.commands.user)}
    if client.passed:
        facts["passed"] = client.passed.names
    return {key: value for key, value in facts.items() if value}


def _by_platform(paths: Sequence[str] | Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    return paths if isinstance(paths, Mapping) else {"": paths}


def _values(client: Client, server: Server) -> dict[str, Any]:
    """Return the values of placeholders that depend on the server's manifest."""
    return {
        "$env": _environment(client, server),
        "$variables": list(server.variables),
        "$timeout": server.tool_timeout,
    }


def _entry(template: Configuration, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry with the values of its placeholders, without keys that have no value."""
    entry = {
        key: values.get(value, value) if isinstance(value, str) else value for key, value in template.entry.items()
    }
    return {key: value for key, value in entry.items() if value not in (None, {})}


def command_hosts() -> dict[str, Any]:
    """Return the facts that are necessary to write a command file at run time, by client.

    `live` lists the regular expressions of text that the client would run, read or replace.
    """
    return {
        client.key: {
            "file": commands.file.replace("{command.name}", "{name}"),
            "form": commands.form,
            "hint_key": commands.hint_key,
            "arguments": commands.arguments,
            "live": [live.run, live.read, live.replace] if (live := client.live) else [],
        }
        for client in clients().values()
        if (commands := client.commands)
    }


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


def prompt_syntax(server: Server) -> dict[str, dict[str, str]]:
    """Return the syntax with an effect in the prompts of `server`, by the name that a client sends to it."""
    if not server.prompts:
        return {}
    return {
        client.client_info: {"argument": live.argument, "run_start": live.run_start}
        for client in clients().values()
        if (live := client.live) and live.argument
    }


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
