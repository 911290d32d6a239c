"""Propose a part of a manifest from a program's help: TOML with a comment at every guess.

Defaults of the program are not copied, since the program applies them itself.
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
from toolmason.importers.manifest_writer import remove_invalid
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    cut,
    is_reserved,
    one_line,
    snake,
    strip_full_stop,
    summary_of,
    unique,
)
from toolmason.importers.notes import ImporterError
from toolmason.resolve import RESERVED_MODULES
from toolmason.resolve.clis import default_flag

MAX_TOOLS: Final = 200
"""Maximum subcommands proposed."""

_IGNORED_FLAGS: Final = frozenset({"--help", "-h", "--version", "-V", "-?", "--usage"})
"""Flags without use for a tool."""
_INTEGERS: Final = re.compile(
    r"n|num|number|count|int(?:eger)?|uint|u?int(?:8|16|32|64)|port|lines|limit|depth", re.IGNORECASE
)
_NUMBERS: Final = re.compile(r"float(?:32|64)?|double|decimal|seconds|secs", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d{1,15}")
_MAX_NAME_LENGTH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    """A parameter and the guesses about it."""

    table: dict[str, Any]
    guesses: tuple[str, ...] = ()


def fragment(command: Sequence[str], answer: Answer) -> str:
    """Return the proposed tools of a program as TOML to review.

    Raises:
        ImporterError: no tool can be proposed.
    """
    program, argv = _program(command)
    cli = snake(PurePath(program[-1]).name, "cli")
    help_ = answer.help
    params = _params(answer)
    tools: dict[str, Any] = {}
    comments: dict[str, list[str]] = {}
    if help_.commands and not help_.positionals:
        for name, text in help_.commands[:MAX_TOOLS]:
            tool = unique(snake("_".join([cli, *argv, name]), "tool"), tools)
            tools[tool] = _tool(cli, [*argv, name], text or f"Run `{' '.join([*command, name])}`")
            comments[tool] = [f"Its parameters: toolmason import help -- {' '.join([*command, name])}"]
    else:
        tool = snake("_".join([cli, *argv]), "tool")
        tool = f"run_{tool}" if is_reserved(tool) else tool
        summary = help_.summary or f"Run `{' '.join(command)}`"
        tools[tool] = _tool(cli, argv, summary) | {"params": {name: param.table for name, param in params.items()}}
        comments[tool] = [] if help_.summary else ["guess: the summary; the help has none"]
    category = f"{cli}_tools" if cli in RESERVED_MODULES else cli
    data: dict[str, Any] = {
        "edition": 1,
        "server": {"name": "proposed", "package": "proposed_server"},
        "categories": {category: {"summary": f"Tools of {cli}"}},
        "clis": {cli: {"command": list(program), "category": category}},
        "tools": tools,
    }
    left_out = [f"left out: {dotted(part)}: {message}" for part, message in remove_invalid(data)]
    if not tools:
        raise ImporterError(*left_out, f"nothing in the help of `{' '.join(command)}` can be a tool")
    if help_.usage.ends_options:
        data["clis"][cli]["ends_options"] = True
    head = [
        f"Proposed from `{' '.join([*command, answer.option])}`: review each guess.",
        "Set the `risk` of each tool to `read`, `write` or `destructive`. Remove parameters that models do not need.",
        *left_out,
    ]
    return "".join(_format_fragment(data, head, comments, params))


def _program(command: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the program, with `-m MODULE` if present, and its subcommand."""
    size = 3 if tuple(command[1:2]) == ("-m",) else 1
    return list(command[:size]), list(command[size:])


def _tool(cli: str, argv: Sequence[str], text: str) -> dict[str, Any]:
    summary = summary_of(text)
    description = cut(one_line(text), MAX_DESCRIPTION_LENGTH)
    table = {"summary": summary} | ({"description": description} if strip_full_stop(description) != summary else {})
    return table | {"cli": cli} | ({"argv": list(argv)} if argv else {}) | {"risk": "destructive"}


# Parameters


def _params(answer: Answer) -> dict[str, _Proposal]:
    params: dict[str, _Proposal] = {}
    positionals = answer.help.positionals
    for index, positional in enumerate(positionals):
        name = unique(snake(positional.name, "argument")[:_MAX_NAME_LENGTH], params)
        follows = index + 1 < len(positionals)
        params[name] = _positional(positional, answer, positionals[:index], follows=follows)
    for option in answer.help.options:
        if _IGNORED_FLAGS.isdisjoint(option.flags):
            name = unique(snake(option.flag.lstrip("-"), "option")[:_MAX_NAME_LENGTH], params)
            params[name] = _option(option, name, answer)
    return params


def _positional(positional: Positional, answer: Answer, before: Sequence[Positional], *, follows: bool) -> _Proposal:
    guesses = []
    if answer.help.usage.is_ambiguous:
        guesses.append("existence and position; the usage has several forms")
    is_optional = not positional.required or any(not previous.required for previous in before)
    if is_optional and positional.required:
        guesses.append("that it is optional; it follows an optional one")
    several = positional.several and not follows
    if positional.several and follows:
        guesses.append("that there is one; it is repeatable, but others follow it")
    table: dict[str, Any] = {"type": "string[]" if several else "string"}
    table["description"] = one_line(positional.description) or _words(positional.name).capitalize()
    table["positional"] = True
    if is_optional:
        table["required"] = False
    return _Proposal(table=table, guesses=tuple(guesses))


def _option(option: Option, name: str, answer: Answer) -> _Proposal:
    is_value_joined = option.value_may_lack and not option.flag.startswith("--")
    if not option.metavar or is_value_joined:
        table: dict[str, Any] = {"type": "boolean"}
        guesses = ["that it has no value; a joined value, as in `-n5`, has no flag"] * is_value_joined
    else:
        kind, guesses = _type(option)
        table = {"type": f"{kind}[]" if option.several else kind}
    table["description"] = one_line(option.description) or _words(option.metavar) or option.flag.lstrip("-")
    flag = f"{option.flag}=" if option.metavar and option.joined and option.flag.startswith("--") else option.flag
    if flag != default_flag(name):
        table["flag"] = flag
    if not (option.several or is_value_joined):
        table |= _limits(option, str(table["type"]))
    is_required = table["type"] != "boolean" and not answer.help.usage.required_flags.isdisjoint(option.flags)
    if is_required:
        guesses.append("that it is required; the usage has it without brackets")
    else:
        table["required"] = False
    return _Proposal(table=table, guesses=tuple(guesses))


def _words(name: str) -> str:
    return " ".join(re.sub(r"[-_<>\[\]]+", " ", name).split())


def _limits(option: Option, kind: str) -> dict[str, Any]:
    if kind == "integer":
        limits = {"minimum": option.minimum, "maximum": option.maximum}
        return {name: limit for name, limit in limits.items() if limit is not None}
    return {"enum": list(option.choices)} if kind == "string" and option.choices else {}


def _type(option: Option) -> tuple[str, list[str]]:
    """Guess the type of a value from its placeholder and default."""
    word = option.metavar.strip("<>[]{}()'\"")
    guesses = []
    if option.value_may_lack:
        guesses.append("that it has a value; the value is optional")
    if option.several:
        guesses.append("that it is repeatable")
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


def _format_fragment(
    data: dict[str, Any],
    head: Sequence[str],
    comments: dict[str, list[str]],
    params: dict[str, _Proposal],
) -> Iterator[str]:
    yield from (f"# {one_line(line)}\n" for line in head)
    (cli,) = data["clis"]
    yield f"\n{tomli_w.dumps({'categories': data['categories']})}"
    yield "\n"
    if data["clis"][cli].get("ends_options"):
        yield "# guess: `ends_options`; the usage contains `--`\n"
    yield tomli_w.dumps({"clis": data["clis"]})
    for name, table in data["tools"].items():
        header = {key: value for key, value in table.items() if key != "params"}
        yield "\n"
        yield from (f"# {one_line(comment)}\n" for comment in comments[name])
        yield tomli_w.dumps({"tools": {name: header}})
        for param, described in table.get("params", {}).items():
            yield "\n"
            yield from (f"# guess: {one_line(guess)}\n" for guess in params[param].guesses)
            yield tomli_w.dumps({"tools": {name: {"params": {param: described}}}})
