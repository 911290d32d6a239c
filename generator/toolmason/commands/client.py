"""`toolmason client`: write typed clients of any MCP server."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.import_output import print_lines
from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
    header_option,
    parse_headers,
    sandbox_options,
    server_timeout_option,
)

if TYPE_CHECKING:
    from toolmason.audit.server_lists import ServerDescription
    from toolmason.importers.server.address import Address
    from toolmason.render.typed_clients.files import Language
    from toolmason.render.typed_clients.tools import TypedClient

DIRECTORY = click.Path(file_okay=False, path_type=Path)


def _checked_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return the name of a client, or exit."""
    if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9 _-]{0,50}", value):
        raise click.BadParameter("use letters, digits, dashes and underscores, starting with a letter")
    return value


@click.command()
@click.argument("address", metavar="COMMAND... | URL", nargs=-1, required=True)
@click.option(
    "-o", "--output", "directory", metavar="DIR", type=DIRECTORY, required=True, help="Directory for the packages."
)
@click.option(
    "--language",
    "languages",
    type=click.Choice(("python", "typescript")),
    multiple=True,
    help="Write only this language. Repeatable. Default: both.",
)
@click.option("--name", callback=_checked_name, default="", help="Name of the client. Default: the name of the server.")
@sandbox_options
@header_option("Send this header to URL")
@server_timeout_option
@click.option("--discard-edits", is_flag=True, help="Overwrite edited files.")
def client(
    address: tuple[str, ...],
    *,
    directory: Path,
    languages: tuple[Language, ...],
    name: str,
    pass_env: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    no_network: bool,
    headers: tuple[str, ...],
    timeout: int,
    discard_edits: bool,
) -> None:
    """Write a typed client of an MCP server: a package in Python and one in TypeScript.

    Example: `toolmason client -o files-client -- npx -y @modelcontextprotocol/server-filesystem ~/notes`.

    Starts the server without a shell, or connects to its URL, and lists its tools. No tool is called. COMMAND can
    access only its own files, the paths of its command line, --reads and --writes. It gets only basic environment
    variables and those of --pass-env. If DIR exists, only generated files in it are changed.

    Exit codes: 0 success, 1 the server does not answer, 2 wrong command line, 4 a generated file was edited.
    """
    from toolmason_runtime.shared.specs.program import Permissions

    from toolmason.diagnostics.terminal import progress
    from toolmason.importers.notes import ImporterError
    from toolmason.importers.server.address import ask_server, parse_address, temporary_home
    from toolmason.render.typed_clients.emit import render_client
    from toolmason.render.typed_clients.files import LANGUAGES
    from toolmason.write import EditedFilesError, FileSystemError, LockTimeoutError, MisplacedDirectoryError, write
    from toolmason.write.changes import ChangeKind

    sent = parse_headers(headers)
    try:
        permissions = Permissions(reads=reads, writes=writes, network=not no_network)
        parsed = parse_address(address, headers=sent, pass_env=pass_env, permissions=permissions)
        with progress() as show, temporary_home() as home:
            show("listing the server's tools")
            described = ask_server(replace(parsed, home=home), timeout_s=timeout)
    except ImporterError as error:
        print_lines(error.mistakes)
        exit_with(ExitCode.FINDINGS)
    facts = _facts(described, parsed, name)
    files = render_client(facts, languages or LANGUAGES)
    try:
        changes = write(files, directory, discard_edits=discard_edits)
    except EditedFilesError as error:
        edited = ", ".join(str(directory / change.path) for change in error.changes.blocking)
        raise OverwriteRefusedError(
            f"edited or not generated: {edited}; nothing was written; use --discard-edits to overwrite"
        ) from error
    except (FileSystemError, LockTimeoutError, MisplacedDirectoryError) as error:
        raise CommandLineError(str(error)) from error
    count = sum(change.kind is not ChangeKind.FOREIGN for change in changes.all)
    tools = f"{len(facts.tools)} tool{'s' * (len(facts.tools) != 1)}"
    print_lines([f"{directory}: {facts.class_name} with {tools}; {count} file{'s' * (count != 1)} changed"])


def _facts(described: ServerDescription, address: Address, name: str) -> TypedClient:
    from toolmason.render.typed_clients.tools import listed_tools, typed_client

    shown = name or described.name or "server"
    return typed_client(
        tuple(listed_tools(described.tools)),
        name=shown,
        title=described.title or described.name or shown,
        version=described.version,
        source=f"the tools of the server {described.name or shown} {described.version}".rstrip(),
        command=address.command,
        url=address.url,
    )
