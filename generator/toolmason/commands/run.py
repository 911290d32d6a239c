"""`toolmason run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from toolmason.commands.options import CommandLineError, find_current_project


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("manifest", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("arguments", metavar="[SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def run(manifest: Path, arguments: tuple[str, ...]) -> None:
    """Run the server of MANIFEST from generated/, without installing it.

    This runs the project's code in generated/ and handlers/: use it only for projects you trust. Run `toolmason
    generate` after changes of the manifest.

    Arguments after MANIFEST are for the server: `toolmason run manifest/X.toml --classic`; --help lists them.
    """
    from toolmason.commands.serve import ServeError, serve

    try:
        code = serve(find_current_project(manifest), arguments)
    except ServeError as error:
        raise CommandLineError(str(error)) from error
    sys.exit(code)
