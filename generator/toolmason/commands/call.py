"""`toolmason call` and `toolmason inspect`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    find_current_project,
    manifest_option,
    split_manifest,
)
from toolmason.project import Project


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.argument("server_arguments", metavar="[SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
@manifest_option
def call(tool: str, arguments: str, server_arguments: tuple[str, ...], as_json: bool, manifest: Path | None) -> None:
    """Call TOOL with the arguments JSON, such as '{"text": "to be"}', and print the result.

    With `-`, JSON is read from stdin. The server runs the code in generated/ and handlers/, asks its questions on the
    terminal and logs to stderr. Arguments after JSON are passed to it. Exit with 1 if the result is an error.

    This runs the project's code: use it only for projects you trust.
    """
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    from toolmason.development.call import call_tool, shown_result

    parsed = _parsed(arguments)
    project = _served_project(manifest)
    try:
        result = call_tool(project, tool, parsed, server_arguments)
    except MCPError as error:
        ended = "the server ended before it answered"
        raise CommandLineError(f"{tool}: {ended if error.code == CONNECTION_CLOSED else error.message}") from error
    click.echo(shown_result(result, as_json=as_json))
    exit_with(ExitCode.FINDINGS if result.is_error else ExitCode.FINE)


def _served_project(manifest: Path | None) -> Project:
    """Return the project of the working directory, or exit if it has no server yet."""
    from toolmason.commands.serve import ServeError, served_package

    project = find_current_project(manifest)
    try:
        served_package(project)
    except ServeError as error:
        raise CommandLineError(str(error)) from error
    return project


def _parsed(text: str) -> dict[str, Any]:
    from toolmason_runtime.toolkit import problems_of

    try:
        value = json.loads(sys.stdin.read() if text == "-" else text)
    except RecursionError as error:
        raise click.UsageError("the arguments are nested too deeply") from error
    except ValueError as error:
        example = 'write them as \'{"text": "to be"}\''
        raise click.UsageError(f"the arguments are not JSON: {error}; {example}") from error
    if not isinstance(value, dict):
        raise click.UsageError('the arguments are a JSON object, such as \'{"text": "to be"}\'')
    # A client cannot encode them.
    if problems := problems_of(value, ()):
        raise click.UsageError("; ".join(problems))
    return value


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="[MANIFEST] [SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print the lists as JSON, as a client receives them.")
def inspect(arguments: tuple[str, ...], as_json: bool) -> None:
    """List what a client sees: instructions, tools, prompts and resources.

    Arguments are passed to the server: `toolmason inspect --classic --all` lists every tool. `toolmason stats` shows
    the tokens of the lists.

    This runs the project's code: use it only for projects you trust.
    """
    from toolmason.audit.mcp_client import describe_server
    from toolmason.audit.server_lists import ServerError
    from toolmason.development.lists import lists_as_json, lists_as_text

    manifest, server_arguments = split_manifest(arguments)
    project = _served_project(manifest)
    command = (sys.executable, "-m", "toolmason", "run", str(project.manifest), *server_arguments)
    try:
        lists = describe_server(command, headers={}, timeout_s=60)
    except ServerError as error:
        raise CommandLineError("\n".join(filter(None, (f"the server: {error}", error.stderr_tail)))) from error
    click.echo(lists_as_json(lists) if as_json else lists_as_text(lists))
