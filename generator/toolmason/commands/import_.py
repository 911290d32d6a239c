"""`toolmason import`: create manifests. Each importer is a command that is loaded when it is used.

A distribution adds one with an entry point of the group `toolmason.importers` that names a click command.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import click
from toolmason_runtime.shared.entry_points import described, installed

from toolmason.commands.options import CommandLineError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN: Final = {
    "climax": "toolmason.commands.import_climax:climax",
    "help": "toolmason.commands.import_help:help_",
    "graphql": "toolmason.commands.import_graphql:graphql",
    "openapi": "toolmason.commands.import_openapi:openapi",
    "python": "toolmason.commands.import_python:python",
    "server": "toolmason.commands.import_server:server",
    "sql": "toolmason.commands.import_sql:sql",
}
GROUP: Final = "toolmason.importers"
"""Group of the entry points of further importers."""


class Importers(click.Group):
    """The group of all importers. One that cannot be loaded is an error when it is used, and a note in `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all importers."""
        return sorted({*BUILT_IN, *_installed(), *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load an importer. `ctx` belongs to the group for `--help` and completion, to its caller otherwise."""
        if cmd_name in BUILT_IN:
            command: click.Command = resolve_name(BUILT_IN[cmd_name])
            return command
        if (entry_point := _installed().get(cmd_name)) is not None:
            return _load(entry_point)
        return super().get_command(ctx, cmd_name)


@cache
def _installed() -> dict[str, EntryPoint]:
    return {each.name: each for each in installed(GROUP) if each.name not in BUILT_IN}


def _load(entry_point: EntryPoint) -> click.Command:
    problem = described("importer", entry_point)
    try:
        command = entry_point.load()
    except Exception as error:  # noqa: BLE001  the module may raise anything
        return _broken(entry_point.name, f"{problem} cannot be loaded: {type(error).__name__}: {error}")
    if not isinstance(command, click.Command):
        return _broken(entry_point.name, f"{problem} is not a click command")
    return command


def _broken(name: str, problem: str) -> click.Command:
    def fail() -> None:
        raise CommandLineError(problem)

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=fail, short_help="(cannot be loaded)", context_settings=settings)


@click.group("import", cls=Importers)
def importing() -> None:
    """Create a manifest from OpenAPI, GraphQL, SQL, CLImax YAML, an MCP server, a Python module or --help output.

    Review the result before you serve it, above all the risk of each tool.
    """
