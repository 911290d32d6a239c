"""A part of a manifest, proposed from a program's help: TOML with a remark wherever something was guessed.

A default that the help names is not written down: the program has it, and on the command line it would only be noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

import tomli_w
from toolmason_runtime.toml.positions import dotted

from toolmason.importers.help.parser import Option
from toolmason.importers.help.runner import Answer
from toolmason.importers.help.usage import Positional
from toolmason.importers.manifest_writer import remove_refused
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
from toolmason.importers.notes import ImportFailed
from toolmason.resolve import RESERVED_MODULES
from toolmason.resolve.clis import automatic_flag

MAX_TOOLS: Final = 200
"""How many sub-commands are proposed."""

_LEFT_OUT: Final = frozenset({"--help", "-h", "--version", "-V", "-?", "--usage"})
"""What a tool has no use for."""
_INTEGERS: Final = re.compile(
    r"n|num|number|count|int(?:eger)?|uint|u?int(?:8|16|32|64)|port|lines|limit|depth", re.IGNORECASE
)
_NUMBERS: Final = re.compile(r"float(?:32|64)?|double|decimal|seconds|secs", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d{1,15}")
_MAX_NAME_LENGTH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposed:
    """A parameter with what was guessed of it."""

    table: dict[str, Any]
    guesses: tuple[str, ...] = ()


def fragment(command: Sequence[str], answer: Answer) -> str:
    """Propose the tools of a program, as TOML to be looked through.

    Raises:
        ImportFailed: there is nothing to propose.
    """
    program, argv = _program(command)
    cli = snake(PurePath(program[-1]).name, "cli")
    help_ = answer.help
    params = _params(answer)
    tools: dict[str, Any] = {}
    remarks: dict[str, list[str]] = {}
    if help_.commands and not help_.positionals:
        for name, text in help_.commands[:MAX_TOOLS]:
            tool = unique(snake("_".join([cli, *argv, name]), "tool"), tools)
            tools[tool] = _tool(cli, [*argv, name], text or f"Run `{' '.join([*command, name])}`")
            remarks[tool] = [f"Its parameters: toolmason import help -- {' '.join([*command, name])}"]
    else:
        tool = snake("_".join([cli, *argv]), "tool")
        tool = f"run_{tool}" if is_kept(tool) else tool
        summary = help_.summary or f"Run `{' '.join(command)}`"
        tools[tool] = _tool(cli, argv, summary) | {"params": {name: each.table for name, each in params.items()}}
        remarks[tool] = [] if help_.summary else ["guess: the summary; the help has none"]
    category = f"{cli}_tools" if cli in RESERVED_MODULES else cli
    data: dict[str, Any] = {
        "edition": 1,
        "server": {"name": "proposed", "package": "proposed_server"},
        "categories": {category: {"summary": f"Tools of {cli}"}},
        "clis": {cli: {"command": list(program), "category": category}},
        "tools": tools,
    }
    left_out = [f"left out: {dotted(part)}: {message}" for part, message in remove_refused(data)]
    if not tools:
        raise ImportFailed(*left_out, f"nothing that `{' '.join(command)}` tells can be a tool")
    if help_.usage.ends_options:
        data["clis"][cli]["ends_options"] = True
    head = [
        f"Proposed from `{' '.join([*command, answer.option])}`: guesses, to be looked through.",
        "Say of each tool what it may do: `read`, `write` or `destructive`. Leave out what no model needs.",
        *left_out,
    ]
    return "".join(_written(data, head, remarks, params))


def _program(command: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the program and its sub-command."""
    size = 3 if tuple(command[1:2]) == ("-m",) else 1
    return list(command[:size]), list(command[size:])


def _tool(cli: str, argv: Sequence[str], text: str) -> dict[str, Any]:
    summary = summary_of(text)
    description = cut(one_line(text), MAX_DESCRIPTION_LENGTH)
    table = {"summary": summary} | ({"description": description} if unstopped(description) != summary else {})
    return table | {"cli": cli} | ({"argv": list(argv)} if argv else {}) | {"risk": "destructive"}


# Parameters


def _params(answer: Answer) -> dict[str, _Proposed]:
    found: dict[str, _Proposed] = {}
    positionals = answer.help.positionals
    for place, positional in enumerate(positionals):
        name = unique(snake(positional.name, "argument")[:_MAX_NAME_LENGTH], found)
        follows = place + 1 < len(positionals)
        found[name] = _positional(positional, answer, positionals[:place], follows=follows)
    for option in answer.help.options:
        if _LEFT_OUT.isdisjoint(option.flags):
            name = unique(snake(option.flag.lstrip("-"), "option")[:_MAX_NAME_LENGTH], found)
            found[name] = _option(option, name, answer)
    return found


def _positional(positional: Positional, answer: Answer, before: Sequence[Positional], *, follows: bool) -> _Proposed:
    guesses = []
    if answer.help.usage.is_ambiguous:
        guesses.append("whether and where it goes; the usage has several forms")
    is_optional = not positional.required or any(not each.required for each in before)
    if is_optional and positional.required:
        guesses.append("that it may be missing; it comes after one that may")
    several = positional.several and not follows
    if positional.several and follows:
        guesses.append("that there is one; there may be several, but others come after it")
    table: dict[str, Any] = {"type": "string[]" if several else "string"}
    table["description"] = one_line(positional.description) or _words(positional.name).capitalize()
    table["positional"] = True
    if is_optional:
        table["required"] = False
    return _Proposed(table=table, guesses=tuple(guesses))


def _option(option: Option, name: str, answer: Answer) -> _Proposed:
    is_glued = option.value_may_lack and not option.flag.startswith("--")
    if not option.metavar or is_glued:
        table: dict[str, Any] = {"type": "boolean"}
        guesses = [
            "that it has no value; one would be joined to it, as in `-n5`, for which there is no flag"
        ] * is_glued
    else:
        kind, guesses = _type(option)
        table = {"type": f"{kind}[]" if option.several else kind}
    table["description"] = one_line(option.description) or _words(option.metavar) or option.flag.lstrip("-")
    flag = f"{option.flag}=" if option.metavar and option.joined and option.flag.startswith("--") else option.flag
    if flag != automatic_flag(name):
        table["flag"] = flag
    if not (option.several or is_glued):
        table |= _limits(option, str(table["type"]))
    is_required = table["type"] != "boolean" and not answer.help.usage.required_flags.isdisjoint(option.flags)
    if is_required:
        guesses.append("that it is required; the usage has it without brackets")
    else:
        table["required"] = False
    return _Proposed(table=table, guesses=tuple(guesses))


def _words(name: str) -> str:
    return " ".join(re.sub(r"[-_<>\[\]]+", " ", name).split())


def _limits(option: Option, kind: str) -> dict[str, Any]:
    if kind == "integer":
        found = {"minimum": option.minimum, "maximum": option.maximum}
        return {name: limit for name, limit in found.items() if limit is not None}
    return {"enum": list(option.choices)} if kind == "string" and option.choices else {}


def _type(option: Option) -> tuple[str, list[str]]:
    """Guess the type of a value by what the help calls it."""
    word = option.metavar.strip("<>[]{}()'\"")
    guesses = []
    if option.value_may_lack:
        guesses.append("that it has a value; it may do without")
    if option.several:
        guesses.append("that it may be given several times")
    if option.takes_more:
        guesses.append("that it has one value; the help shows several")
    if option.choices:
        if option.several:
            guesses.append(f"the values are: {', '.join(option.choices)}")
        return "string", guesses
    if option.minimum is not None or option.maximum is not None:
        return "integer", guesses
    if _INTEGERS.fullmatch(word) or (_DIGITS.fullmatch(option.default) and not _NUMBERS.fullmatch(word)):
        return "integer", [*guesses, f"a whole number, by `{one_line(option.metavar)}` or its default"]
    if _NUMBERS.fullmatch(word):
        return "number", [*guesses, f"a number, by `{one_line(option.metavar)}`"]
    return "string", guesses


# Output


def _written(
    data: dict[str, Any],
    head: Sequence[str],
    remarks: dict[str, list[str]],
    params: dict[str, _Proposed],
) -> Iterator[str]:
    yield from (f"# {one_line(each)}\n" for each in head)
    (cli,) = data["clis"]
    yield f"\n{tomli_w.dumps({'categories': data['categories']})}"
    yield "\n"
    if data["clis"][cli].get("ends_options"):
        yield "# guess: `ends_options`; the usage names `--`\n"
    yield tomli_w.dumps({"clis": data["clis"]})
    for name, table in data["tools"].items():
        own = {key: value for key, value in table.items() if key != "params"}
        yield "\n"
        yield from (f"# {one_line(each)}\n" for each in remarks[name])
        yield tomli_w.dumps({"tools": {name: own}})
        for param, described in table.get("params", {}).items():
            yield "\n"
            yield from (f"# guess: {one_line(each)}\n" for each in params[param].guesses)
            yield tomli_w.dumps({"tools": {name: {"params": {param: described}}}})
