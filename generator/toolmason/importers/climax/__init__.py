"""CLImax's YAML, which describes programs for an MCP server, turned into the tables of a manifest.

What a tool runs stays the same: the same words in the same order for the same arguments. Where that cannot be, the
part is left out and noted. https://github.com/get2knowio/climax
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.programs.spec import Program
from toolmason_runtime.toml.problems import either, quoted

from toolmason.importers.climax.mapping_reader import Fields
from toolmason.importers.climax.params import Global, Params, global_params, tool_params
from toolmason.importers.climax.yaml_nodes import read_yaml
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    cut,
    is_kept,
    one_line,
    snake,
    summary_of,
    unique,
    unstopped,
)
from toolmason.importers.notes import ImportFailed, Notes
from toolmason.manifest.validate_clis import RISKS
from toolmason.model.identifiers import class_name, constant_name, program_constant_name
from toolmason.resolve import RESERVED_MODULES
from toolmason.resolve.tool_names import refusal
from toolmason.scaffold import MAX_NAME_LENGTH

SEVERAL: Final = "climax"
"""What a server of several files is called there."""
DEFAULT_UNSTATED_RISK: Final = "destructive"

_FILE_KEYS: Final = (
    *("name", "description", "command", "env", "working_dir"),
    *("category", "tags", "global_args", "tools"),
)
_TOOL_KEYS: Final = ("name", "description", "command", "args", "timeout", "risk", "confirm_message", "resolve")
_USUAL_TIMEOUT: Final = Program(name="", command=()).timeout_s
_MIN_TIMEOUT_S: Final = 0.1
_VARIABLE: Final = re.compile(r"\$(?![A-Za-z_]|\{[A-Za-z_]\w*\})", re.ASCII)
"""A dollar sign before which no variable begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The tables of a manifest, and for each tool by its old name its new one and those of its arguments."""

    data: dict[str, Any]
    tools: Mapping[str, str]
    arguments: Mapping[str, Mapping[str, str]]
    unstated_risks: int
    """Tools that do not state their risk."""

    def tool(self, original: str) -> str:
        """Give the name of a tool in the manifest; empty if it has none there."""
        name = self.tools.get(original, "")
        return name if name in self.data["tools"] else ""

    def argument(self, tool: str, original: str) -> str:
        """Give the name of an argument in the manifest; empty if it has none there."""
        name = self.arguments[tool].get(original, "")
        return name if name in self.data["tools"][self.tools[tool]].get("params", {}) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cli:
    """A file: what it is called there and here, the arguments of all its command lines, and its table."""

    name: str
    original: str
    fields: Fields
    globals_: Sequence[Global]
    table: dict[str, Any]


def import_climax(
    paths: Sequence[Path], notes: Notes, *, name: str = "", unstated_risk: str = DEFAULT_UNSTATED_RISK
) -> Imported:
    """Read files and make a manifest of them. `name` is that of the server.

    `unstated_risk` is the risk of tools that do not state one; CLImax takes them for `read`.

    Raises:
        ImportFailed: a file cannot be read, has no tool, or a default of it would be lost.
    """
    clis: list[_Cli] = []
    categories: dict[str, Any] = {}
    for path in paths:
        root = read_yaml(path, notes)
        if not isinstance(root.value, dict):
            raise ImportFailed(f"{path.as_posix()}:{root.place.line}:{root.place.column}: this is no mapping")
        fields = Fields(node=root, path=path.as_posix(), notes=notes)
        clis.append(_cli(fields, categories, {program_constant_name(each.name) for each in clis}))
    server = _server_name(name or (clis[0].original if len(clis) == 1 else SEVERAL))
    tools = _Tools(server, unstated_risk)
    for cli in clis:
        for fields in cli.fields.mappings("tools"):
            tools.add(cli, fields)
    if not tools.tables:
        raise ImportFailed(f"{paths[0].as_posix()}: there is no tool in it")
    notes.check()
    return Imported(
        data={
            "edition": 1,
            "server": {"name": server, "package": f"{snake(server, 'cli')}_server"},
            "categories": categories,
            "clis": {cli.name: cli.table for cli in clis},
            "tools": {tools.names[old]: table for old, table in tools.tables.items()},
        },
        tools=tools.names,
        arguments=tools.arguments,
        unstated_risks=len(tools.unstated),
    )


def _server_name(wanted: str) -> str:
    return snake(wanted, "cli")[:MAX_NAME_LENGTH].strip("_").replace("_", "-")


def _cli(fields: Fields, categories: dict[str, Any], taken: set[str]) -> _Cli:
    fields.known(_FILE_KEYS)
    command = fields.text("command").split()
    if not command:
        place = fields.node.place
        raise ImportFailed(f"{fields.path}:{place.line}:{place.column}: `command` is missing: the program to run")
    original = fields.text("name") or SEVERAL
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", original).strip("-_")
    name = unique(plain if plain[:1].isalpha() else snake(original, "cli"), taken, program_constant_name)
    if name != original:
        fields.note(f"the program {quoted(original)} is called `{name}`: the name is taken or refused", "name")
    description = fields.text("description")
    table: dict[str, Any] = {"command": [_command_part(fields, *each) for each in enumerate(command)]}
    if description:
        table["summary"] = _shortened(fields, description, "description")
    table["category"] = _category(fields, name, categories, table.get("summary", ""))
    if tags := fields.texts("tags"):
        table["tags"] = tags
    if env := _environment(fields):
        table["env"] = env
    if folder := fields.text("working_dir"):
        table["working_dir"] = _literal(fields, "working_dir", folder)
    globals_ = global_params(fields)
    if globals_:
        table["params"] = {each.name: each.table for each in globals_}
    fields.note(
        "it was given the whole environment of the server; here it gets only what any program needs, and what "
        "`env` and `pass_env` of its table name",
        "command",
    )
    return _Cli(name=name, original=original, fields=fields, globals_=globals_, table=table)


def _command_part(fields: Fields, place: int, part: str) -> str:
    if part.startswith("~") and (place or (part != "~" and part[1] not in "/\\")):
        words = "is the home directory here, and was none there" if place else "is another's home, which is not found"
        fields.note(f"the `~` of {quoted(part)} {words}", "command")
    return _VARIABLE.sub("$$", part)


def _literal(fields: Fields, key: str, text: str) -> str:
    """Write a text that was not expanded so that it still is not."""
    if "$" in text:
        fields.note(f"the `$` of {quoted(text)} was no variable and is none: write one `$` to make it one", key)
    if text == "~" or text.startswith(("~/", "~\\")):
        fields.note(f"the `~` of {quoted(text)} is the home directory here, and was none there", key)
    return text.replace("$", "$$")


def _environment(fields: Fields) -> dict[str, str]:
    found = {}
    for name, node in fields.mapping("env").items():
        if isinstance(node.value, dict | tuple) or node.value is None:
            fields.note(f"the variable {quoted(name)} is no text, left out", "env")
        elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            fields.note(f"{quoted(name)} cannot name an environment variable, left out", "env")
        else:
            found[name] = _literal(fields, "env", node.text)
    return found


def _category(fields: Fields, cli: str, categories: dict[str, Any], summary: str) -> str:
    original = fields.text("category")
    name = snake(original or cli, "category")
    if name in RESERVED_MODULES:
        name = f"{name}_tools"
    if original and name != original:
        fields.note(f"the category {quoted(original)} is called `{name}`", "category")
    categories.setdefault(name, {"summary": summary or f"Tools of {cli}"})
    return name


def _shortened(fields: Fields, text: str, key: str) -> str:
    summary = summary_of(text)
    if summary != unstopped(one_line(text)):
        fields.note(f"the summary is cut to {quoted(summary)}", key)
    return summary


class _Tools:
    """The tools of all files, by the names they had."""

    def __init__(self, server: str, unstated_risk: str) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.names: dict[str, str] = {}
        self.arguments: dict[str, Mapping[str, str]] = {}
        self.unstated: set[str] = set()
        self._server = server
        self._unstated_risk = unstated_risk
        self._taken: set[str] = set()

    def add(self, cli: _Cli, fields: Fields) -> None:
        """Take a tool. One of the same name is replaced, as it was there."""
        original = fields.text("name")
        if not original:
            fields.note("a tool without a name, left out")
            return
        fields = fields.called(original)
        fields.known(_TOOL_KEYS)
        if original in self.tables:
            fields.note("a second tool of this name, which replaces the first, as it did", "name")
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
        reason = "since names hold a-z, 0-9 and _ once each"
        name = snake(original, "tool")
        if is_kept(name):
            reason = "since a server keeps that name for itself"
            name = f"{snake(cli.name, 'cli')}_{name}"
        if refusal(name, self._server):
            reason = "which is short enough for clients"
        name = _fitting(name, self._server)
        if not self._taken.isdisjoint(_made_of(name)):
            numbered = (_fitting(name, self._server, f"_{number}") for number in count(2))
            name = next(each for each in numbered if self._taken.isdisjoint(_made_of(each)))
        self._taken |= _made_of(name)
        if name != original:
            fields.note(f"the tool is called `{name}`, {reason}", "name")
        return name


def _made_of(name: str) -> set[str]:
    """Give what the toolkit calls things of a tool, which must differ from those of another."""
    return {name, constant_name(name), class_name(name)}


def _fitting(name: str, server: str, end: str = "") -> str:
    """Shorten a name until clients take it with `end` behind it."""
    while refusal(name + end, server):
        name = name[:-1].rstrip("_")
    return name + end


def _tool(cli: _Cli, fields: Fields, name: str, *, params: Params, unstated_risk: str) -> dict[str, Any]:
    argv = fields.text("command").split()
    description = fields.text("description").strip()
    if not description:
        fields.note("it has no description: write one")
        description = f"Run {' '.join([*cli.table['command'], *argv])}"
    if len(description) > MAX_DESCRIPTION_LENGTH:
        fields.note(f"the description is cut to {MAX_DESCRIPTION_LENGTH:,} characters", "description")
        description = cut(description, MAX_DESCRIPTION_LENGTH)
    table: dict[str, Any] = {"summary": _shortened(fields, description, "description") or name}
    if table["summary"] != unstopped(description):
        table["description"] = description
    table |= {"cli": cli.name}
    if argv:
        table["argv"] = argv
    if argv[-1:] == ["--"]:
        fields.note("its options stand before the `--`, and stood behind it, where they were none", "command")
    table["risk"] = _risk(fields, unstated_risk)
    if confirm := _confirm(fields, params):
        table["confirm"] = confirm
    timeout = fields.number("timeout")
    if timeout and timeout != _USUAL_TIMEOUT:
        if timeout >= _MIN_TIMEOUT_S:
            table["timeout"] = timeout
        else:
            fields.note(f"`timeout` is less than {_MIN_TIMEOUT_S} seconds, left out", "timeout")
    if fields.has("resolve"):
        fields.note("`resolve` has no counterpart, left out: who is asked sees the command line", "resolve")
    return table


def _risk(fields: Fields, unstated: str) -> str:
    node = fields.get("risk") if fields.has("risk") else None
    if node is None:
        if unstated == DEFAULT_UNSTATED_RISK:
            fields.note(
                "nothing says its risk, so it counts as destructive (it was taken for `read`): say what is right"
            )
        return unstated
    is_text = not isinstance(node.value, dict | tuple)
    if is_text and node.text in RISKS:
        return node.text
    what = f"{quoted(node.text)} is no `risk`" if is_text else "`risk` is no text"
    fields.note(f"{what}, so it counts as destructive: it would be {either(RISKS)}", "risk")
    return "destructive"


def _confirm(fields: Fields, params: Params) -> str:
    """Return the question with the arguments it names by their new names; empty, and noted, if one is unknown."""
    text = one_line(fields.text("confirm_message"))
    unknown: list[str] = []

    def renamed(found: re.Match[str]) -> str:
        place = found[0]
        if place in ("{{", "}}"):
            return place
        if name := params.names.get(place[1:-1]):
            return f"{{{name}}}"
        unknown.append(place)
        return ""

    confirm = re.sub(r"\{\{|\}\}|\{[^{}]*\}|[{}]", renamed, text)
    if unknown:
        words = f"{quoted(text)} has {quoted(unknown[0])}, which is not the name of an argument in braces"
        fields.note(f"{words}: left out, the command line is shown", "confirm_message")
        return ""
    return confirm
