"""Options, files and errors that all commands of `toolmason import` share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from toolmason.commands.options import Command, CommandLineError, ExitCode, OverwriteRefusedError, exit_with
from toolmason.project import MANIFESTS

if TYPE_CHECKING:
    from toolmason.importers.notes import ImporterError, Notes

FILE: Final = click.Path(dir_okay=False, path_type=Path)


def force_option(command: Command) -> Command:
    """Add `--force`."""
    return click.option("--force", is_flag=True, help="Overwrite existing files.")(command)


def design_options(command: Command) -> Command:
    """Add `--max-tokens` and `--all-params`."""
    limit = click.option(
        "--max-tokens",
        type=click.IntRange(100, 20_000),
        help="Maximum tokens of the parameters of a tool. Default: 600. "
        "To fit, texts are shortened and rare parameters left out.",
    )
    every = click.option("--all-params", is_flag=True, help="Import all parameters with their whole texts.")
    return limit(every(command))


def token_limit(max_tokens: int | None, *, all_params: bool) -> int:
    """Return the maximum tokens of the parameters of a tool; 0 for no limit."""
    from toolmason.importers.design.budget import DEFAULT

    return 0 if all_params else max_tokens or DEFAULT


def fail_import(error: ImporterError, notes: Notes, *, is_json: bool) -> Any:
    """Print the notes so far and the errors, and exit."""
    if is_json:
        document = {"errors": list(error.mistakes), "notes": [note.as_data() for note in notes]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        print_lines(str(note) for note in notes)
    print_lines(error.mistakes)
    exit_with(ExitCode.FINDINGS)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to stderr with control characters escaped, since text of a file could move the cursor."""
    from toolmason.audit.output import visible

    for line in lines:
        click.echo(visible(line), err=True)


def require_extra(manifest: Path, extra: str) -> None:
    """Require toolmason with `extra` in the pyproject.toml of the manifest's project, and print the change."""
    from toolmason.scaffold.requirement import add_extra

    if line := add_extra(project_root(manifest), extra):
        click.echo(line, err=True)


def project_root(manifest: Path) -> Path:
    """Return the directory of the project that a manifest, which may not exist yet, belongs to."""
    return manifest.parent.parent if manifest.absolute().parent.name == MANIFESTS else manifest.parent


def refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Exit if one of the files exists and `force` is not set."""
    existing = [path for path in paths if path.exists() or path.is_symlink()]
    if existing and not force:
        raise OverwriteRefusedError(f"{existing[0]} exists; nothing was written; use --force to overwrite it")


def write_all(targets: dict[Path, str], *, force: bool) -> None:
    """Write all files, or none if one of them exists."""
    from toolmason.importers.manifest_writer import write_text

    refuse_existing(targets, force=force)
    for path, text in targets.items():
        try:
            write_text(path, text, force=force)
        except OSError as error:
            raise CommandLineError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
        click.echo(f"{path}: written", err=True)
