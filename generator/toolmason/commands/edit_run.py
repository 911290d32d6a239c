"""Show changes of files, ask, and write them: the end of each command that edits a project's own files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import Command, CommandLineError, ExitCode
from toolmason.diagnostics.terminal import supports_colour

if TYPE_CHECKING:
    from pathlib import Path

    from toolmason.edits import Edits


def edit_options(command: Command) -> Command:
    """Add `--yes` and `--dry-run`."""
    yes = click.option("--yes", "-y", is_flag=True, help="Apply the changes without a question.")
    dry_run = click.option("--dry-run", is_flag=True, help="Show the changes and write nothing.")
    return yes(dry_run(command))


def begin_edits(root: Path, *, yes: bool, dry_run: bool) -> None:
    """Reject contradictory options, and finish an earlier run that was killed while it was writing."""
    if yes and dry_run:
        raise click.UsageError("--yes cannot be combined with --dry-run")
    finish_edits(root)


def finish_edits(root: Path) -> None:
    """Finish an earlier run that was killed while it was writing files of the project."""
    from toolmason.write.journal import has_staging

    if not has_staging(root):
        return
    from toolmason.edits import finish_interrupted

    with _locked(root):
        if finish_interrupted(root):
            click.echo("an earlier run was interrupted while writing; its changes are complete now", err=True)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Wait for other runs that write files of the project, and report errors of the file system."""
    from toolmason.edits import EditError
    from toolmason.write import LockTimeoutError, lock
    from toolmason.write.snapshot import FileSystemError, MisplacedDirectoryError

    try:
        with lock(root):
            yield
    except (EditError, LockTimeoutError, FileSystemError, MisplacedDirectoryError) as error:
        raise CommandLineError(str(error)) from error


def run_edits(edits: Edits, *, yes: bool, dry_run: bool, next_step: str = "toolmason generate") -> ExitCode:
    """Show the diff, ask on a terminal, and write all files or none. Call `begin_edits` before reading any file.

    Without a terminal and without `yes`, nothing is written and the result is `REFUSED`.
    """
    from toolmason.edits import apply, show

    if not edits:
        click.echo("nothing to change", err=True)
        return ExitCode.FINE
    show(edits, colour=supports_colour(sys.stdout))
    files = f"{len(edits.all)} file{'' if len(edits.all) == 1 else 's'}"
    if dry_run:
        click.echo(f"{files} would change; nothing was written (--dry-run)", err=True)
        return ExitCode.FINE
    if not yes:
        if not is_interactive():
            click.echo(f"{files} would change; nothing was written: use --yes to apply the changes", err=True)
            return ExitCode.REFUSED
        if not click.confirm(f"Change {files}?", err=True):
            click.echo("nothing was written", err=True)
            return ExitCode.REFUSED
    with _locked(edits.root):
        apply(edits)
    click.echo(f"{files} changed; next: {next_step}", err=True)
    return ExitCode.FINE


def is_interactive() -> bool:
    """Return whether a person can read the changes and answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()
