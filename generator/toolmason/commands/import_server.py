"""`toolmason import server`: create a manifest that serves the tools of an MCP server."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from toolmason.commands.import_output import (
    FILE,
    design_options,
    fail_import,
    force_option,
    print_lines,
    project_root,
    refuse_existing,
    require_extra,
    token_limit,
    write_all,
)
from toolmason.commands.options import header_option, parse_headers, sandbox_options, server_timeout_option


def _checked_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return a name of the manifest, or exit."""
    if value and not re.fullmatch(r"[a-z][a-z0-9_]*", value):
        raise click.BadParameter("use lower-case letters, digits and underscores, starting with a letter")
    return value


@click.command()
@click.argument("address", metavar="COMMAND... | URL", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write the manifest to FILE instead of stdout.")
@click.option("--name", default="", help="Name of the new server. Default: from the name of the imported one.")
@click.option("--category", callback=_checked_name, default="", help="Category of the tools. Default: from the name.")
@click.option("--prefix", callback=_checked_name, default="", help="Prefix of the tools' names, such as `files_`.")
@click.option("--include", metavar="GLOB", multiple=True, help="Import only tools whose names match. Repeatable.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out tools whose names match. Repeatable.")
@design_options
@click.option(
    "--trust-hints",
    is_flag=True,
    help="Accept the hints that the server declares. Otherwise each call needs approval until you set `hints`.",
)
@sandbox_options
@header_option("Send this header to URL")
@server_timeout_option
@force_option
def server(
    address: tuple[str, ...],
    *,
    output: Path | None,
    pass_env: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    no_network: bool,
    headers: tuple[str, ...],
    timeout: int,
    max_tokens: int | None,
    all_params: bool,
    force: bool,
    **options: Any,
) -> None:
    """Create a manifest that serves the tools of an MCP server.

    Example: `toolmason import server -o manifest/notes.toml -- npx -y some-server ~/notes`. The server is started
    without a shell, or reached at its URL. As later from the generated server, COMMAND gets only basic variables and
    those of --pass-env, and may use only its own files, the paths of its command line, --reads and --writes. No tool is
    called. Parts that cannot be imported are listed on stderr.

    Exit codes: 0 success, 1 the server cannot be imported, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason_runtime.shared.extras import HTTP
    from toolmason_runtime.shared.specs.program import Permissions
    from toolmason_runtime.shared.toml.positions import Position

    from toolmason.diagnostics.terminal import progress
    from toolmason.importers.notes import ImporterError, Notes
    from toolmason.importers.server.address import ask_server, parse_address, temporary_home
    from toolmason.importers.server.hints import unasked_text
    from toolmason.importers.server.manifest import ImportOptions, import_server
    from toolmason.importers.server.versions import unpinned, with_exact_versions

    sent = parse_headers(headers)
    if output:
        refuse_existing((output,), force=force)
    notes = Notes()
    try:
        permissions = Permissions(reads=reads, writes=writes, network=not no_network)
        parsed = parse_address(address, headers=sent, pass_env=pass_env, permissions=permissions)
        with progress() as show, temporary_home() as home:
            show("listing the server's tools")
            described = ask_server(replace(parsed, home=home), timeout_s=timeout)
            parsed = with_exact_versions(parsed, home)
        chosen = ImportOptions(**options, max_tokens=token_limit(max_tokens, all_params=all_params))
        imported = import_server(described, parsed, notes, options=chosen, output=output)
    except ImporterError as error:
        fail_import(error, notes, is_json=False)
    if output:
        root = project_root(output)
        schemas = {Path(os.path.normpath(root / path)): text for path, text in imported.schemas.items()}
        write_all({output: imported.text, **schemas}, force=force)
        require_extra(output, HTTP)
    for package in unpinned(parsed):
        problem = f"`{package.spec}` has no exact version, so each start may run another one"
        notes.add(described.name, Position(0, 0), "command", f"{problem}: write one such as `{package.example}`")
    print_lines(str(note) for note in notes)
    next_step = (
        "review the `hints` that the server declares before you serve them."
        if options["trust_hints"]
        else "set `hints` of those that only read, since calls of tools without `hints` need approval."
    )
    if imported.missing:
        print_lines([f"Not imported, see above: {', '.join(imported.missing)}."])
    click.echo(f"{imported.tools} of {len(described.tools)} tools imported; {next_step}", err=True)
    click.echo(unasked_text(imported.unasked), err=True)
    if not output:
        click.echo(imported.text, nl=False)
