"""`toolmason init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import CommandLineError, Refused, working_folder

if TYPE_CHECKING:
    from toolmason.project import Project


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the server; that of DIR if left out.")
def init(folder: Path, name: str | None) -> None:
    """Lay out a new project in DIR.

    It generates, serves and passes its own tests at once.
    """
    from toolmason.scaffold import InitError, NotEmpty, init, project_names

    working_folder()
    try:
        names = project_names(name or folder.resolve().name)
        init(folder, names, generate=_generate)
    except NotEmpty as error:
        raise Refused(str(error)) from error
    except InitError as error:
        raise CommandLineError(str(error)) from error
    click.echo(
        f"{folder}: the server `{names.server}` is laid out and generated\n\n"
        f"  cd {shlex.quote(str(folder))}\n"
        "  nox                  check, lint, tests, types\n"
        f"  edit manifest/{names.server}.toml, then nox -s generate"
    )


def _generate(project: Project) -> None:
    """Fill `generated/` of a project we have just laid out. A finding in it would be our fault."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import generate

    diagnostics = Diagnostics()
    if generate(project, diagnostics=diagnostics) is None:  # pragma: no cover  # see above
        raise AssertionError("\n".join(str(each) for each in diagnostics))
