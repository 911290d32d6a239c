"""Commands that write nothing: `lint`, `stats`, `search`, `explain`, `completion`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import (
    CommandLineError,
    Exit,
    end_with,
    format_option,
    manifest_option,
    print_findings,
    project_here,
    toolmason,
)

if TYPE_CHECKING:
    from toolmason.diagnostics.terminal import Layout
    from toolmason.model.server import Server

SHELLS = ("bash", "zsh", "fish")


@click.command()
@format_option
@manifest_option
def lint(layout: Layout, manifest: Path | None) -> None:
    """Look for mistakes that are legal.

    A rule is switched off for one tool with [[tools.NAME.allow]], `rule` and `reason`. Notes alone do not fail.
    """
    from toolmason.diagnostics import Diagnostics, Severity
    from toolmason.diagnostics.terminal import progress
    from toolmason.pipeline import read_and_lint

    diagnostics = Diagnostics()
    project = project_here(manifest)
    with progress() as show:
        reading = read_and_lint(project, diagnostics=diagnostics, progress=show)
    print_findings(diagnostics, layout)
    if any(each.severity is not Severity.NOTE for each in diagnostics):
        end_with(Exit.FINDINGS)
    if layout == "text" and reading is not None and not diagnostics.found:
        number = len(reading.server.tools)
        click.echo(f"{project.shown_manifest}: nothing to complain of in {number} tool{'' if number == 1 else 's'}")


@click.command()
@manifest_option
def stats(manifest: Path | None) -> None:
    """Show what tools and styles cost a model.

    In bytes on the wire and estimated tokens: each tool, and what `tools/list` sends in each style.
    """
    server = _server(manifest)

    from toolmason.catalogue.stats import report_stats

    click.echo(report_stats(server), nl=False)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Most hits shown.")
@manifest_option
def search(words: tuple[str, ...], limit: int, manifest: Path | None) -> None:
    """Search the tools as a model would.

    Shows why each hit came: the words that matched, and in which fields.
    """
    server = _server(manifest)

    from toolmason.commands.search import report_search

    click.echo(report_search(server, " ".join(words), limit=limit), nl=False)


def _server(manifest: Path | None) -> Server:
    """Read the manifest; end the command if there is a mistake in it."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import read

    diagnostics = Diagnostics()
    reading = read(project_here(manifest), diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, "text")
        end_with(Exit.FINDINGS)
    return reading.server


def _complete_code(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from toolmason.diagnostics.rules import RULES

    return [CompletionItem(code, help=RULES[code].title) for code in RULES if code.startswith(incomplete.upper())]


@click.command()
@click.argument("code", shell_complete=_complete_code)
def explain(code: str) -> None:
    """Explain the CODE of a finding.

    The rule, why it exists, a bad and a good example.
    """
    from toolmason.diagnostics.explain import UnknownCodeError, explain

    try:
        click.echo(explain(code), nl=False)
    except UnknownCodeError as error:
        raise CommandLineError(str(error)) from error


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(toolmason completion bash)"         in ~/.bashrc
    zsh:   eval "$(toolmason completion zsh)"          in ~/.zshrc
    fish:  toolmason completion fish | source          in ~/.config/fish/config.fish
    """  # noqa: D301 - \b is click's sign to keep the lines
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    kind: type[ShellComplete] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    # Not `source()` of the class itself: bash's starts a bash to ask its version, which completion scripts printed
    # for another machine must not depend on.
    click.echo(ShellComplete.source(kind(toolmason, {}, "toolmason", "_TOOLMASON_COMPLETE")))
