"""`toolmason generate` and `toolmason check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    ExitCode,
    exit_with,
    find_current_project,
    format_option,
    manifest_option,
    time_limit_option,
)
from toolmason.model.parts import PARTS

if TYPE_CHECKING:
    from toolmason.commands.pipeline_run import Run
    from toolmason.diagnostics.terminal import Layout
    from toolmason.project import Project


def _only_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option("--only", type=click.Choice(PARTS), help="Write or compare only this part of generated/.")(
        command
    )


@click.command()
@click.option("--check", "is_check", is_flag=True, help="Compare and write nothing; exit 3 if anything differs.")
@click.option(
    "--diff",
    "show_diff",
    is_flag=True,
    help="Show the whole diff: on stdout with --format text, otherwise on stderr.",
)
@_only_option
@click.option("--discard-edits", is_flag=True, help="Overwrite edited files.")
@click.option("--stubs", is_flag=True, help="Also add missing functions to handlers/; existing ones stay.")
@click.option("--watch", is_flag=True, help="Repeat on each change of the manifest, templates or handlers.")
@time_limit_option
@format_option
@manifest_option
def generate(  # noqa: PLR0917 - click passes options by name
    is_check: bool,
    show_diff: bool,
    only: str | None,
    discard_edits: bool,
    stubs: bool,
    watch: bool,
    time_limit: float,
    layout: Layout,
    manifest: Path | None,
) -> None:
    """Write generated/ from the manifest.

    Files that are up to date are not touched. If a generated file was edited, nothing is written. If functions of
    handlers/ are missing, only the models and contracts are written; --stubs adds the functions.
    """
    if is_check and (watch or discard_edits or stubs):
        raise click.UsageError("--check cannot be combined with --watch, --discard-edits or --stubs")
    from toolmason.commands.pipeline_run import Run

    run = Run(find_current_project(manifest), layout, only, show_diff=show_diff, time_limit_s=time_limit)
    if is_check:
        exit_with(run.check())

    from toolmason.commands.edit_run import finish_edits

    def task() -> ExitCode:
        finish_edits(run.project.root)
        if stubs:
            add_missing_functions(run)
        return run.generate(discard_edits=discard_edits)

    if watch:
        _watch(run.project, task)
    else:
        exit_with(task())


@click.command()
@click.option("--diff", "show_diff", is_flag=True, help="Show the whole diff, not only the first lines.")
@click.option(
    "--upstreams",
    is_flag=True,
    help="Compare the tools of [upstreams] with the manifest instead. Starts their programs, unlike a "
    "plain `check`. Exit with 4 if anything differs, with 1 if a server does not answer.",
)
@click.option(
    "--approve",
    multiple=True,
    metavar="TOOL",
    help="With --upstreams: accept the changes of TOOL, whose new `upstream_hash` is written into the manifest. "
    "Repeatable.",
)
@_only_option
@time_limit_option
@format_option
@manifest_option
def check(  # noqa: PLR0917 - click passes options by name
    show_diff: bool,
    upstreams: bool,
    approve: tuple[str, ...],
    only: str | None,
    time_limit: float,
    layout: Layout,
    manifest: Path | None,
) -> None:
    """Compare generated/ with the manifest.

    Like `generate --check`: write nothing except with --approve, exit with 3 if anything differs.
    """
    if upstreams:
        if show_diff or only:
            raise click.UsageError("--upstreams cannot be combined with --diff or --only")
        from toolmason.commands.upstream_check import check_upstreams

        exit_with(check_upstreams(find_current_project(manifest), layout, approve))
    if approve:
        raise click.UsageError("--approve needs --upstreams")
    from toolmason.commands.pipeline_run import Run

    run = Run(find_current_project(manifest), layout, only, show_diff=show_diff, time_limit_s=time_limit)
    exit_with(run.check())


def add_missing_functions(run: Run) -> None:
    """Write the missing functions of the handlers and print them."""
    from toolmason.scaffold.stubs import write_stubs

    for change in write_stubs(run.project):
        click.echo(str(change), err=bool(change.problem) or run.layout != "text")


def _watch(project: Project, task: Callable[[], ExitCode]) -> None:
    from toolmason.watch import run_on_changes

    def ready() -> None:
        click.echo(f"watching {project.shown_manifest}, templates/, handlers/; press Ctrl-C to stop", err=True)

    run_on_changes(project, task, ready=ready)
