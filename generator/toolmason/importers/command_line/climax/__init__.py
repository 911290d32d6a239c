"""Convert CLImax's YAML, which describes programs for an MCP server, to the tables of a manifest.

The command line of a tool stays the same for the same arguments. Parts for which that is impossible are left out with a
note. https://github.com/get2knowio/climax
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.specs.program import Program
from toolmason_runtime.shared.toml.problems import either, quoted

from toolmason.importers.command_line.climax.mapping_reader import Fields
from toolmason.importers.command_line.climax.params import Global, Params, global_params, tool_params
from toolmason.importers.command_line.climax.value_risk import format_by_value, risk_by_value
from toolmason.importers.command_line.climax.yaml_nodes import read_yaml
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    ToolNames,
    cut,
    one_line,
    server_package,
    snake,
    strip_full_stop,
    summary_of,
    unique,
)
from toolmason.importers.notes import ImporterError, Notes
from toolmason.manifest.checks import RISKS
from toolmason.model.identifiers import group_constant_name
from toolmason.model.types import Identifier
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import MAX_NAME_LENGTH

DEFAULT_NAME: Final = "climax"
"""CLImax's name for a server of several files."""
DEFAULT_UNSTATED_RISK: Final = "destructive"

_FILE_KEYS: Final = (
    *("name", "description", "command", "env", "working_dir"),
    *("category", "tags", "global_args", "tools"),
)
_TOOL_KEYS: Final = ("name", "description", "command", "args", "timeout", "risk", "confirm_message", "resolve")
_DEFAULT_TIMEOUT_S: Final = Program(name="", command=()).timeout_s
_MIN_TIMEOUT_S: Final = 0.1
_LITERAL_DOLLAR: Final = re.compile(r"\$(?![A-Za-z_]|\{[A-Za-z_]\w*\})", re.ASCII)
"""A dollar sign that begins no variable, as in `$5`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The tables of a manifest, and the new names of tools and arguments by their original names."""

    data: dict[str, Any]
    tools: Mapping[str, str]
    arguments: Mapping[str, Mapping[str, str]]
    unstated_risks: int
    """Number of tools without `risk`."""

    def tool(self, original: str) -> str:
        """Return the name of a tool in the manifest; empty if it was left out."""
        name = self.tools.get(original, "")
        return name if name in self.data["tools"] else ""

    def argument(self, tool: str, original: str) -> str:
        """Return the name of an argument in the manifest; empty if it was left out."""
        name = self.arguments[tool].get(original, "")
        return name if name in self.data["tools"][self.tools[tool]].get("params", {}) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cli:
    """A file: its new and original name, the arguments of all its command lines, and its table."""

    name: str
    original: str
    fields: Fields
    globals_: Sequence[Global]
    table: dict[str, Any]


def _constant_name(program: str) -> Identifier:
    return group_constant_name(program, "PROGRAM")


def import_climax(
    paths: Sequence[Path], notes: Notes, *, name: str = "", unstated_risk: str = DEFAULT_UNSTATED_RISK
) -> Imported:
    """Return the manifest for `paths`. `name` is the name of the server.

    `unstated_risk` is the risk of tools without `risk`, which CLImax treats as `read`.

    Raises:
        ImporterError: a file cannot be read, has no tools, or has a default that would be lost.
    """
    clis: list[_Cli] = []
    categories: dict[str, Any] = {}
    for path in paths:
        root = read_yaml(path, notes)
        if not isinstance(root.value, dict):
            raise ImporterError(f"{path.as_posix()}:{root.position.line}:{root.position.column}: expected a mapping")
        fields = Fields(node=root, path=path.as_posix(), notes=notes)
        clis.append(_cli(fields, categories, {_constant_name(cli.name) for cli in clis}))
    server = _server_name(name or (clis[0].original if len(clis) == 1 else DEFAULT_NAME))
    tools = _Tools(server, unstated_risk)
    for cli in clis:
        for fields in cli.fields.mappings("tools"):
            tools.add(cli, fields)
    if not tools.tables:
        raise ImporterError(f"{paths[0].as_posix()}: the file has no tools")
    notes.check()
    return Imported(
        data={
            "edition": 1,
            "server": {"name": server, "package": server_package(server, "cli")},
            "discovery": {"detail": "full"},  # CLImax returns whole entries
            "categories": categories,
            "clis": {cli.name: cli.table for cli in clis},
            "tools": {tools.names[old]: table for old, table in tools.tables.items()},
        },
        tools=tools.names,
        arguments=tools.arguments,
        unstated_risks=len(tools.unstated),
    )


def _server_name(text: str) -> str:
    return snake(text, "cli")[:MAX_NAME_LENGTH].strip("_").replace("_", "-")


def _cli(fields: Fields, categories: dict[str, Any], used: set[str]) -> _Cli:
    fields.report_unknown(_FILE_KEYS)
    command = fields.text("command").split()
    if not command:
        position = fields.node.position
        raise ImporterError(f"{fields.path}:{position.line}:{position.column}: missing `command`")
    original = fields.text("name") or DEFAULT_NAME
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", original).strip("-_")
    name = unique(plain if plain[:1].isalpha() else snake(original, "cli"), used, _constant_name)
    if name != original:
        fields.note(f"the program {quoted(original)} is renamed to `{name}`: its name is in use or invalid", "name")
    description = fields.text("description")
    table: dict[str, Any] = {"command": [_command_part(fields, index, part) for index, part in enumerate(command)]}
    if description:
        table["summary"] = _shortened(fields, description, "description")
    table["category"] = _category(fields, name, categories, table.get("summary", ""))
    if tags := fields.texts("tags"):
        table["tags"] = tags
    if env := _environment(fields):
        table["env"] = env
    if directory := fields.text("working_dir"):
        table["working_dir"] = _literal(fields, "working_dir", directory)
    globals_ = global_params(fields)
    if globals_:
        table["params"] = {param.name: param.table for param in globals_}
    fields.note(
        "CLImax passes the whole environment of the server; here the program gets only basic variables and those in "
        "`env` and `pass_env`",
        "command",
    )
    return _Cli(name=name, original=original, fields=fields, globals_=globals_, table=table)


def _command_part(fields: Fields, index: int, part: str) -> str:
    if part.startswith("~") and (index or (part != "~" and part[1] not in "/\\")):
        effect = "is now the home directory" if index else "is another user's home directory, which is unsupported"
        fields.note(f"the `~` of {quoted(part)} {effect}", "command")
    return _LITERAL_DOLLAR.sub("$$", part)


def _literal(fields: Fields, key: str, text: str) -> str:
    """Escape a text that CLImax does not expand."""
    if "$" in text:
        fields.note(
            f"the `$` of {quoted(text)} is escaped, as CLImax expands no variables here: write `$` to expand it",
            key,
        )
    if text == "~" or text.startswith(("~/", "~\\")):
        fields.note(f"the `~` of {quoted(text)} is now the home directory", key)
    return text.replace("$", "$$")


def _environment(fields: Fields) -> dict[str, str]:
    variables = {}
    for name, node in fields.mapping("env").items():
        if isinstance(node.value, dict | tuple) or node.value is None:
            fields.note(f"the variable {quoted(name)} is not a text, left out", "env")
        elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            fields.note(f"{quoted(name)} is not a valid name of an environment variable, left out", "env")
        else:
            variables[name] = _literal(fields, "env", node.text)
    return variables


def _category(fields: Fields, cli: str, categories: dict[str, Any], summary: str) -> str:
    original = fields.text("category")
    name = snake(original or cli, "category")
    if name in RESERVED_MODULES:
        name = f"{name}_tools"
    if original and name != original:
        fields.note(f"the category {quoted(original)} is renamed to `{name}`", "category")
    categories.setdefault(name, {"summary": summary or f"Tools of {cli}"})
    return name


def _shortened(fields: Fields, text: str, key: str) -> str:
    summary = summary_of(text)
    if summary != strip_full_stop(one_line(text)):
        fields.note(f"the summary is shortened to {quoted(summary)}", key)
    return summary


class _Tools:
    """The tools of all files by original name."""

    def __init__(self, server: str, unstated_risk: str) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {}
        self.arguments: dict[str, Mapping[str, str]] = {}
        self.unstated: set[str] = set()
        self._names = ToolNames(server)
        self._unstated_risk = unstated_risk

    def add(self, cli: _Cli, fields: Fields) -> None:
        """Add a tool, or replace the one of the same name as CLImax does."""
        original = fields.text("name")
        if not original:
            fields.note("a tool without a name, left out")
            return
        fields = fields.called(original)
        fields.report_unknown(_TOOL_KEYS)
        if original in self.tables:
            fields.note("a second tool of this name replaces the first, as in CLImax", "name")
        else:
            self.names[original] = self._name(cli, fields, original)
        self.unstated.discard(original)
        if not fields.has("risk"):
            self.unstated.add(original)
        params = tool_params(fields, cli.globals_)
        table = _tool(cli, fields, original, params=params, unstated_risk=self._unstated_risk)
        if params.tables:
            table["params"] = params.tables
        self.tables[original] = table
        self.arguments[original] = params.names

    def _name(self, cli: _Cli, fields: Fields, original: str) -> str:
        name, reason = self._names.add(snake(original, "tool"), group=snake(cli.name, "cli"))
        if name != original:
            fields.note(f"the tool is renamed to `{name}`, {reason}", "name")
        return name


def _tool(cli: _Cli, fields: Fields, name: str, *, params: Params, unstated_risk: str) -> dict[str, Any]:
    argv = fields.text("command").split()
    description = fields.text("description").strip()
    if not description:
        fields.note("it has no description: write one")
        description = f"Run {' '.join([*cli.table['command'], *argv])}"
    table: dict[str, Any] = {**texts(fields, description, name), "cli": cli.name}
    if argv:
        table["argv"] = argv
    if argv[-1:] == ["--"]:
        fields.note("its options now precede the `--`; CLImax passes them after it, as arguments", "command")
    table["risk"] = _risk(fields, unstated_risk, params)
    if confirm := _confirm(fields, params):
        table["confirm"] = confirm
    timeout = fields.number("timeout")
    if timeout and timeout != _DEFAULT_TIMEOUT_S:
        if timeout >= _MIN_TIMEOUT_S:
            table["timeout"] = timeout
        else:
            fields.note(f"`timeout` is less than {_MIN_TIMEOUT_S} seconds, left out", "timeout")
    if fields.has("resolve"):
        fields.note("`resolve` is not supported, left out: the confirmation shows the command line", "resolve")
    return table


def texts(fields: Fields, description: str, name: str) -> dict[str, Any]:
    """Return the summary and the description of a tool; a description that the summary repeats is left out."""
    if len(description) > MAX_DESCRIPTION_LENGTH:
        fields.note(f"the description is shortened to {MAX_DESCRIPTION_LENGTH:,} characters", "description")
        description = cut(description, MAX_DESCRIPTION_LENGTH)
    summary = _shortened(fields, description, "description") or name
    return {"summary": summary} | ({} if summary == strip_full_stop(description) else {"description": description})


def _risk(fields: Fields, unstated: str, params: Params) -> str | dict[str, dict[str, str]]:
    """Return the stated risk, or `unstated`, which choices such as DELETE raise. For a stated risk, they are noted."""
    node = fields.get("risk") if fields.has("risk") else None
    if node is None:
        by_value = risk_by_value(params.tables, unstated if unstated in RISKS else "read")
        if unstated == DEFAULT_UNSTATED_RISK:
            fields.note("no `risk`: set to `destructive` (CLImax assumes `read`); set the correct value")
            if proposal := risk_by_value(params.tables, "read"):
                fields.note(f"its risk may depend on a value: {format_by_value(proposal)}")
            return unstated
        if by_value:
            fields.note(f"no `risk`, and some values change or delete: set to {format_by_value(by_value)}; review it")
        return by_value or unstated
    is_text = not isinstance(node.value, dict | tuple)
    if is_text and node.text in RISKS:
        if node.text != "destructive" and (by_value := risk_by_value(params.tables, node.text)):
            fields.note(f"`{node.text}` is the risk of all values: consider {format_by_value(by_value)}", "risk")
        return node.text
    problem = f"{quoted(node.text)} is not a valid `risk`" if is_text else "`risk` is not a text"
    fields.note(f"{problem}: set to `destructive`; use {either(RISKS)}", "risk")
    return "destructive"


def _confirm(fields: Fields, params: Params) -> str:
    """Return the question with the new names of arguments; empty, with a note, if one is unknown."""
    text = one_line(fields.text("confirm_message"))
    unknown: list[str] = []

    def rename(match: re.Match[str]) -> str:
        placeholder = match[0]
        if placeholder in ("{{", "}}"):
            return placeholder
        if name := params.names.get(placeholder[1:-1]):
            return f"{{{name}}}"
        unknown.append(placeholder)
        return ""

    confirm = re.sub(r"\{\{|\}\}|\{[^{}]*\}|[{}]", rename, text)
    if unknown:
        problem = f"{quoted(text)} contains {quoted(unknown[0])}, which is not the name of an argument in braces"
        fields.note(f"{problem}: left out, the command line is shown", "confirm_message")
        return ""
    return confirm
