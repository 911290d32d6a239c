"""Facts about MCP clients, read once from `clients.toml`."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from toolmason_runtime.shared.answer_size import CHARACTERS_PER_TOKEN

from toolmason.model.server import Server

_T = TypeVar("_T")

Excess = Literal["refused", "dropped", "cut", "cut in the middle", "hashed"]
"""How a client handles a name that is too long: it rejects the request, drops the tool, or shortens the name."""
Effect = Literal["run", "read", "replace"]
"""The effect of live syntax: the client runs a command, reads a file, or replaces the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration file in which a client declares servers."""

    file: str
    """Path relative to the project."""
    template: str = ""
    """Template of the file that is generated for each server; empty for a client that only `install` configures."""
    servers: str
    is_list: bool = False
    """Whether the servers are a list of entries with a `name`, not a mapping."""
    entry: Mapping[str, Any]
    top: Mapping[str, Any] = field(default_factory=dict)
    project: bool = True
    """Whether the client reads the file in a project."""
    user: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Paths of the user's file, for every platform or by `sys.platform`, as in `$CODEX_HOME/config.toml`."""
    other_file: str = ""
    found: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Paths, of which one exists if the client is installed: by default the user's file and its directory."""
    aliases: Sequence[str] = ()
    """Other names of the client for `install`."""
    rejects: Sequence[str] = ()
    project_note: str = ""
    prompts: bool | None = None
    """Whether its user can run the prompts of a server; None if unknown."""
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """The directories of skills of a client in which nobody can run the prompts of a server."""

    project: str
    user: Sequence[str] | Mapping[str, Sequence[str]]
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
class Session:
    """The facts about a client that a running server uses. An unknown one is None; `prefixes` is then false."""

    client_info: tuple[str, ...]
    """The names that it sends to servers (`clientInfo.name`)."""
    answer: Mapping[str, int] = field(default_factory=dict)
    """The largest answer that reaches the model whole, by its unit: characters, bytes or tokens."""
    prefixes: bool = False
    """Whether the client itself makes the names of tools of several servers different."""
    always_load: str = ""
    """Key of `_meta` or of its configuration that makes it load a tool at once."""
    elicitation: tuple[str, ...] | None = None
    """The modes in which it asks its user."""
    prompts: bool | None = None
    skills: bool | None = None
    progress: bool | None = None
    """Whether it asks for progress."""
    repeats_structure: bool = False
    """Whether its model gets the text and the structured content of a result."""
    calls_unlisted: bool = False
    """Whether it is code that calls each tool by its name."""
    tool_timeout_s: int | None = None
    source: str
    checked: dt.date

    @property
    def answer_size(self) -> int | None:
        """The size of `answer` as `toolmason_runtime.shared.answer_size` measures it; None if it is unknown."""
        sizes = [
            int(length * CHARACTERS_PER_TOKEN) if unit == "tokens" else length for unit, length in self.answer.items()
        ]
        return min(sizes, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client. Facts that are unknown or do not apply are None."""

    key: str
    title: str
    source: str
    checked: dt.date
    configuration: Configuration | None = None
    commands: CommandFile | None = None
    skills: Skills | None = None
    plugin: Plugin | None = None
    live: LiveSyntax | None = None
    names: ToolNames | None = None
    tools_field: ToolsField | None = None
    withheld: Withheld | None = None
    passed: Passed | None = None
    max_description: int | None = None
    max_parameter_description: int | None = None
    session: Session | None = None


@cache
def clients() -> Mapping[str, Client]:
    """Return all clients by key, in the order of the file."""
    data = tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
    return {key: _client(key, table) for key, table in data.items()}


def _client(key: str, table: Mapping[str, Any]) -> Client:
    values = dict(table)
    origin = {name: table[name] for name in ("title", "source", "checked") if name in table}
    for name, kind in _PARTS.items():
        if name in table:
            part = {**origin, **table[name]} if name == "names" else dict(table[name])
            lists = {each: convert(part[each]) for each, convert in _LISTS.get(name, {}).items() if each in part}
            values[name] = _row(kind, f"{key}.{name}", part | lists)
    return _row(Client, key, {"key": key, **values})


_PARTS: Final[Mapping[str, type[Any]]] = {
    "configuration": Configuration,
    "commands": CommandFile,
    "skills": Skills,
    "plugin": Plugin,
    "live": LiveSyntax,
    "names": ToolNames,
    "tools_field": ToolsField,
    "withheld": Withheld,
    "session": Session,
    "passed": Passed,
}
"""The tables of a client."""
_LISTS: Final[Mapping[str, Mapping[str, Callable[[Any], Any]]]] = {
    "withheld": {"passed_prefixes": tuple, "names": frozenset},
    "session": {"elicitation": tuple, "client_info": tuple},
    "passed": {"names": tuple},
}
"""Their lists that are no tuples in TOML."""


def _row(kind: type[_T], place: str, values: Mapping[str, Any]) -> _T:
    """Return a table of clients.toml.

    Raises:
        ValueError: it lacks a key, or has an unknown one.
    """
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    for name, each in known.items():
        if each.default is MISSING and each.default_factory is MISSING and name not in values:
            raise ValueError(f"clients.toml: [{place}] lacks `{name}`")
    for name in values:
        if name not in known:
            raise ValueError(f"clients.toml: [{place}] has the unknown key `{name}`")
    return kind(**values)


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
        "is_list": file.is_list,
        "other_file": file.other_file,
        "found": _by_platform(file.found),
        "aliases": file.aliases,
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
    if client.skills and server.commands:
        facts["skills"] = {"project": client.skills.project, "user": _by_platform(client.skills.user)}
    if client.passed:
        facts["passed"] = client.passed.names
    return {key: value for key, value in facts.items() if value}


def _by_platform(paths: Sequence[str] | Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    return paths if isinstance(paths, Mapping) else {"": paths} if paths else {}


def _values(client: Client, server: Server) -> dict[str, Any]:
    """Return the values of placeholders that depend on the server's manifest."""
    variables = server.variables
    return {
        "$env": _environment(client, variables),
        "$variables": list(variables),
        "$server": server.table.name,
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
    """Return the seconds that clients wait for a tool of `server` if its manifest changes them, by `clientInfo.name`.

    The configuration of Codex contains the timeout of the manifest.
    """
    if server.tool_timeout is None:
        return {}
    session = session_of(CODEX)
    timeout_s = min(session.tool_timeout_s or server.tool_timeout, server.tool_timeout)
    return dict.fromkeys(session.client_info, timeout_s)


def prompt_syntax(server: Server) -> dict[str, dict[str, str]]:
    """Return the syntax with an effect in the prompts of `server`, by the name that a client sends to it."""
    if not server.prompts:
        return {}
    return {
        name: {"argument": live.argument, "run_start": live.run_start}
        for client in clients().values()
        if (live := client.live) and live.argument and client.session
        for name in client.session.client_info
    }


def session_of(client: str) -> Session:
    """Return the facts of the client with the key `client` for running servers.

    Raises:
        KeyError: there is no such client, or none are known.
    """
    session = clients()[client].session
    if session is None:
        raise KeyError(client)
    return session


def client_table() -> str:
    """Return the module `toolmason_runtime.shared.client_table`, which running servers read instead of the TOML."""
    rows = "".join(
        f"    {_literal(name.casefold().removesuffix('*'))}: {{\n{_members(_profile(client, client.session))}    }},\n"
        for client in clients().values()
        if client.session
        for name in client.session.client_info
    )
    return f"{_TABLE_HEADER}{rows}}}\n"


def _profile(client: Client, session: Session) -> dict[str, Any]:
    """Return the known facts of a client by the names of the fields of `ClientProfile`."""
    facts = {
        "key": client.key,
        "answer_size": session.answer_size,
        "prefixes": session.prefixes or None,
        "always_load": session.always_load or None,
        "elicitation": session.elicitation,
        "prompts": session.prompts,
        "skills": session.skills,
        "progress": session.progress,
        "repeats_structure": session.repeats_structure or None,
        "calls_unlisted": session.calls_unlisted or None,
        "tool_timeout_s": session.tool_timeout_s,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _members(facts: Mapping[str, Any]) -> str:
    return "".join(f"        {_literal(name)}: {_literal(value)},\n" for name, value in facts.items())


def _literal(value: Any) -> str:
    """Return a fact as a Python literal, in the format of the project."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


_TABLE_HEADER: Final = '''"""The facts about clients by `clientInfo.name` in lower case, from `clients.toml`.

Written by `nox -s goldens`; do not edit.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

CLIENTS: Final[Mapping[str, Mapping[str, Any]]] = {
'''


def _environment(client: Client, variables: Sequence[str]) -> dict[str, str]:
    """Return the `env` for those of a server's `variables` that `client` withholds by default.

    Each has an empty default, as in `${TOKEN:-}`: without one, Gemini CLI sends an undefined `$TOKEN` literally.
    """
    withheld = client.withheld
    return {name: f"${{{name}:-}}" for name in variables if withheld and withheld.includes(name)}


CLAUDE_CODE: Final = "claude-code"
CLAUDE_CODE_PLUGIN: Final = "claude-code-plugin"
CODEX: Final = "codex"
GEMINI_CLI: Final = "gemini-cli"
VSCODE: Final = "vscode"
"""Keys of clients that lint rules read directly."""
