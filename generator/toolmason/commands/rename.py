"""`toolmason rename` and `toolmason move`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolmason.commands.edit_run import begin_edits, edit_options, run_edits
from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
    find_current_project,
    manifest_option,
    print_findings,
)

if TYPE_CHECKING:
    from toolmason.project import Project
    from toolmason.refactor.result import Place, Refactoring

MAX_PLACES: Final = 40
"""Maximum number of uncertain places that are listed."""


@click.command()
@click.argument("old", metavar="TOOL | TOOL.PARAM")
@click.argument("new", metavar="NEW")
@click.option("--param", "is_param", is_flag=True, help="Rename the parameter PARAM of TOOL.")
@click.option("--no-alias", is_flag=True, help="Do not keep the old name as an alias.")
@edit_options
@manifest_option
def rename(
    *, old: str, new: str, is_param: bool, no_alias: bool, yes: bool, dry_run: bool, manifest: Path | None
) -> None:
    """Rename a tool, or a parameter of a tool, in the whole project.

    Examples: `toolmason rename count_words measure_text`, `toolmason rename --param count_words.text content`.

    Changes the manifest, handlers, tests, queries and documents, and lists places that may mean something else. The old
    name becomes an alias, so calls with it still work. Shows the diff, asks for approval, then writes all files or
    none. Then run `toolmason generate`.

    Exit codes: 0 written, 1 invalid manifest before or after the change, 2 wrong command line, 4 nothing was written.
    """
    project = find_current_project(manifest)

    def task() -> Refactoring:
        from toolmason.refactor.rename import rename_param, rename_tool

        if not is_param:
            return rename_tool(project, old, new, alias=not no_alias)
        tool, dot, param = old.partition(".")
        if not dot or not param:
            raise click.UsageError("--param needs TOOL.PARAM, such as `count_words.text`")
        return rename_param(project, tool, param, new, alias=not no_alias)

    exit_with(run_refactoring(project, task, yes=yes, dry_run=dry_run))


@click.command()
@click.argument("tool", metavar="TOOL")
@click.argument("destinations", metavar="CATEGORY | FILE.toml", nargs=-1, required=True)
@edit_options
@manifest_option
def move(*, tool: str, destinations: tuple[str, ...], yes: bool, dry_run: bool, manifest: Path | None) -> None:
    """Move a tool to another category, or to another file of the manifest.

    Examples: `toolmason move count_words text`, `toolmason move count_words manifest/tools/text.toml`, or both at once.

    A new file is added to `include` if no pattern there matches it. Handlers and tests import the tool's classes from
    the module of the new category. Shows the diff, asks for approval, then writes all files or none. Then run
    `toolmason generate`.

    Exit codes: 0 written, 1 invalid manifest before or after the change, 2 wrong command line, 4 nothing was written.
    """
    project = find_current_project(manifest)
    files = [Path(name) for name in destinations if name.endswith(".toml")]
    categories = [name for name in destinations if not name.endswith(".toml")]
    if len(files) > 1 or len(categories) > 1:
        raise click.UsageError("a tool can move to one category and one file")

    def task() -> Refactoring:
        from toolmason.refactor.move import move_tool

        return move_tool(project, tool, category="".join(categories), file=files[0] if files else None)

    exit_with(run_refactoring(project, task, yes=yes, dry_run=dry_run))


def run_refactoring(project: Project, task: Callable[[], Refactoring], *, yes: bool, dry_run: bool) -> ExitCode:
    """Compute the changes, show them with the places that need a person, and write them after approval."""
    from toolmason.edits import EditError
    from toolmason.refactor.errors import ClashError, RefactorError
    from toolmason.refactor.trial import InvalidManifestError, edited_files

    begin_edits(project.root, yes=yes, dry_run=dry_run)
    if edited := edited_files(project):
        raise OverwriteRefusedError(
            f"{edited[0]} was edited; `toolmason generate` shows how to keep the edit: run it first"
        )
    try:
        refactoring = task()
    except InvalidManifestError as error:
        outcome = "The change would make the manifest invalid; nothing was written." if error.is_result else ""
        print_findings(error.diagnostics, "text", outcome=outcome)
        return ExitCode.FINDINGS
    except ClashError as error:
        from toolmason.diagnostics import Diagnostics

        diagnostics = Diagnostics()
        diagnostics.add(error.diagnostic)
        print_findings(diagnostics, "text")
        return ExitCode.FINDINGS
    except (RefactorError, EditError) as error:
        raise CommandLineError(str(error)) from error
    if len(refactoring.findings):
        print_findings(refactoring.findings, "text", outcome="The change causes these findings.")
    _print_places(refactoring.uncertain)
    code = run_edits(refactoring.edits, yes=yes, dry_run=dry_run)
    if code is ExitCode.FINE:
        for note in refactoring.notes:
            click.echo(note, err=True)
    return code


def _print_places(places: tuple[Place, ...]) -> None:
    """Print the places that stay as they are and may need a change."""
    if not places:
        return
    from toolmason.audit.output import visible

    count = f"{len(places)} place{'' if len(places) == 1 else 's'}"
    click.echo(f"not changed, because the name may mean something else ({count}):", err=True)
    for path, line, reason in places[:MAX_PLACES]:
        click.echo(f"  {visible(path)}:{line}: {visible(reason)}", err=True)
    if len(places) > MAX_PLACES:
        click.echo(f"  ... and {len(places) - MAX_PLACES:,} more", err=True)
