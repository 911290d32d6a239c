"""Run `check --upstreams` for the command line: print the differences and return the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from toolmason_runtime.shared.specs.pins import UNKNOWN_PARTS, is_escalation
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.suggestions import did_you_mean

from toolmason.commands.options import CommandLineError, ExitCode, print_findings
from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.terminal import progress
from toolmason.importers.notes import ImporterError
from toolmason.importers.server.approval import approve_tools
from toolmason.importers.server.drift import UNREACHABLE, DriftCheck
from toolmason.importers.server.hints import unasked_text
from toolmason.kinds.upstream.implementation import upstream_of
from toolmason.pipeline import read

if TYPE_CHECKING:
    from toolmason.diagnostics.terminal import Layout
    from toolmason.pipeline import LoadedManifest
    from toolmason.project import Project


def check_upstreams(project: Project, layout: Layout, approve: tuple[str, ...] = ()) -> ExitCode:
    """Start the upstreams of a project and compare their tools with the manifest; approve changes of named tools."""
    diagnostics = Diagnostics()
    outcome = ""
    with progress() as show:
        manifest = read(project, diagnostics=diagnostics, progress=show)
        if manifest is not None:
            _check_names(manifest, approve)
            check = DriftCheck(manifest, project.root, diagnostics, approve)
            check.run(show)
            outcome = "Only hashes of approved tools are written." if check.approved else ""
    print_findings(diagnostics, layout, outcome=outcome)
    if manifest is None:
        return ExitCode.FINDINGS
    _print_unasked(manifest, is_text=layout == "text")
    if approve:
        _approve(manifest, project, check, layout)
    codes = {diagnostic.code for diagnostic in diagnostics}
    if codes - {UNREACHABLE}:
        return ExitCode.UPSTREAM_DRIFT
    if codes:
        return ExitCode.FINDINGS
    if layout == "text":
        count = sum(upstream_of(tool) is not None for tool in manifest.server.tools)
        click.echo(f"{count} tool{'' if count == 1 else 's'} of upstreams: no changes")
    return ExitCode.FINE


def _check_names(manifest: LoadedManifest, names: tuple[str, ...]) -> None:
    """Raise an error for the first name that is not a tool of an upstream."""
    known = [tool.name for tool in manifest.server.tools if upstream_of(tool) is not None]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"tools of upstreams: {', '.join(known) or 'none'}"
            raise click.UsageError(f"--approve: `{name}` is not a tool of an upstream; {hint}")


def _approve(manifest: LoadedManifest, project: Project, check: DriftCheck, layout: Layout) -> None:
    """Write the approved pins and print them; to stderr if stdout is for a program."""
    try:
        locations = approve_tools(manifest.document, project.root, check.approved)
    except ImporterError as error:
        raise CommandLineError(str(error)) from error
    for approval in check.approved:
        tool = approval.tool
        parts = f": {', '.join(approval.parts)}" if approval.parts else ""
        click.echo(f"approved: {tool.name} ({locations[tool.name]}){parts}", err=layout != "text")
        if "description" in approval.parts or approval.parts == UNKNOWN_PARTS:
            click.echo(f'description of {tool.name}: "{approval.description}"', err=layout != "text")
        found = upstream_of(tool)
        if is_escalation(approval.parts) and found and found.tool.risk is Risk.READ:
            click.echo(f"warning: `hints` of {tool.name} still allow calls without approval; change them", err=True)
    for name in check.approve:
        if name not in locations:
            click.echo(f"nothing to approve: {name}", err=layout != "text")
    if locations:
        click.echo("Run `toolmason generate`, so that the server accepts the approved tools.", err=True)


def _print_unasked(manifest: LoadedManifest, *, is_text: bool) -> None:
    """Print the tools of upstreams that run without approval; to stderr if stdout is for a program."""
    tools = [tool for tool in manifest.server.tools if (found := upstream_of(tool)) and found.tool.risk is Risk.READ]
    click.echo(unasked_text([tool.name for tool in tools]), err=not is_text)
    tables = manifest.document.data["tools"]
    if accepted := [tool.name for tool in tools if tables[tool.name].get("hints_source") == "upstream"]:
        click.echo(f"by the hints that the upstream declares: {', '.join(accepted)}", err=not is_text)
