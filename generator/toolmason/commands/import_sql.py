"""`toolmason import sql`: create a manifest whose tools query a database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from toolmason.commands.import_output import (
    FILE,
    fail_import,
    force_option,
    print_lines,
    refuse_existing,
    require_extra,
    write_all,
)


@click.command("sql")
@click.argument("url", metavar="URL | $VARIABLE")
@click.option(
    "--queries",
    metavar="DIR",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Also import the queries of the `.sql` files in DIR.",
)
@click.option("--schema", default="", help="Schema of the tables. Default: that of the connection.")
@click.option("--include", metavar="GLOB", multiple=True, help="Import only tables whose names match. Repeatable.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out tables whose names match. Repeatable.")
@click.option("--name", default="", help="Name of the database and of the server. Default: from the URL.")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write the manifest to FILE instead of stdout.")
@force_option
def sql(url: str, *, output: Path | None, force: bool, **options: Any) -> None:
    """Create a manifest whose tools query the database at URL.

    Example: `toolmason import sql -o manifest/shop.toml '$SHOP_URL'`. With a variable, no password is on the command
    line. Each table and view becomes a tool that lists its rows, with filters and pages; each saved query becomes a
    tool. The database is only read. Parts that cannot be imported are listed on stderr.

    Exit codes: 0 success, 1 the database cannot be imported, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason_runtime.toolkit import EXTRAS

    from toolmason.importers.notes import ImporterError, Notes
    from toolmason.importers.sql.manifest import SqlImportOptions, import_sql

    variable = url.removeprefix("$").strip("{}") if url.startswith("$") else ""
    address = os.environ.get(variable, "") if variable else url
    if not address:
        raise click.UsageError(f"the variable {variable} is not set")
    if output:
        refuse_existing((output,), force=force)
    notes = Notes()
    try:
        imported = import_sql(address, notes, options=SqlImportOptions(url_env=variable, **options))
    except ImporterError as error:
        fail_import(error, notes, is_json=False)
    if output:
        write_all({output: imported.text}, force=force)
        require_extra(output, EXTRAS[imported.dialect])
    print_lines(str(note) for note in notes)
    click.echo(f"{imported.tools} tools proposed; review the statement of each before you serve it.", err=True)
    if not output:
        click.echo(imported.text, nl=False)
