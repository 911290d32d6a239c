"""The group `toolmason`, the options its commands share, and how they say what they found."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from toolmason.diagnostics.terminal import LAYOUTS, wants_colour
from toolmason.project import Project, ProjectError, find_project

if TYPE_CHECKING:
    from toolmason.diagnostics import Diagnostics
    from toolmason.diagnostics.terminal import Layout
    from toolmason.model.server import Server

Command = TypeVar("Command", bound=Callable[..., Any])


class Exit(IntEnum):
    """What the command's exit code says."""

    FINE = 0
    FINDINGS = 1
    COMMAND_LINE = 2
    DRIFT = 3
    REFUSED = 4


class Refused(click.ClickException):
    """Something stands where we would write."""

    exit_code = Exit.REFUSED


class CommandLineError(click.ClickException):
    """The command line cannot be carried out here, for a reason that is not its spelling."""

    exit_code = Exit.COMMAND_LINE


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    try:
        shown = version("toolmason")
    except PackageNotFoundError:
        shown = "(not installed)"
    click.echo(f"toolmason {shown}")
    context.exit()


_REFUSED_OUTPUT = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
"""What writing to a stream can end with. Of a pipe that nobody reads any more click itself takes care."""


class Guarded(click.Group):
    """A group whose output may fail to be written: a full disk or a closed stream, told in one line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; see `click.Group.main`."""
        _open_missing_streams()
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if error.errno not in _REFUSED_OUTPUT or error.filename is not None:
                raise
            _leave_stdout()
            with suppress(OSError):
                click.echo(f"toolmason: the output cannot be written: {error.strerror or error}", err=True)
            sys.exit(Exit.FINDINGS)


def _open_missing_streams() -> None:
    """Give what is written somewhere to go: Python has None for a stream that its parent has closed."""
    nowhere = Path(os.devnull)
    if sys.stdout is None:
        sys.stdout = nowhere.open("w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = nowhere.open("w", encoding="utf-8")


def _leave_stdout() -> None:
    """Send what stdout still holds to nowhere: Python would try to write it once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@click.group(cls=Guarded, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def toolmason() -> None:
    """Generate an MCP server, its schemas, docs and commands from one manifest.

    Exit codes: 0 fine, 1 findings, 2 wrong command line, 3 generated/ differs, 4 refused to overwrite.
    """


def manifest_option(command: Command) -> Command:
    """Add `--manifest FILE`."""
    return click.option(
        "--manifest",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The manifest, where a project has several or none is found from here upwards.",
    )(command)


def format_option(command: Command) -> Command:
    """Add `--format text|json|github|sarif`."""
    return click.option(
        "--format",
        "layout",
        type=click.Choice(LAYOUTS),
        default="text",
        show_default=True,
        help="How findings are printed. Text goes to stderr, the others to stdout.",
    )(command)


def working_folder() -> Path:
    """Give the working directory, or end the command if it has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise CommandLineError("the working directory has been deleted; go to one that exists") from error


def project_here(manifest: Path | None) -> Project:
    """Find the project of the working directory, or end the command with what to do."""
    try:
        return find_project(working_folder(), manifest)
    except ProjectError as error:
        raise CommandLineError(str(error)) from error


def server_here(manifest: Path | None) -> Server:
    """Return the model of the project's manifest, or print its errors and exit."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import read

    diagnostics = Diagnostics()
    reading = read(project_here(manifest), diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, "text")
        end_with(Exit.FINDINGS)
    return reading.server


def print_findings(diagnostics: Diagnostics, layout: Layout) -> None:
    """Print what was found: text to stderr, in colour on a terminal; what programs read to stdout."""
    from toolmason.diagnostics.printers import report

    to_stderr = layout == "text"
    stream = sys.stderr if to_stderr else sys.stdout
    click.echo(report(diagnostics, layout, colour=wants_colour(stream)), nl=False, err=to_stderr, color=True)


def end_with(code: Exit) -> NoReturn:
    """End the command with `code`."""
    click.get_current_context().exit(code)
