"""`toolmason stats`."""

from __future__ import annotations

from pathlib import Path

import click

from toolmason.commands.options import load_current_server, manifest_option


@click.command()
@manifest_option
def stats(manifest: Path | None) -> None:
    """Show the cost of each tool and style.

    Prints bytes on the wire and estimated tokens of each tool, and of `tools/list` in each style. Then prints the
    content of semantic.postings, if there is one, and the tools for which it is outdated.
    """
    server = load_current_server(manifest)

    from toolmason.catalogue.stats import report_stats
    from toolmason.catalogue.table import catalogue
    from toolmason.semantic.report import report_postings

    click.echo(report_stats(server), nl=False)
    if server.postings:
        click.echo(f"\n{report_postings(server.postings, catalogue(server))}", nl=False)
