"""Commands that write files a person then owns: `init` and `templates`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import CommandLineError, Refused, manifest_option, project_here, working_folder

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


@click.group()
def templates() -> None:
    """List, take over and compare templates.

    One that is taken over into templates/ goes before ours.
    """


@templates.command("list")
def list_templates() -> None:
    """List the packaged templates."""
    from toolmason.render.overrides import packaged

    for name in packaged():
        click.echo(name)


def _complete_template(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from toolmason.render.overrides import packaged

    return [CompletionItem(name) for name in packaged() if name.startswith(incomplete)]


@templates.command()
@click.argument("name", shell_complete=_complete_template)
@manifest_option
def eject(name: str, manifest: Path | None) -> None:
    """Copy the packaged template NAME into templates/, where it goes before ours."""
    from toolmason_runtime.suggestions import did_you_mean

    from toolmason.render.overrides import AlreadyEjected, CannotEject, UnknownTemplate, eject, packaged

    project = project_here(manifest)
    try:
        target = eject(name, project.override_folder)
    except UnknownTemplate as error:
        hint = did_you_mean(name, packaged()) or "`toolmason templates list` shows them"
        raise CommandLineError(f"no template `{name}`: {hint}") from error
    except AlreadyEjected as error:
        raise Refused(f"templates/{name} is there already; nothing was written") from error
    except CannotEject as error:
        raise Refused(f"{error}; nothing was written") from error
    click.echo(f"{target.relative_to(project.root).as_posix()}: now yours; `toolmason generate` uses it")


@templates.command()
@manifest_option
def status(manifest: Path | None) -> None:
    """Compare the project's templates with ours and with what they were taken from."""
    from toolmason.render.overrides import overrides

    found = overrides(project_here(manifest).override_folder)
    if not found:
        click.echo("no template of yours: all output is made by ours")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        click.echo(f"{each.name:{width}}  {each.state}")
