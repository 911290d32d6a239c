"""The command line of tools, built with click: only the category and the command that run are loaded."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import click
from toolmason_runtime.tool_commands.declarations import CommandCategory, CommandOption, ToolCommand
from toolmason_runtime.tool_commands.output import guarded
from toolmason_runtime.tool_commands.terminal import note, safe
from toolmason_runtime.tool_commands.values import (
    Inputs,
    ValueRefusedError,
    missing,
    parse_arguments,
    shown,
    value_of,
)

MAX_WIDTH: Final = 100
"""Columns of the help on a wide terminal."""


class ExitCode(IntEnum):
    """Exit codes of the commands of tools."""

    FINE = 0
    FAILED = 1
    """The tool returned an error."""
    COMMAND_LINE = 2
    """An option or a value is wrong, also if the tool itself says so."""
    NOT_APPROVED = 3
    """The user declined, or there is no terminal."""
    NO_SERVER = 4
    """The server cannot be started or reached."""
    INTERRUPTED = 130
    CLOSED_PIPE = 141


class Invocation(NamedTuple):
    """One call that a command line asks for."""

    tool: str
    arguments: dict[str, Any]
    as_json: bool
    output: str
    """File for the content of the result; empty for standard output."""
    says_yes: bool
    """Whether the command line approves the call."""


class Program(NamedTuple):
    """A program with commands of tools."""

    name: str
    summary: str
    categories: tuple[CommandCategory, ...]
    load: Callable[[CommandCategory], Mapping[str, ToolCommand]]
    """Returns the commands of a category by their names."""
    call: Callable[[Invocation], int]
    """Makes a call, shows the result and returns the exit code."""


def run(program: Program, argv: Sequence[str], *, words: str = "") -> int:
    """Run a command line without the name of the program and the `words` after it; return the exit code."""
    shown_name = f"{program.name} {words}".rstrip()
    return guarded(program.name, lambda: _run(program, argv, shown_name))


def _run(program: Program, argv: Sequence[str], shown_name: str) -> int:
    try:
        code = _Root(program).main(list(argv), prog_name=shown_name, standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        note(shown.getvalue().rstrip())
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except SystemExit:
        raise BrokenPipeError from None  # the only reason for which click exits in this mode
    return int(code or 0)


_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}


class _Root(click.Group):
    """The categories. The commands of a single category are listed instead of it."""

    def __init__(self, program: Program) -> None:
        super().__init__(
            program.name, help=safe(program.summary), context_settings=_SETTINGS, subcommand_metavar="COMMAND ..."
        )
        self._program = program

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's interface
        categories = self._program.categories
        if len(categories) == 1:
            return [entry.full_name for entry in categories[0].commands]
        return [category.name for category in categories]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's interface
        for category in self._program.categories:
            if category.name == cmd_name:
                return _Category(self._program, category)
        for category in self._program.categories:
            for entry in category.commands:
                if entry.full_name == cmd_name:
                    return _command(self._program, category, entry.name)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Prefer a tool to a single category of the same name, unless the name of a command follows."""
        categories = self._program.categories
        if len(categories) == 1 and args[0] == categories[0].name and all(word.startswith("-") for word in args[1:2]):
            for entry in categories[0].commands:
                if entry.full_name == args[0]:
                    return args[0], _command(self._program, categories[0], entry.name), args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        categories = self._program.categories
        if len(categories) == 1:
            _write_rows(formatter, "Commands", [(each.full_name, each.summary) for each in categories[0].commands])
        else:
            _write_rows(formatter, "Commands", [(each.name, each.summary) for each in categories])
        formatter.write_paragraph()
        formatter.write_text(f"`{ctx.command_path} COMMAND --help` describes each.")


class _Category(click.Group):
    def __init__(self, program: Program, category: CommandCategory) -> None:
        super().__init__(
            category.name, help=safe(category.summary), context_settings=_SETTINGS, subcommand_metavar="COMMAND ..."
        )
        self._program = program
        self._category = category

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's interface
        return [entry.name for entry in self._category.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's interface
        for entry in self._category.commands:
            if cmd_name in (entry.name, entry.full_name):
                return _command(self._program, self._category, entry.name)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  as above
        _write_rows(formatter, "Commands", [(entry.name, entry.summary) for entry in self._category.commands])


def _write_rows(formatter: click.HelpFormatter, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    with formatter.section(heading):
        formatter.write_dl([(name, safe(summary)) for name, summary in rows])


class _ToolCommand(click.Command):
    """The command of one tool. Its help keeps the lines of the description and of the examples."""

    def __init__(self, program: Program, command: ToolCommand) -> None:
        self._program = program
        self._declared = command
        self._options = {f"p{number}": option for number, option in enumerate(command.options)}
        params: list[click.Parameter] = [_parameter(name, option) for name, option in self._options.items()]
        super().__init__(command.name, params=[*params, *_own_options()], context_settings=_SETTINGS)

    def invoke(self, ctx: click.Context) -> int:
        return self._program.call(self._invocation(ctx))

    def _invocation(self, ctx: click.Context) -> Invocation:
        """Return the call with the arguments of the options.

        Raises:
            click.UsageError: a value is refused, or one is missing.
        """
        params: Mapping[str, Any] = ctx.params
        inputs = Inputs()
        arguments: dict[str, Any] = {}
        try:
            flag = "--arguments"
            if params["arguments"] is not None:
                arguments = parse_arguments(params["arguments"], inputs)
            for name, option in self._options.items():
                flag, given = option.flag, params[name]
                if isinstance(given, bool):
                    arguments[option.parameter] = given
                elif given:
                    arguments[option.parameter] = value_of(option, given, inputs)
        except ValueRefusedError as error:
            raise click.UsageError(f"{flag}: {error}", ctx) from None
        if absent := missing(self._declared.options, arguments):
            raise click.UsageError(f"missing {', '.join(absent)}", ctx)
        return Invocation(self._declared.tool, arguments, params["json"], params["output"] or "", params["yes"])

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        required = [f"{option.flag} {_metavar(option)}" for option in self._declared.options if option.required]
        formatter.write_usage(ctx.command_path, " ".join([*required, "[OPTIONS]"]))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  as above
        formatter.write_paragraph()
        description = ["", *self._declared.description.splitlines()] if self._declared.description else []
        for line in [self._declared.summary, *description]:
            indent = "    " if line.startswith("- ") else "  "
            wrapped = textwrap.wrap(
                safe(line), formatter.width - 2, initial_indent="  ", subsequent_indent=indent, break_long_words=False
            )
            formatter.write("\n".join(wrapped) + "\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  as above
        if not self._declared.examples:
            return
        with formatter.section("Examples"):
            for description, words in self._declared.examples:
                formatter.write(f"  # {safe(description)}\n  {self._program.name} {safe(words)}\n")


def _command(program: Program, category: CommandCategory, name: str) -> click.Command:
    return _ToolCommand(program, program.load(category)[name])


def _parameter(name: str, option: CommandOption) -> click.Option:
    help_text = safe(option.help)
    notes = [
        *(["required"] if option.required else []),
        *(["repeatable"] if option.repeated else []),
        *([f"default: {safe(option.default)}"] if option.default else []),
    ]
    if notes:
        help_text = f"{help_text}  [{'; '.join(notes)}]".lstrip()
    if option.negation:
        return click.Option([f"{option.flag}/{option.negation}", name], default=None, help=help_text)
    return click.Option([option.flag, name], multiple=True, metavar=_metavar(option), help=help_text)


def _metavar(option: CommandOption) -> str:
    if option.kind == "choice":
        return f"[{'|'.join(safe(shown(value)) for value in option.choices)}]"
    return {"any": "VALUE", "boolean": "[true|false]"}.get(option.kind, option.kind.upper())


def _own_options() -> list[click.Parameter]:
    return [
        click.Option(["--arguments"], metavar="JSON", help="All parameters as a JSON object, @FILE or -."),
        click.Option(["--json"], is_flag=True, help="Print the result as JSON."),
        click.Option(["--output"], metavar="FILE", help="Write the content of the result to FILE."),
        click.Option(["--yes"], is_flag=True, help="Approve the call without a question."),
    ]
