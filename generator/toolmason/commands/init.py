"""`toolmason init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import CommandLineError, OverwriteRefusedError, working_directory

if TYPE_CHECKING:
    from toolmason.project import Project


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the server. Default: the name of DIR.")
def init(directory: Path, name: str | None) -> None:
    """Create a project in DIR, with a working server and its tests."""
    from toolmason.scaffold import DirectoryNotEmptyError, InitError, init, project_names

    working_directory()
    try:
        names = project_names(name or directory.resolve().name)
        init(directory, names, generate=_generate)
    except DirectoryNotEmptyError as error:
        raise OverwriteRefusedError(str(error)) from error
    except InitError as error:
        raise CommandLineError(str(error)) from error
    click.echo(
        f"{directory}: created the server `{names.server}`\n\n"
        f"  cd {shlex.quote(str(directory))}\n"
        "  nox                  check, lint, tests, types\n"
        f"  edit manifest/{names.server}.toml, then nox -s generate"
    )


def _generate(project: Project) -> None:
    """Write `generated/` of the new project. An error in its manifest is a bug."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import generate

    diagnostics = Diagnostics()
    if generate(project, diagnostics=diagnostics) is None:  # pragma: no cover  # see above
        raise AssertionError("\n".join(str(diagnostic) for diagnostic in diagnostics))
