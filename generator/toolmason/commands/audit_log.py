"""`toolmason audit`."""

from __future__ import annotations

import sys

import click


@click.command(
    "audit",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
)
@click.argument("arguments", metavar="FILE [OPTIONS]...", nargs=-1, type=click.UNPROCESSED)
def audit(arguments: tuple[str, ...]) -> None:
    """Filter and count the lines of a server's audit log.

    Rotated files are read as well, oldest line first. Every server has the same command for its own log:
    `my-server audit`. `toolmason audit --help` lists the options.
    """
    from toolmason_runtime.toolkit import audit_command

    sys.exit(audit_command(arguments, prog="toolmason audit"))
