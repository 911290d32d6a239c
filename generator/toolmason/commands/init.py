"""`toolmason init`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolmason.commands.options import CommandLineError, OverwriteRefusedError, working_directory

if TYPE_CHECKING:
    from toolmason.project import Project
    from toolmason.scaffold.publishing import Publishing

_CHOICES: Final = ("ci", "pre-commit", "docker", "registry", "bundle")
"""Words that answer the question for further files."""

_SURFACES: Final = ("clients", "docs", "plugins", "schemas", "skills")
"""Directories below `generated/` that are written only if the author selects them."""


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the server. Default: the name of DIR.")
@click.option("--ci", type=click.Choice(["github"]), help="Add workflows that check each push and release signed tags.")
@click.option("--pre-commit", is_flag=True, help="Add a pre-commit hook that runs `toolmason check`.")
@click.option("--docker", is_flag=True, help="Generate a Dockerfile.")
@click.option(
    "--registry",
    metavar="NAMESPACE",
    help="Generate server.json for this namespace of the MCP Registry: io.github.USER.",
)
@click.option("--bundle", is_flag=True, help="Generate an .mcpb bundle for Claude Desktop.")
@click.option(
    "--include",
    "surfaces",
    type=click.Choice(_SURFACES),
    multiple=True,
    help="Generate these files too: client configurations, all documentation, plugins, the schemas of all providers, "
    "skills.",
)
def init(
    directory: Path,
    name: str | None,
    ci: str | None,
    registry: str | None,
    surfaces: tuple[str, ...],
    **wanted: bool,
) -> None:
    """Create a project in DIR, with a working server and its tests.

    On a terminal, it asks which further files to add, unless an option selects them.
    """
    from toolmason.scaffold import DirectoryNotEmptyError, InitError, init, project_names, require_empty
    from toolmason.scaffold.publishing import NamespaceError, Publishing

    working_directory()
    try:
        names = project_names(name or directory.resolve().name)
        chosen = tuple(sorted(set(surfaces)))
        publishing = Publishing(ci=ci is not None, namespace=registry or "", surfaces=chosen, **wanted)
        if publishing == Publishing() and sys.stdin.isatty() and sys.stdout.isatty():
            require_empty(directory)
            publishing = _ask()
        init(directory, names, publishing=publishing, generate=_generate)
    except DirectoryNotEmptyError as error:
        raise OverwriteRefusedError(str(error)) from error
    except (InitError, NamespaceError) as error:
        raise CommandLineError(str(error)) from error
    click.echo(
        f"{directory}: created the server `{names.server}`\n\n"
        f"  cd {shlex.quote(str(directory))}\n"
        '  toolmason call count_words \'{"text": "to be"}\'\n'
        "  toolmason dev        serve, and restart after each change\n"
        "  nox                  check, lint, tests, types\n"
        f"  edit manifest/{names.server}.toml, then toolmason generate"
    )


def _ask() -> Publishing:
    """Ask for the further files of the project. Invalid answers are asked again."""
    from toolmason.scaffold.publishing import Publishing

    question = f"Further files ({', '.join(_CHOICES)}; Enter for none)"
    wanted = click.prompt(question, default="", show_default=False, value_proc=_chosen)
    return Publishing(
        ci="ci" in wanted,
        pre_commit="pre-commit" in wanted,
        docker="docker" in wanted,
        bundle="bundle" in wanted,
        namespace=click.prompt("Your namespace in the MCP Registry (io.github.USER)", value_proc=_namespace)
        if "registry" in wanted
        else "",
    )


def _chosen(text: str) -> set[str]:
    words = set(text.replace(",", " ").split())
    if unknown := sorted(words.difference(_CHOICES)):
        raise click.UsageError(f"`{unknown[0]}` is not one of {', '.join(_CHOICES)}")
    return words


def _namespace(text: str) -> str:
    from toolmason.scaffold.publishing import NamespaceError, Publishing

    try:
        return Publishing(namespace=text).namespace
    except NamespaceError as error:
        raise click.UsageError(str(error)) from error


def _generate(project: Project) -> None:
    """Write `generated/` of the new project. An error in its manifest is a bug."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import generate

    diagnostics = Diagnostics()
    if generate(project, diagnostics=diagnostics) is None:  # pragma: no cover  # see above
        raise AssertionError("\n".join(str(diagnostic) for diagnostic in diagnostics))
