"""`toolmason upgrade`."""

from __future__ import annotations

from pathlib import Path

import click

from toolmason.commands.edit_run import begin_edits, edit_options, run_edits
from toolmason.commands.options import CommandLineError, exit_with, find_current_project, manifest_option


@click.command()
@edit_options
@manifest_option
def upgrade(*, yes: bool, dry_run: bool, manifest: Path | None) -> None:
    """Rename keys of the manifest that had another name in an earlier version.

    `toolmason check` reports such keys. Values, comments and the order of keys stay unchanged. Shows the diff, asks for
    approval, then writes all files or none.
    """
    from toolmason.edits import EditError
    from toolmason.refactor.errors import RefactorError
    from toolmason.refactor.upgrade import upgrade as renamed_keys

    project = find_current_project(manifest)
    begin_edits(project.root, yes=yes, dry_run=dry_run)
    try:
        edits = renamed_keys(project)
    except (RefactorError, EditError) as error:
        raise CommandLineError(str(error)) from error
    except OSError as error:
        raise CommandLineError(f"{project.shown_manifest}: cannot read: {error.strerror or error}") from error
    exit_with(run_edits(edits, yes=yes, dry_run=dry_run, next_step="toolmason check --diff"))
