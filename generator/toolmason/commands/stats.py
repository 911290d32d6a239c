"""`toolmason stats`."""

from __future__ import annotations

from pathlib import Path

import click

from toolmason.commands.options import load_current_server, manifest_option


@click.command()
@manifest_option
def stats(manifest: Path | None) -> None:
    """Show the cost of each tool and style.

    Prints bytes on the wire and estimated tokens of each tool, and of `tools/list` in each style.
    """
    server = load_current_server(manifest)

    from toolmason.catalogue.stats import report_stats

    click.echo(report_stats(server), nl=False)
