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
)

if TYPE_CHECKING:
    from toolmason.diagnostics.terminal import Layout


@click.command()
@format_option
@manifest_option
def lint(layout: Layout, manifest: Path | None) -> None:
    """Check the manifest for likely mistakes.

    To disable a rule for a tool, add [[tools.NAME.allow]] with `rule` and `reason`. Notes do not affect the exit code.
    """
    from toolmason.diagnostics import Diagnostics, Severity
    from toolmason.diagnostics.terminal import progress
    from toolmason.pipeline import read_and_lint

    diagnostics = Diagnostics()
    project = find_current_project(manifest)
    with progress() as show:
        reading = read_and_lint(project, diagnostics=diagnostics, progress=show)
    print_findings(diagnostics, layout)
    if any(diagnostic.severity is not Severity.NOTE for diagnostic in diagnostics):
        exit_with(ExitCode.FINDINGS)
    if layout == "text" and reading is not None and not diagnostics.found:
        count = len(reading.server.tools)
        click.echo(f"{project.shown_manifest}: no problems in {count} tool{'' if count == 1 else 's'}")
