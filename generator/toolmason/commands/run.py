"""The command that serves a project without installing it: `run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from toolmason.commands.options import CommandLineError, project_here


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("manifest", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("arguments", metavar="[SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def run(manifest: Path, arguments: tuple[str, ...]) -> None:
    """Serve the server of MANIFEST from generated/, without installing it.

    This runs the code of the project: its generated/ and its handlers/. Use it only for projects you trust.

    What follows MANIFEST is for the server: `toolmason run manifest/X.toml --classic`, and `--help` shows the rest.
    It serves what was generated last; after an edit of the manifest, run `toolmason generate` first.
    """
    from toolmason.commands.serve import CannotServe, serve

    try:
        code = serve(project_here(manifest), arguments)
    except CannotServe as error:
        raise CommandLineError(str(error)) from error
    sys.exit(code)
