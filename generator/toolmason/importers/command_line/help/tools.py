"""Propose the tables of a tool from the help of a subcommand.

Defaults of the program are not copied, since the program applies them itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.placeholders import escape_texts

from toolmason.importers.command_line.help.parser import Help, Option
from toolmason.importers.command_line.help.usage import Positional
from toolmason.importers.names import MAX_DESCRIPTION_LENGTH, cut, one_line, snake, strip_full_stop, summary_of, unique
from toolmason.kinds.command.resolve import default_flag

_IGNORED_FLAGS: Final = frozenset({"--help", "-h", "-help", "--version", "-V", "-version", "-?", "--usage"})
"""Flags without use for a tool."""
_INTEGERS: Final = re.compile(
    r"n|num|number|count|int(?:eger)?|uint|u?int(?:8|16|32|64)|port|lines|limit|depth", re.IGNORECASE
)
_NUMBERS: Final = re.compile(r"float(?:32|64)?|double|decimal|seconds|secs", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\d{1,15}")
_MAX_NAME_LENGTH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """A proposed parameter, the guesses about it, and the option that it comes from, None for a positional."""

    table: dict[str, Any]
    guesses: tuple[str, ...] = ()
    option: Option | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTool:
    """A proposed tool: its table without parameters, the parameters by name, and comments for the reader."""

    table: dict[str, Any]
    params: dict[str, Param] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)


def tool_table(cli: str, argv: Sequence[str], text: str, risk: str) -> dict[str, Any]:
    """Return the table of a tool without its parameters."""
    summary = summary_of(text)
    description = cut(one_line(text), MAX_DESCRIPTION_LENGTH)
    table: dict[str, Any] = {"summary": summary} | (
        {"description": description} if strip_full_stop(description) != summary else {}
    )
    escape_texts(table)
    return table | {"cli": cli} | ({"argv": list(argv)} if argv else {}) | {"risk": risk}


def tool_params(help_: Help) -> dict[str, Param]:
    """Return the proposed parameters of a tool by name."""
    params: dict[str, Param] = {}
    positionals = help_.positionals
    for index, positional in enumerate(positionals):
        name = unique(snake(positional.name, "argument")[:_MAX_NAME_LENGTH], params)
        follows = index + 1 < len(positionals)
        params[name] = _positional(positional, help_, positionals[:index], follows=follows)
    for option in help_.options:
        if option.flag not in _IGNORED_FLAGS:
            name = unique(snake(option.flag.lstrip("-"), "option")[:_MAX_NAME_LENGTH], params)
            params[name] = _option(option, name, help_)
    return params


def _positional(positional: Positional, help_: Help, before: Sequence[Positional], *, follows: bool) -> Param:
    guesses = []
    if help_.usage.is_ambiguous:
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
    return Param(table=table, guesses=tuple(guesses))


def _option(option: Option, name: str, help_: Help) -> Param:
    is_value_joined = option.value_may_lack and len(option.flag) == 2
    if not option.metavar or is_value_joined:
        table: dict[str, Any] = {"type": "boolean"}
        guesses = ["that it has no value; a joined value, as in `-n5`, has no flag"] * is_value_joined
    else:
        kind, guesses = _type(option)
        table = {"type": f"{kind}[]" if option.several else kind}
    table["description"] = one_line(option.description) or _words(option.metavar) or option.flag.lstrip("-")
    flag = f"{option.flag}=" if option.metavar and option.joined and len(option.flag) > 2 else option.flag
    if flag != default_flag(name):
        table["flag"] = flag
    if not (option.several or is_value_joined):
        table |= _limits(option, str(table["type"]))
    is_required = table["type"] != "boolean" and not help_.usage.required_flags.isdisjoint(option.flags)
    if is_required:
        guesses.append("that it is required; the usage has it without brackets")
    elif table["type"] != "boolean":
        table["required"] = False
    return Param(table=table, guesses=tuple(guesses), option=option)


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
