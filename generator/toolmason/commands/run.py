"""`toolmason run`."""

from __future__ import annotations

import sys

import click

from toolmason.commands.options import CommandLineError, find_current_project, split_manifest


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", metavar="[MANIFEST] [SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> None:
    """Run the server from generated/, without installing it.

    This runs the project's code in generated/ and handlers/: use it only for projects you trust. Run `toolmason
    generate` after changes of the manifest.

    MANIFEST is needed if the working directory is not in the project. Other arguments are passed to the server:
    `toolmason run --classic`; `toolmason run -- --help` lists them.
    """
    from toolmason.commands.serve import ServeError, serve

    manifest, server_arguments = split_manifest(arguments)
    try:
        code = serve(find_current_project(manifest), server_arguments)
    except ServeError as error:
        raise CommandLineError(str(error)) from error
    sys.exit(code)
