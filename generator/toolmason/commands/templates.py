"""`toolmason templates`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import CommandLineError, Refused, manifest_option, project_here


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
