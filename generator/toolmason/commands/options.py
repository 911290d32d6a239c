"""The group `toolmason`, and the options, exit codes and output functions that its commands share."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from toolmason.kinds import KindError
from toolmason.project import Project, ProjectError, find_project
from toolmason.time_limit import DEFAULT_S, MAX_S, VARIABLE

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.rankers import RankerFactory

    from toolmason.diagnostics import Diagnostics
    from toolmason.diagnostics.rules import Rule
    from toolmason.diagnostics.terminal import Layout
    from toolmason.model.server import Server

Command = TypeVar("Command", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    FINE = 0
    FINDINGS = 1
    COMMAND_LINE = 2
    DRIFT = 3
    REFUSED = 4
    UPSTREAM_DRIFT = 4
    """An upstream differs from the manifest: only `check --upstreams`, which writes nothing, so it never refuses."""


class OverwriteRefusedError(click.ClickException):
    """A file that would be overwritten exists."""

    exit_code = ExitCode.REFUSED


class CommandLineError(click.ClickException):
    """The command cannot run here, although its syntax is right."""

    exit_code = ExitCode.COMMAND_LINE


def _print_version(context: click.Context, _option: click.Parameter, is_set: bool) -> None:
    if not is_set or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("toolmason")
    except PackageNotFoundError:
        number = "(not installed)"
    click.echo(f"toolmason {number}")
    context.exit()


_OUTPUT_ERRORS = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""Errors of writing to a stream. Click handles a closed pipe itself."""


class ToolmasonGroup(click.Group):
    """The group of all commands. It imports a command on its first use.

    It reports two errors of any command in one line: failed output (full disk, closed stream), unusable kinds of tools.
    """

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.targets: dict[str, str] = {}
        """`module:function` of each command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's method
        """Return the names of all commands, sorted."""
        return sorted(self.targets)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's method
        """Import a command; None if there is none of that name."""
        target = self.targets.get(cmd_name)
        return resolve_name(target) if target else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the arguments; for an unknown name, propose similar ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], self.targets)
            if not similar:
                raise
            names = " or ".join(f"'{name}'" for name in similar)
            raise click.UsageError(f"{error.message} Did you mean {names}?", ctx) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; see `click.Group.main`."""
        _open_missing_streams()
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
                raise
            _discard_stdout()
            with suppress(OSError):
                click.echo(f"toolmason: the output cannot be written: {error.strerror or error}", err=True)
            sys.exit(ExitCode.FINDINGS)
        except KindError as error:
            click.echo(f"toolmason: {error}", err=True)
            sys.exit(ExitCode.COMMAND_LINE)


def _open_missing_streams() -> None:
    """Replace streams that the parent process has closed: Python sets them to None."""
    null_device = Path(os.devnull)
    if sys.stdout is None:
        sys.stdout = null_device.open("w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = null_device.open("w", encoding="utf-8")


def _discard_stdout() -> None:
    """Discard the buffer of stdout, which Python would try to write again at exit."""
    with suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


@click.group(cls=ToolmasonGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def toolmason() -> None:
    """Generate an MCP server, its schemas, documentation and commands from one manifest.

    Exit codes: 0 success, 1 findings, 2 wrong command line, 3 generated/ differs, 4 refused to overwrite.
    """


def manifest_option(command: Command) -> Command:
    """Add `--manifest FILE`."""
    return click.option(
        "--manifest",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Manifest to use if the project has several, or if none is found in this directory or its parents.",
    )(command)


def _check_number(context: click.Context, parameter: click.Parameter, seconds: float) -> float:
    if seconds != seconds:  # noqa: PLR0124  NaN, which is in every range
        raise click.BadParameter("must be a number of seconds", context, parameter)
    return seconds


def time_limit_option(command: Command) -> Command:
    """Add `--time-limit SECONDS`."""
    return click.option(
        "--time-limit",
        metavar="SECONDS",
        type=click.FloatRange(min=0, max=MAX_S),
        default=DEFAULT_S,
        envvar=VARIABLE,
        callback=_check_number,
        show_default=True,
        show_envvar=True,
        help="Stop after this time, and name the stage that took too long; 0 is no limit.",
    )(command)


def ranker_option(command: Command) -> Command:
    """Add `--ranker MODULE:FACTORY`, whose value is the imported factory."""
    return click.option(
        "--ranker",
        metavar="MODULE:FACTORY",
        callback=_load_ranker,
        help="Rank with the ranker that this function returns; imports its module.",
    )(command)


def _load_ranker(_context: click.Context, _option: click.Parameter, spec: str | None) -> RankerFactory | None:
    if spec is None:
        return None

    from toolmason_runtime.shared.search.rankers import load_ranker

    try:
        return load_ranker(spec)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def format_option(command: Command) -> Command:
    """Add `--format text|json|github|sarif`."""
    from toolmason.diagnostics.terminal import LAYOUTS

    return click.option(
        "--format",
        "layout",
        type=click.Choice(LAYOUTS),
        default="text",
        show_default=True,
        help="Output format of findings. Text goes to stderr, the others to stdout.",
    )(command)


def header_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option `--header 'NAME: VALUE'`; `parse_headers` and `expand_headers` read its values."""
    return click.option(
        "--header",
        "headers",
        metavar="'NAME: VALUE'",
        multiple=True,
        help=f"{help_text}; `$VAR` is an environment variable. Repeatable.",
    )


def server_timeout_option(command: Command) -> Command:
    """Add `--timeout SECONDS` for a server that is started or asked."""
    return click.option(
        "--timeout",
        type=click.IntRange(1, 3600),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="Time for a server to start and answer.",
    )(command)


def sandbox_options(command: Command) -> Command:
    """Add `--pass-env`, `--reads`, `--writes` and `--no-network` for a program that runs in the sandbox."""
    options: tuple[Callable[[Command], Command], ...] = (
        click.option(
            "--pass-env",
            metavar="NAME",
            multiple=True,
            help="Variable that COMMAND needs, such as an API key. Repeatable.",
        ),
        click.option("--reads", metavar="PATH", multiple=True, help="Path that COMMAND may read. Repeatable."),
        click.option(
            "--writes", metavar="PATH", multiple=True, help="Path that COMMAND may read and change. Repeatable."
        ),
        click.option("--no-network", is_flag=True, help="Run COMMAND without network."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def parse_headers(headers: Iterable[str]) -> dict[str, str]:
    """Return the values of `--header "Name: value"` by name, or exit."""
    parsed = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or not header.isascii() or not header.isprintable():
            raise click.UsageError("--header must be `Name: value`")
        parsed[name.strip()] = value.strip()
    return parsed


def expand_headers(headers: Iterable[str]) -> dict[str, str]:
    """Return the same with the values of environment variables for `$NAME` and `${NAME}`, or exit."""
    from toolmason_runtime.shared.errors import ToolError
    from toolmason_runtime.toolkit import expand_variables

    try:
        return {
            name: expand_variables(value, os.environ, where=f"--header {name}")
            for name, value in parse_headers(headers).items()
        }
    except ToolError as error:
        raise click.UsageError(error.message.partition(": ")[2]) from None


def working_directory() -> Path:
    """Return the working directory, or exit if it has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise CommandLineError("the working directory has been deleted; go to one that exists") from error


def find_current_project(manifest: Path | None) -> Project:
    """Return the project of the working directory, or exit with a hint."""
    try:
        return find_project(working_directory(), manifest)
    except ProjectError as error:
        raise CommandLineError(str(error)) from error


def split_manifest(arguments: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """Split `[MANIFEST] [SERVER ARGUMENTS]...`: the first word is a manifest if it ends with `.toml`.

    `--manifest FILE` is accepted in its place, because the errors of `find_project` propose it.
    """
    if arguments[:1] == ("--manifest",):
        arguments = arguments[1:]
    if arguments and arguments[0].endswith(".toml"):
        return Path(arguments[0]), arguments[1:]
    return None, arguments


def load_current_server(manifest: Path | None) -> Server:
    """Return the model of the project's manifest, or print its errors and exit."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import read

    diagnostics = Diagnostics()
    reading = read(find_current_project(manifest), diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, "text")
        exit_with(ExitCode.FINDINGS)
    return reading.server


def print_findings(
    diagnostics: Diagnostics, layout: Layout, *, outcome: str = "", rules: Mapping[str, Rule] | None = None
) -> None:
    """Print findings: text to stderr, in colour on a terminal; other formats to stdout.

    `outcome` replaces the sentence that nothing was written. `rules` describes codes that are not in `RULES`.
    """
    from toolmason.diagnostics.printers import NOTHING_WRITTEN, report
    from toolmason.diagnostics.terminal import supports_colour

    to_stderr = layout == "text"
    stream = sys.stderr if to_stderr else sys.stdout
    colour = supports_colour(stream)
    text = report(diagnostics, layout, colour=colour, outcome=outcome or NOTHING_WRITTEN, rules=rules or {})
    click.echo(text, nl=False, err=to_stderr, color=True)


def exit_with(code: ExitCode) -> NoReturn:
    """Exit with `code`."""
    click.get_current_context().exit(code)
