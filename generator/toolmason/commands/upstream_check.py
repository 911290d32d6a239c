"""Run `check --upstreams` for the command line: print the differences and return the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from toolmason_runtime.programs.spec import Risk

from toolmason.commands.options import ExitCode, print_findings
from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.terminal import progress
from toolmason.importers.server.drift import UNREACHABLE, DriftCheck
from toolmason.importers.server.hints import unasked_text
from toolmason.kinds.upstream.implementation import upstream_of
from toolmason.pipeline import read

if TYPE_CHECKING:
    from toolmason.diagnostics.terminal import Layout
    from toolmason.pipeline import LoadedManifest
    from toolmason.project import Project


def check_upstreams(project: Project, layout: Layout) -> ExitCode:
    """Start the upstreams of a project and compare their tools with the manifest."""
    diagnostics = Diagnostics()
    with progress() as show:
        manifest = read(project, diagnostics=diagnostics, progress=show)
        if manifest is not None:
            DriftCheck(manifest, project.root, diagnostics).run(show)
    print_findings(diagnostics, layout)
    if manifest is None:
        return ExitCode.FINDINGS
    _print_unasked(manifest, is_text=layout == "text")
    codes = {diagnostic.code for diagnostic in diagnostics}
    if codes - {UNREACHABLE}:
        return ExitCode.UPSTREAM_DRIFT
    if codes:
        return ExitCode.FINDINGS
    if layout == "text":
        count = sum(upstream_of(tool) is not None for tool in manifest.server.tools)
        click.echo(f"{count} tool{'' if count == 1 else 's'} of upstreams: no changes")
    return ExitCode.FINE


def _print_unasked(manifest: LoadedManifest, *, is_text: bool) -> None:
    """Print the tools of upstreams that run without approval; to stderr if stdout is for a program."""
    tools = [tool for tool in manifest.server.tools if (found := upstream_of(tool)) and found.tool.risk is Risk.READ]
    click.echo(unasked_text([tool.name for tool in tools]), err=not is_text)
    tables = manifest.document.data["tools"]
    if accepted := [tool.name for tool in tools if tables[tool.name].get("hints_source") == "upstream"]:
        click.echo(f"by the hints that the upstream declares: {', '.join(accepted)}", err=not is_text)
