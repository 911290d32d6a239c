"""`toolmason lint`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    ExitCode,
    exit_with,
    find_current_project,
    format_option,
    manifest_option,
    print_findings,
    time_limit_option,
)
from toolmason.commands.profile_findings import add_profile_findings, print_manual_rules
from toolmason.publishing.names import PROFILES

if TYPE_CHECKING:
    from toolmason.diagnostics.terminal import Layout


@click.command()
@click.option(
    "--profile",
    "profiles",
    type=click.Choice(PROFILES),
    multiple=True,
    help="Also check the written rules of this registry or directory. Repeatable.",
)
@time_limit_option
@format_option
@manifest_option
def lint(profiles: tuple[str, ...], time_limit: float, layout: Layout, manifest: Path | None) -> None:
    """Check the manifest for likely mistakes.

    To disable a rule for a tool, add [[tools.NAME.allow]] with `rule` and `reason`. Notes do not affect the exit code.

    Example: `toolmason lint --profile mcp-registry --profile claude-directory`
    """
    from toolmason.diagnostics import Diagnostics, Severity
    from toolmason.diagnostics.terminal import progress
    from toolmason.pipeline import read_and_lint
    from toolmason.time_limit import TimeLimitError, limited_time

    diagnostics = Diagnostics()
    project = find_current_project(manifest)
    reading = None
    try:
        with limited_time(time_limit) as limit, progress() as show:

            def enter(stage: str) -> None:
                limit.enter(stage)
                show(stage)

            reading = read_and_lint(project, diagnostics=diagnostics, progress=enter)
    except TimeLimitError as error:
        from toolmason.commands.pipeline_run import report_time_limit

        report_time_limit(error, project, diagnostics)
    checked = add_profile_findings(project, reading, profiles, layout, diagnostics) if reading and profiles else None
    print_findings(diagnostics, layout, rules=checked.sarif_rules if checked else None)
    if checked and layout == "text":
        print_manual_rules(checked)
    if any(diagnostic.severity is not Severity.NOTE for diagnostic in diagnostics):
        exit_with(ExitCode.FINDINGS)
    if layout == "text" and reading is not None and not diagnostics.found:
        count = len(reading.server.tools)
        click.echo(f"{project.shown_manifest}: no problems in {count} tool{'' if count == 1 else 's'}")
