"""Propose a part of a manifest from a program's help: TOML with a comment at every guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

import tomli_w
from toolmason_runtime.shared.catalogue import WireTool
from toolmason_runtime.shared.toml.positions import dotted

from toolmason.catalogue.table import catalogue
from toolmason.diagnostics import Diagnostics
from toolmason.importers.command_line.help.budget import drop_deprecated, fit
from toolmason.importers.command_line.help.tools import Param, ProposedTool, tool_params, tool_table
from toolmason.importers.command_line.help.tree import Subcommand
from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import remove_invalid, resolve_tables
from toolmason.importers.names import is_reserved, one_line, server_package, snake, unique
from toolmason.importers.notes import ImporterError
from toolmason.resolve import RESERVED_MODULES

MAX_TOOLS: Final = 250
"""Maximum tools proposed."""
MAX_TOKENS: Final = 600
"""Default of the maximum tokens of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentOptions:
    """Options of the proposal: the risk of all tools, their size, and the name of a server for a whole manifest."""

    risk: str = "destructive"
    max_tokens: int = MAX_TOKENS
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """The proposal as TOML, the number of tools, and lines about everything that was left out."""

    text: str
    tools: int
    losses: tuple[str, ...]


def fragment(
    command: Sequence[str], subcommands: Sequence[Subcommand], options: FragmentOptions | None = None
) -> Fragment:
    """Return the proposed tools of a program as TOML to review.

    Raises:
        ImporterError: no tool can be proposed.
    """
    options = options or FragmentOptions()
    program = _program(command)
    cli = snake(PurePath(program[-1]).name, "cli")
    losses = [f"left out: more than {MAX_TOOLS} tools"] if len(subcommands) > MAX_TOOLS else []
    tools: dict[str, ProposedTool] = {}
    for subcommand in subcommands[:MAX_TOOLS]:
        argv = subcommand.command[len(program) :]
        name = unique(snake("_".join([cli, *argv]), "tool"), tools)
        tools[f"run_{name}" if is_reserved(name) else name] = _tool(subcommand, cli, argv, options.risk)
    data = _tables(command, cli, tools, options.name)
    for part, message in remove_invalid(data):
        losses.append(f"left out: {dotted(part)}: {message}")
        _remove(tools, part)
    if not tools:
        raise ImporterError(*losses, f"nothing in the help of `{' '.join(command)}` can be a tool")
    dropped = fit(tools, lambda: _wire(_tables(command, cli, tools, options.name)), max_tokens=options.max_tokens)
    for name, flags in dropped.items():
        tools[name].comments.append(f"left out, to stay below {options.max_tokens} tokens: {', '.join(flags)}")
        losses.append(f"{name}: {len(flags)} flags left out, to stay below {options.max_tokens} tokens")
    for limit in dict.fromkeys(known.problem for known in subcommands if known.is_beyond_limit):
        count = sum(known.problem == limit for known in subcommands)
        losses.append(f"{count} subcommands have no parameters: {limit}")
    if any(answer.help.usage.ends_options for known in subcommands if (answer := known.answer)):
        data["clis"][cli]["ends_options"] = True
    head = [
        f"Proposed from `{_source(command, subcommands)}`: review each guess.",
        "Set the `risk` of each tool to `read`, `write` or `destructive`. Remove parameters that models do not need.",
        *(line for line in losses if line.startswith("left out")),
    ]
    return Fragment(
        text="".join(_format_fragment(data, head, tools)), tools=len(tools), losses=tuple(map(one_line, losses))
    )


def _program(command: Sequence[str]) -> list[str]:
    """Return the words of a command line that name the program: its name, and `-m MODULE` if present."""
    return list(command[: 3 if tuple(command[1:2]) == ("-m",) else 1])


def _tool(subcommand: Subcommand, cli: str, argv: Sequence[str], risk: str) -> ProposedTool:
    words = " ".join(subcommand.command)
    fallback = f"Run `{words}`"
    if subcommand.answer is None:
        reason = f"{subcommand.problem}; " if subcommand.problem else ""
        comment = f"{reason}to propose its parameters, run: toolmason import help -- {words}"
        return ProposedTool(table=tool_table(cli, argv, subcommand.summary or fallback, risk), comments=[comment])
    help_ = subcommand.answer.help
    comments = [] if help_.summary else ["guess: the summary; the help has none"]
    params = tool_params(help_)
    if deprecated := drop_deprecated(params):
        comments.append(f"left out, since they are deprecated: {', '.join(deprecated)}")
    return ProposedTool(table=tool_table(cli, argv, help_.summary or fallback, risk), params=params, comments=comments)


def _tables(command: Sequence[str], cli: str, tools: Mapping[str, ProposedTool], name: str) -> dict[str, Any]:
    category = f"{cli}_tools" if cli in RESERVED_MODULES else cli
    name = name or "proposed"
    return {
        "edition": 1,
        "server": {"name": name, "package": server_package(name, "proposed")},
        "categories": {category: {"summary": f"Tools of {cli}"}},
        "clis": {cli: {"command": _program(command), "category": category}},
        "tools": {
            key: tool.table | ({"params": {param: known.table for param, known in tool.params.items()}})
            for key, tool in tools.items()
        },
    }


def _remove(tools: dict[str, ProposedTool], part: Sequence[str | int]) -> None:
    """Remove a part that is invalid in a manifest: a tool or one of its parameters."""
    name, *path = (str(key) for key in part[1:])
    if path[:1] == ["params"]:
        tools[name].params.pop(path[1], None)
    else:
        tools.pop(name, None)


def _wire(data: Mapping[str, Any]) -> dict[str, WireTool]:
    """Return the tools as they are sent to clients."""
    server = resolve_tables(data, "", diagnostics=Diagnostics(), root=Path())
    return {name: entry["tool"] for name, entry in catalogue(server)["tools"].items()} if server else {}


def _source(command: Sequence[str], subcommands: Sequence[Subcommand]) -> str:
    """Return the command line that the proposal comes from."""
    first = subcommands[0]
    if first.answer and first.command == tuple(command):
        return first.answer.source or " ".join([*command, first.answer.option])
    return " ".join([*command, "--help"])


# Output


def _format_fragment(data: dict[str, Any], head: Sequence[str], tools: Mapping[str, ProposedTool]) -> Iterator[str]:
    yield from (f"# {one_line(line)}\n" for line in head)
    if data["server"]["name"] != "proposed":
        yield f"\n{tomli_w.dumps({'edition': data['edition'], 'server': data['server']})}"
    (cli,) = data["clis"]
    yield f"\n{tomli_w.dumps({'categories': data['categories']})}"
    yield "\n"
    if data["clis"][cli].get("ends_options"):
        yield "# guess: `ends_options`; the usage contains `--`\n"
    yield f"[clis.{cli}]\n"
    yield from (f"{key} = {inline_value(value)}\n" for key, value in data["clis"][cli].items())
    for name, tool in tools.items():
        yield "\n"
        yield from (f"# {one_line(comment)}\n" for comment in tool.comments)
        yield f"[tools.{name}]\n"
        yield from (f"{key} = {inline_value(value)}\n" for key, value in tool.table.items())
        yield from (line for param, known in tool.params.items() for line in _format_param(param, known))


def _format_param(name: str, param: Param) -> Iterator[str]:
    yield from (f"# guess: {one_line(guess)}\n" for guess in param.guesses)
    yield f"params.{inline_key(name)} = {inline_value(param.table)}\n"
