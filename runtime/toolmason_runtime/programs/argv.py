"""Build the command line of a call: no shell, no side effects, and no value can become an option.

The placements of a tool alone decide the position of each value. A value that cannot be passed there is refused with a
reason; values are never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind
from toolmason_runtime.shared.values.schema_text import shown
from toolmason_runtime.shared.values.wording import named

MAX_ELEMENT_LENGTH = 128 * 1024 - 1
"""Maximum bytes of one argument: Linux's `MAX_ARG_STRLEN` (execve(2)) without the final NUL."""
UNSAFE_ARGUMENT = "UNSAFE_ARGUMENT"
"""Error code: an argument cannot be passed on a command line."""
NOT_SET_UP = "NOT_SET_UP"
"""Error code: the server's environment lacks a variable that the program is declared with."""

_NEWLINE = re.compile(r"[\r\n]")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_EXPANSION = re.compile(
    r"\A~(?=[/\\]|\Z) | \$\$ | \$(?P<plain>[A-Za-z_]\w*) | \$\{(?P<braced>[A-Za-z_]\w*)\}", re.VERBOSE | re.ASCII
)
"""`~` in `~/bin`, `$$`, `$HOME` and `${HOME}`."""


class UnsafeArgumentError(ToolError):
    """A value cannot be passed on a command line. The message has the parameter, the reason and possibly a fix."""

    def __init__(self, name: str, reason: str, advice: str = "") -> None:
        text = f"{named((name,))} {reason}{': ' if advice else ''}{advice}"
        super().__init__(text, code=UNSAFE_ARGUMENT)
        self.name = name
        self.reason = reason


def build_invocation(
    tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str], base: str = ""
) -> Invocation:
    """Build the command line of one call.

    A relative path to the program starts from the declared working directory, never from that of the call: otherwise
    the files of a project could choose the program.

    Args:
        tool: The tool.
        arguments: Valid arguments of the tool.
        environ: The environment of the server.
        base: The directory that relative working directories start from.

    Raises:
        ToolError: a value cannot be passed safely, or `environ` lacks a variable that the program is declared with.
    """
    try:
        return _build(tool, arguments, environ, base)
    except UnsafeArgumentError as error:
        if variable := _default_variable(tool, error.name, arguments, environ):
            message = f"the environment variable {variable} of the server cannot be passed: it {error.reason}"
            raise ToolError(f"This tool is not set up: {message}", code=NOT_SET_UP) from error
        raise


def _build(tool: CommandTool, arguments: Mapping[str, Any], environ: Mapping[str, str], base: str) -> Invocation:
    program = tool.program
    values = effective_values(tool, arguments, environ=environ)
    values_by_placement = [
        (placement, values[placement.name]) for placement in placements_of(tool) if placement.name in values
    ]
    name, *words = [expand_variables(part, environ, where=f"the command of {program.name}") for part in program.command]
    positionals = [
        _Positional(name, _positional(name, item), is_number=is_number(item))
        for placement, value in values_by_placement
        if placement.place is PlacementKind.POSITIONAL
        for name, item in labelled_items(placement.name, value)
    ]
    options = [
        element
        for placement, value in values_by_placement
        if placement.place is PlacementKind.FLAG
        for element in _option(placement, value, tool)
    ]
    return Invocation(
        argv=(
            _program_path(name, _declared_working_dir(tool, environ, base) or base),
            *words,
            *_order_arguments(tool, positionals, options),
        ),
        cwd=resolve_working_dir(tool, values, environ=environ, base=base),
        stdin=next(
            (
                argument_text(placement.name, value)
                for placement, value in values_by_placement
                if placement.place is PlacementKind.STDIN
            ),
            None,
        ),
        env={
            name: expand_variables(text, environ, where=f"env.{name} of {program.name}")
            for name, text in program.env.items()
        },
        pass_env=program.pass_env,
        timeout_s=program.timeout_s if tool.timeout_s is None else tool.timeout_s,
        memory_mb=program.memory_mb,
    )


class _Positional(NamedTuple):
    """The text of a positional, with its name for errors."""

    name: str
    text: str
    is_number: bool


def placements_of(tool: CommandTool) -> tuple[ArgumentPlacement, ...]:
    """Return the placements of a tool, then those of its program, except names that the tool places itself."""
    own = {placement.name for placement in tool.placements}
    return (*tool.placements, *(placement for placement in tool.program.placements if placement.name not in own))


def effective_values(tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the command line by parameter, defaults included. Null and unknown names are omitted.

    Raises:
        ToolError: the environment variable of a switch is neither true nor false.
    """
    values = {placement.name: _value(placement, arguments, environ) for placement in placements_of(tool)}
    return {name: value for name, value in values.items() if value is not None}


def with_joined_maps(tool: CommandTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in which each map is the list of its entries: `{"app": "web"}` is `["app=web"]`.

    Raises:
        ToolError: the key of an entry is empty or contains the separator, so that the program would read another key.
    """
    separators = {placement.name: placement.separator for placement in placements_of(tool) if placement.separator}
    return {
        name: _entries(name, value, separators[name]) if name in separators and isinstance(value, Mapping) else value
        for name, value in arguments.items()
    }


def _entries(name: str, value: Mapping[str, Any], separator: str) -> list[str]:
    for key in value:
        if not key or separator in key:
            raise UnsafeArgumentError(
                name, f"has the key {shown(key)}: a key must not be empty or contain `{separator}`"
            )
    return [f"{key}{separator}{argument_text(f'{name}.{key}', item)}" for key, item in value.items()]


def resolve_working_dir(
    tool: CommandTool, values: Mapping[str, Any], *, environ: Mapping[str, str], base: str = ""
) -> str:
    """Return the working directory of a call; empty means the server's.

    A directory in `values` is relative to the program's `working_dir`, which is relative to `base`. Empty means absent.

    Raises:
        ToolError: the value cannot be a directory, or `environ` lacks a variable that the program is declared with.
    """
    own = _declared_working_dir(tool, environ, base)
    name = next((placement.name for placement in tool.placements if placement.place is PlacementKind.CWD), "")
    value = values.get(name, "")
    if value == "":
        return own
    if not isinstance(value, str):
        raise UnsafeArgumentError(name, f"must be the path of a directory; got {shown(value)}")
    return os.path.join(own or base, _one_line(name, argument_text(name, value)))  # noqa: PTH118 a text, never touched


def items(value: Any) -> tuple[Any, ...]:
    """Return the items of a list, or the value itself as the only item."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def labelled_items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the `items` of `value` with their labels: `name`, or `name[0]` in a list."""
    is_list = isinstance(value, list | tuple)
    return ((f"{name}[{index}]" if is_list else name, item) for index, item in enumerate(items(value)))


def is_number(value: Any) -> bool:
    """Return whether a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def argument_text(name: str, value: Any) -> str:
    """Return the text of a value that is not a list, of any length and any number of lines.

    Numbers are written without an exponent. `name` is the parameter, for the error.

    Raises:
        ToolError: the value has no text, or the text contains NUL or half of a surrogate pair.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _passable(name, str.__str__(value))
        case int():
            try:
                return format(value, "d")
            except ValueError:  # Python writes no integer of more than 4,300 digits
                raise UnsafeArgumentError(name, "has too many digits") from None
        case float():
            text = float.__repr__(value)
            return format(Decimal(text), "f") if "e" in text else text
    raise UnsafeArgumentError(name, f"must be a string, a number, or true or false; got {shown(value)}")


def expand_variables(text: str, environ: Mapping[str, str], *, where: str) -> str:
    """Replace a leading `~` by the home directory, `$NAME` and `${NAME}` by a variable, and `$$` by `$`.

    Inserted text is not expanded again.

    Raises:
        ToolError: a variable is not set; `where` names the setting that uses it.
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
                f"This tool is not set up: the server's environment variable {name}, used by {where}, is not set",
                code=NOT_SET_UP,
            )
        return value

    return _EXPANSION.sub(variable, text)


def _default_variable(tool: CommandTool, name: str, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Return the variable that the value of a parameter comes from; empty if the value has another source."""
    variable = next((placement.default_env for placement in placements_of(tool) if placement.name == name), "")
    return variable if arguments.get(name) is None and environ.get(variable) else ""


def _value(placement: ArgumentPlacement, arguments: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
    if (sent_value := arguments.get(placement.name)) is not None:
        return sent_value
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


def _order_arguments(tool: CommandTool, positionals: list[_Positional], options: list[str]) -> tuple[str, ...]:
    """Return subcommand, positionals and options in order.

    If `argv` ends with `--`, options precede it. A `--` inside `argv` belongs to a program that this one starts, with
    unknown options, so no positional may start with `-`, except a number: its parameter accepts nothing else, and
    `expr -3 + 4` has no other form.
    """
    texts = [positional.text for positional in positionals]
    if tool.argv[-1:] == ("--",):
        return (*tool.argv[:-1], *options, "--", *texts)
    dashed = [positional for positional in positionals if _is_dashed(positional.text)]
    if dashed and tool.program.ends_options and "--" not in tool.argv:
        return (*tool.argv, *options, "--", *texts)
    dashed = [positional for positional in dashed if not positional.is_number]
    if not dashed:
        return (*tool.argv, *texts, *options)
    raise UnsafeArgumentError(
        dashed[0].name,
        f"starts with `-`, so {tool.program.name} could parse it as an option",
        "send another value (for a file, prefix `./`)",
    )


def _is_dashed(text: str) -> bool:
    """Return whether a program could parse `text` as an option. A single `-` is always a value: stdin, or minus."""
    return text.startswith("-") and text != "-"


def _option(placement: ArgumentPlacement, value: Any, tool: CommandTool) -> Iterator[str]:
    if placement.switch:
        if not isinstance(value, bool):
            raise UnsafeArgumentError(placement.name, f"must be true or false; got {shown(value)}")
        if value:
            yield placement.flag
        return
    for name, item in labelled_items(placement.name, value):
        if placement.flag.endswith("="):
            yield _element(name, item, flag=placement.flag)
            continue
        text = _element(name, item)
        if _is_dashed(text) and not is_number(item):
            raise UnsafeArgumentError(
                name,
                f"starts with `-`, so {tool.program.name} could parse it as an option",
                "send another value",
            )
        yield from (placement.flag, text)


def _declared_working_dir(tool: CommandTool, environ: Mapping[str, str], base: str) -> str:
    """Return the declared working directory of the program; empty without one."""
    own = expand_variables(tool.program.working_dir, environ, where=f"the working directory of {tool.program.name}")
    return os.path.join(base, own) if own else ""  # noqa: PTH118 a text, never touched


def _program_path(name: str, directory: str) -> str:
    """Return the path of a program relative to `directory`; a name without a directory is looked up later."""
    return os.path.join(directory, name) if os.path.dirname(name) else name  # noqa: PTH118, PTH120 texts, never touched


def _element(name: str, value: Any, *, flag: str = "") -> str:
    """Return one argument: a value, joined to its flag if there is one."""
    element = flag + argument_text(name, value)
    if len(element.encode(errors="surrogateescape")) > MAX_ELEMENT_LENGTH:
        raise UnsafeArgumentError(name, f"exceeds the limit of {MAX_ELEMENT_LENGTH} bytes for one argument")
    return element


def _positional(name: str, item: Any) -> str:
    if isinstance(item, bool):
        raise UnsafeArgumentError(name, "cannot be true or false without a flag")
    return _one_line(name, _element(name, item))


def _one_line(name: str, text: str) -> str:
    if (match := _NEWLINE.search(text)) is not None:
        raise UnsafeArgumentError(name, f"must be one line; it has a line break at character {match.start() + 1}")
    return text


def _passable(name: str, text: str) -> str:
    if "\0" in text:
        position = text.index("\0") + 1
        raise UnsafeArgumentError(name, f"contains NUL at character {position}")
    try:
        text.encode(errors="surrogateescape")  # as a file name that is not UTF-8 is passed
    except UnicodeEncodeError as error:
        character = f"U+{ord(text[error.start]):04X}, half of a character,"
        raise UnsafeArgumentError(name, f"contains {character} at character {error.start + 1}") from None
    return text
