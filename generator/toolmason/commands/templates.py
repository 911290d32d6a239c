"""`toolmason templates`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import CommandLineError, OverwriteRefusedError, find_current_project, manifest_option


@click.group()
def templates() -> None:
    """List, copy and compare templates.

    A template in templates/ replaces the packaged template of the same name.
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
    """Copy the packaged template NAME to templates/, to change it there."""
    from toolmason_runtime.shared.suggestions import did_you_mean

    from toolmason.render.overrides import EjectError, TemplateExistsError, UnknownTemplateError, eject, packaged

    project = find_current_project(manifest)
    try:
        target = eject(name, project.template_directory)
    except UnknownTemplateError as error:
        hint = did_you_mean(name, packaged()) or "`toolmason templates list` shows them"
        raise CommandLineError(f"no template `{name}`: {hint}") from error
    except TemplateExistsError as error:
        raise OverwriteRefusedError(f"templates/{name} exists; nothing was written") from error
    except EjectError as error:
        raise OverwriteRefusedError(f"{error}; nothing was written") from error
    click.echo(f"{target.relative_to(project.root).as_posix()}: created; `toolmason generate` uses it")


@templates.command()
@manifest_option
def status(manifest: Path | None) -> None:
    """Compare the project's templates with the packaged ones."""
    from toolmason.render.overrides import overrides

    templates = overrides(find_current_project(manifest).template_directory)
    if not templates:
        click.echo("no project templates: all files use the packaged ones")
    width = max((len(template.name) for template in templates), default=0)
    for template in templates:
        click.echo(f"{template.name:{width}}  {template.state}")
