"""`toolmason fmt`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    find_current_project,
    manifest_option,
    print_findings,
    working_directory,
)
from toolmason.diagnostics.terminal import supports_colour

if TYPE_CHECKING:
    from toolmason.diagnostics import Diagnostics


@click.command()
@click.argument("files", metavar="[FILES]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="List the files that are not formatted; write nothing. Exit code 1 if any.")
@click.option("--diff", is_flag=True, help="Show the changes; write nothing.")
@manifest_option
def fmt(files: tuple[Path, ...], check: bool, diff: bool, manifest: Path | None) -> None:
    """Format the manifest.

    Formats FILES; by default, the manifest and the files that it includes. `-` formats stdin to stdout. Keys are sorted
    in the order of the reference. Comments stay at their keys, and the meaning never changes. Names that you chose,
    such as those of tools, keep their order.
    """
    from toolmason.diagnostics import Diagnostics

    if files == (Path("-"),):
        _format_stdin()
        return
    if files and manifest:
        raise click.UsageError("FILES cannot be combined with --manifest")
    diagnostics = Diagnostics()
    failed = False
    changed: dict[Path, tuple[bytes, bytes]] = {}
    for path in dict.fromkeys(files or _files_of_project(manifest)):
        try:
            result = _format(path, diagnostics)
        except (OSError, ValueError, _UnformattedError) as error:
            failed = True
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            click.echo(f"{path}: not formatted: {reason}", err=True)
            continue
        if result and result[0] != result[1]:
            changed[path] = result
    if diff:
        _show(changed)
    elif check:
        click.echo("".join(f"{path}\n" for path in changed), nl=False)
    else:
        _write(changed)
        if not (changed or failed or list(diagnostics)):
            click.echo("all files are formatted")
    if list(diagnostics):
        print_findings(diagnostics, "text", outcome="Other files are not affected.")
    if failed or list(diagnostics) or (check and changed):
        exit_with(ExitCode.FINDINGS)


class _UnformattedError(Exception):
    """A file cannot be formatted; the message is the reason."""


def _files_of_project(manifest: Path | None) -> Iterable[Path]:
    """Return the manifest and the files that it includes, relative to the working directory if they are in it."""
    from toolmason.manifest.include import read_files

    project = find_current_project(manifest)
    here = working_directory().resolve()
    try:
        paths = [path for path, _ in read_files(project.manifest, project.root)]
    except OSError as error:
        raise CommandLineError(f"{project.shown_manifest}: cannot read: {error.strerror or error}") from error
    return [path.relative_to(here) if path.is_relative_to(here) else path for path in paths]


def _format(path: Path, diagnostics: Diagnostics) -> tuple[bytes, bytes] | None:
    """Return the content of a file before and after; None, with a diagnostic added, if it is not TOML."""
    from toolmason_runtime.shared.toml.problems import Problem

    from toolmason.formatting.format import FormatError, format_toml
    from toolmason.manifest.document import load
    from toolmason.manifest.input_files import read_input

    raw = read_input(path, path.parent)
    try:
        result = format_toml(raw)
    except FormatError as error:
        raise _UnformattedError(str(error)) from error
    if isinstance(result, Problem):
        load(path.absolute(), root=working_directory(), diagnostics=diagnostics)
        return None
    return raw, result


def _format_stdin() -> None:
    from toolmason_runtime.shared.toml.problems import Problem

    from toolmason.formatting.format import FormatError, format_toml

    try:
        result = format_toml(sys.stdin.buffer.read())
    except FormatError as error:
        raise CommandLineError(f"stdin: {error}") from error
    if isinstance(result, Problem):
        line, column = result.position
        click.echo(f"stdin:{line}:{column}: error: {result.message}", err=True)
        exit_with(ExitCode.FINDINGS)
    sys.stdout.buffer.write(result)


def _show(changed: dict[Path, tuple[bytes, bytes]]) -> None:
    from toolmason.edits import MAX_DIFF_LINES
    from toolmason.write.diff import paint_line, unified

    for path, (old, new) in changed.items():
        for line in unified((str(path), old), (str(path), new), max_lines=MAX_DIFF_LINES).split("\n")[:-1]:
            click.echo(paint_line(line, colour=supports_colour(sys.stdout)), color=True)


def _write(changed: dict[Path, tuple[bytes, bytes]]) -> None:
    """Write all files of a directory or none, and list them."""
    from toolmason.edits import EditError, Edits, apply, finish_interrupted

    for directory in dict.fromkeys(path.parent for path in changed):
        texts = {path: new.decode() for path, (_, new) in changed.items() if path.parent == directory}
        read = {path: changed[path][0].decode() for path in texts}
        try:
            finish_interrupted(directory)
            apply(Edits.of(directory, texts, read=read))
        except EditError as error:
            raise CommandLineError(str(error)) from error
        for path in texts:
            click.echo(f"{path}: formatted")
