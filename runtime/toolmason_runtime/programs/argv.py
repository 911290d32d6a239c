"""From the arguments of a call to its command line: pure, no shell, and no way for a value to become an option.

What is written is decided by the placements of a tool alone. A value stands where its parameter belongs and nowhere
else; one that cannot be passed so is refused with a reason, never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from toolmason_runtime.programs.spec import CommandTool, Invocation, Place, Placement
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.schema_text import shown
from toolmason_runtime.protocol.wording import named

MAX_ELEMENT_LENGTH = 128 * 1024 - 1
"""Bytes that one element of a command line may have: what Linux takes (`MAX_ARG_STRLEN` in execve(2)), less the end."""
UNSAFE_ARGUMENT = "UNSAFE_ARGUMENT"
"""The code of the error for an argument that cannot stand on a command line."""
NOT_SET_UP = "NOT_SET_UP"
"""The code of the error for an environment of the server that lacks what a program is declared with."""

_NEWLINE = re.compile(r"[\r\n]")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_EXPANDED = re.compile(
    r"\A~(?=[/\\]|\Z) | \$\$ | \$(?P<plain>[A-Za-z_]\w*) | \$\{(?P<braced>[A-Za-z_]\w*)\}", re.VERBOSE | re.ASCII
)


class UnsafeArgumentError(ToolError):
    """A value that cannot be passed: of which parameter, why, and what could be sent instead, if that can be said."""

    def __init__(self, name: str, reason: str, advice: str = "") -> None:
        said = f"{named((name,))} {reason}{': ' if advice else ''}{advice}"
        super().__init__(said, code=UNSAFE_ARGUMENT)
        self.name = name
        self.reason = reason


def invocation(
    tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str], base: str = ""
) -> Invocation:
    """Build the command line of one call. `arguments` are valid for the tool; `environ` is that of the server.

    A relative path to the program starts where the program is declared to run, never where a call has it run: that
    would let the files that are worked on choose the program. `base` is the folder that relative ones start from.

    Raises:
        ToolError: a value cannot be passed safely, or `environ` lacks a variable that the program is declared with.
    """
    try:
        return _invocation(tool, arguments, environ, base)
    except UnsafeArgumentError as error:
        if variable := _variable_used(tool, error.name, arguments, environ):
            message = f"the environment variable {variable} of the server cannot be passed: it {error.reason}"
            raise ToolError(f"This tool is not set up: {message}", code=NOT_SET_UP) from error
        raise


def _invocation(tool: CommandTool, arguments: Mapping[str, Any], environ: Mapping[str, str], base: str) -> Invocation:
    program = tool.program
    values = values_used(tool, arguments, environ=environ)
    given = [(each, values[each.name]) for each in placements_of(tool) if each.name in values]
    name, *words = [expanded(part, environ, where=f"the command of {program.name}") for part in program.command]
    operands = [
        (name, _operand(name, item))
        for placement, value in given
        if placement.place is Place.POSITIONAL
        for name, item in named_items(placement.name, value)
    ]
    options = [
        element
        for placement, value in given
        if placement.place is Place.FLAG
        for element in _option(placement, value, tool)
    ]
    return Invocation(
        argv=(_located(name, _own_folder(tool, environ, base) or base), *words, *_ordered(tool, operands, options)),
        cwd=folder_of(tool, values, environ=environ, base=base),
        stdin=next((text_of(each.name, value) for each, value in given if each.place is Place.STDIN), None),
        env={
            name: expanded(text, environ, where=f"env.{name} of {program.name}") for name, text in program.env.items()
        },
        pass_env=program.pass_env,
        timeout_s=program.timeout_s if tool.timeout_s is None else tool.timeout_s,
        memory_mb=program.memory_mb,
    )


def placements_of(tool: CommandTool) -> tuple[Placement, ...]:
    """Give the placements of a tool, then those of its program, but for names that the tool places itself."""
    own = {each.name for each in tool.placements}
    return (*tool.placements, *(each for each in tool.program.placements if each.name not in own))


def values_used(tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> dict[str, Any]:
    """Give the values that are written, defaults included, by parameter. Null is absent, and so is what is unknown.

    Raises:
        ToolError: the environment variable for a switch is neither true nor false.
    """
    found = {each.name: _value(each, arguments, environ) for each in placements_of(tool)}
    return {name: value for name, value in found.items() if value is not None}


def folder_of(tool: CommandTool, values: Mapping[str, Any], *, environ: Mapping[str, str], base: str = "") -> str:
    """Give the folder to run in, empty for the server's own; `values` are all that are used.

    One that was sent is relative to that of the program, and this to `base`. Empty is as not sent.

    Raises:
        ToolError: what was sent can be no folder, or `environ` lacks a variable that the program is declared with.
    """
    own = _own_folder(tool, environ, base)
    name = next((each.name for each in tool.placements if each.place is Place.CWD), "")
    value = values.get(name, "")
    if value == "":
        return own
    if not isinstance(value, str):
        raise UnsafeArgumentError(name, f"must be the path of a directory; got {shown(value)}")
    return os.path.join(own or base, _one_line(name, text_of(name, value)))  # noqa: PTH118 a text, never touched


def items(value: Any) -> tuple[Any, ...]:
    """Give what is written of `value` one by one: the items of a list, else the value itself."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def named_items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Give the `items` of `value`, each with what it is called: `name`, and its place in a list."""
    is_list = isinstance(value, list | tuple)
    return ((f"{name}[{place}]" if is_list else name, item) for place, item in enumerate(items(value)))


def is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(name: str, value: Any) -> str:
    """Write the value of the parameter `name`, which is no list, as text of any length and any number of lines.

    Numbers are written out, without an exponent.

    Raises:
        ToolError: there is no such text, or no program could be given it.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _sound(name, str.__str__(value))
        case int():
            try:
                return format(value, "d")
            except ValueError:  # Python writes no integer of more than 4,300 digits
                raise UnsafeArgumentError(name, "has too many digits") from None
        case float():
            text = float.__repr__(value)
            return format(Decimal(text), "f") if "e" in text else text
    raise UnsafeArgumentError(name, f"must be a text, a number, or true or false; got {shown(value)}")


def expanded(text: str, environ: Mapping[str, str], *, where: str) -> str:
    """Put the home directory for a leading `~`, a variable for `$NAME` or `${NAME}`, and `$` for `$$`.

    What comes in so is not looked at again.

    Raises:
        ToolError: a variable is not set; `where` says what asked for it.
    """

    def variable(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match[0] == "~":
            name, value = "HOME", environ.get("HOME") or environ.get("USERPROFILE")
        else:
            name = match["plain"] or match["braced"]
            value = environ.get(name)
        if value is None:
            raise ToolError(
                f"This tool is not set up: the environment variable {name}, which {where} needs, is not set "
                f"for the server",
                code=NOT_SET_UP,
            )
        return value

    return _EXPANDED.sub(variable, text)


def _variable_used(tool: CommandTool, name: str, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Give the variable that says a value which nobody sent; empty if it was sent, or has another source."""
    variable = next((each.default_env for each in placements_of(tool) if each.name == name), "")
    return variable if arguments.get(name) is None and environ.get(variable) else ""


def _value(placement: Placement, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
    if (given := arguments.get(placement.name)) is not None:
        return given
    text = environ.get(placement.default_env, "") if placement.default_env else ""
    if not text:
        return placement.default
    if not placement.switch:
        return text
    if text.strip().casefold() in _TRUE | _FALSE:
        return text.strip().casefold() in _TRUE
    raise ToolError(
        f"This tool is not set up: the environment variable {placement.default_env} of the server must be "
        f"true or false",
        code=NOT_SET_UP,
    )


def _ordered(tool: CommandTool, operands: list[tuple[str, str]], options: list[str]) -> tuple[str, ...]:
    """Put what follows the command in order.

    A `--` that ends `argv` is the author's own: options go before it. One inside `argv` belongs to a program that
    this one runs, of which nothing is known, so that no value may look like an option there.
    """
    texts = [text for _, text in operands]
    if tool.argv[-1:] == ("--",):
        return (*tool.argv[:-1], *options, "--", *texts)
    dashed = [name for name, text in operands if _is_dashed(text)]
    if not dashed:
        return (*tool.argv, *texts, *options)
    if tool.program.ends_options and "--" not in tool.argv:
        return (*tool.argv, *options, "--", *texts)
    raise UnsafeArgumentError(
        dashed[0],
        f"starts with `-`, so that {tool.program.name} could take it for an option",
        "send a value that does not (for a file, put ./ before its name)",
    )


def _is_dashed(text: str) -> bool:
    """Whether a program could read `text` as an option. A lone `-` is a value everywhere: stdin, or a minus sign."""
    return text.startswith("-") and text != "-"


def _option(placement: Placement, value: Any, tool: CommandTool) -> Iterator[str]:
    if placement.switch:
        if not isinstance(value, bool):
            raise UnsafeArgumentError(placement.name, f"must be true or false; got {shown(value)}")
        if value:
            yield placement.flag
        return
    for name, item in named_items(placement.name, value):
        if placement.flag.endswith("="):
            yield _element(name, item, flag=placement.flag)
            continue
        text = _element(name, item)
        if _is_dashed(text) and not is_number(item):
            raise UnsafeArgumentError(
                name,
                f"starts with `-`, so that {tool.program.name} could take it for an option",
                "send a value that does not",
            )
        yield from (placement.flag, text)


def _own_folder(tool: CommandTool, environ: Mapping[str, str], base: str) -> str:
    """Give the folder that the program is declared to run in; empty if it is not."""
    own = expanded(tool.program.working_dir, environ, where=f"the working directory of {tool.program.name}")
    return os.path.join(base, own) if own else ""  # noqa: PTH118 a text, never touched


def _located(name: str, folder: str) -> str:
    """Give the path of a program that is named by one, which starts from `folder`; a name alone is looked for later."""
    return os.path.join(folder, name) if os.path.dirname(name) else name  # noqa: PTH118, PTH120 texts, never touched


def _element(name: str, value: Any, *, flag: str = "") -> str:
    """Write an element of the command line: a value, joined to its flag if there is one."""
    element = flag + text_of(name, value)
    if len(element.encode()) > MAX_ELEMENT_LENGTH:
        raise UnsafeArgumentError(name, f"is longer than the {MAX_ELEMENT_LENGTH} bytes that a command line can hold")
    return element


def _operand(name: str, item: Any) -> str:
    if isinstance(item, bool):
        raise UnsafeArgumentError(name, "cannot be true or false: nothing says what that would be without a flag")
    return _one_line(name, _element(name, item))


def _one_line(name: str, text: str) -> str:
    if (found := _NEWLINE.search(text)) is not None:
        raise UnsafeArgumentError(name, f"must be one line; there is a line break at character {found.start() + 1}")
    return text


def _sound(name: str, text: str) -> str:
    if "\0" in text:
        place = text.index("\0") + 1
        raise UnsafeArgumentError(name, f"holds the character NUL at character {place}, which ends a text")
    return text
