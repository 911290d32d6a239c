"""`toolmason cli`: write one file that runs the tools of an MCP server as commands."""

from __future__ import annotations

import re
from pathlib import Path

import click

from toolmason.commands.import_output import FILE, force_option, print_lines, refuse_existing, write_all
from toolmason.commands.options import ExitCode, exit_with, header_option, parse_headers, server_timeout_option


@click.command()
@click.argument("address", metavar="COMMAND... | URL", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write to FILE instead of stdout.")
@header_option("Send this header to URL")
@server_timeout_option
@force_option
def cli(address: tuple[str, ...], *, output: Path | None, headers: tuple[str, ...], timeout: int, force: bool) -> None:
    """Write one Python file that runs the tools of an MCP server as commands.

    Example: `toolmason cli -o notes.py -- npx -y some-server ~/notes`, then `uv run --script notes.py --help`.

    COMMAND starts the server, without a shell and with your environment: now to list the tools, later for each call. No
    tool is called now. The file declares its dependencies: click, rich and the MCP SDK, not toolmason.

    Exit codes: 0 success, 1 the server does not answer, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.audit.mcp_client import describe_server
    from toolmason.audit.server_lists import ServerError
    from toolmason.importers.notes import ImporterError
    from toolmason.importers.server.address import parse_address
    from toolmason.single_file import single_file

    sent = parse_headers(headers)
    if output:
        refuse_existing((output,), force=force)
    try:
        parsed = parse_address(address, headers=sent, pass_env=())
        described = describe_server(parsed.server, headers=parsed.sent_headers, timeout_s=timeout)
    except ImporterError as error:
        print_lines(error.mistakes)
        exit_with(ExitCode.FINDINGS)
    except ServerError as error:
        print_lines([f"the server: {error}", *filter(None, [*error.stderr_tail.splitlines(), error.advice])])
        exit_with(ExitCode.FINDINGS)
    if not described.tools:
        print_lines(["the server has no tools"])
        exit_with(ExitCode.FINDINGS)
    name = output.name if output else f"{re.sub(r'[^A-Za-z0-9]+', '-', described.name).strip('-') or 'server'}.py"
    text = single_file(described, program=name, command=parsed.command, url=parsed.url, headers=parsed.headers)
    if output is None:
        click.echo(text, nl=False)
        return
    write_all({output: text}, force=force)
    output.chmod(0o755)
    count = len(described.tools)
    print_lines([f"{count} command{'' if count == 1 else 's'}; next: uv run --script {output} --help"])
