"""Declarations in generated modules: commands of tools, and their options."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Kind = Literal["text", "integer", "number", "boolean", "choice", "json", "any"]
"""The syntax of a value. `any` is JSON where that is a number, a list or the like, and text otherwise."""


class CommandOption(NamedTuple):
    """An option of a command, which is a parameter of its tool."""

    parameter: str
    """Name of the parameter, as the tool has it."""
    flag: str
    """With its dashes: `--max-count`."""
    kind: Kind = "text"
    help: str = ""
    required: bool = False
    repeated: bool = False
    """Whether the parameter is a list, of which each use of the option is an item."""
    choices: tuple[Any, ...] = ()
    """The values of a `choice`."""
    default: str = ""
    """The default as text, for the help."""
    negation: str = ""
    """The option that means false: `--no-cache`; empty if a boolean is written as a value."""


class ToolCommand(NamedTuple):
    """The command of one tool."""

    name: str
    tool: str
    summary: str
    description: str = ""
    """Further lines of the help."""
    options: tuple[CommandOption, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """Descriptions, and command lines without the name of the program."""


class CommandEntry(NamedTuple):
    """A command in the list of its category."""

    name: str
    full_name: str
    """Its name without the category before it, which is that of the tool: `git-log`."""
    summary: str


class CommandCategory(NamedTuple):
    """The commands of a category."""

    name: str
    summary: str
    commands: tuple[CommandEntry, ...]
    module: str = ""
    """The module with the `COMMANDS` of the category."""
