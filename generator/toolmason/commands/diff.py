"""`toolmason diff`: compare two contracts of a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    expand_headers,
    find_current_project,
    header_option,
    manifest_option,
    print_findings,
    server_timeout_option,
    working_directory,
)
from toolmason.commands.report_output import print_report, report_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolmason.diagnostics.terminal import Layout
    from toolmason.diff.contract import Contract
    from toolmason.diff.report import Format
    from toolmason.diff.sides import SideLoader

_FORMATS = ("text", "markdown", "json", "github", "sarif")
_NEVER = "never"


@click.command()
@click.argument("old")
@click.argument("new", required=False)
@click.option(
    "--fail-on",
    type=click.Choice(["breaking", "dangerous", "safe", _NEVER]),
    default="breaking",
    show_default=True,
    help="Lowest severity that exits with 1.",
)
@click.option(
    "--format", "layout", type=click.Choice(_FORMATS), default="text", show_default=True, help="Output format."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to FILE instead of stdout.",
)
@click.option(
    "--queries",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also report queries that no longer find their tool; a file of `toolmason eval`.",
)
@header_option("Send this header to a URL")
@server_timeout_option
@manifest_option
def diff(
    *,
    old: str,
    new: str | None,
    fail_on: str,
    layout: Format,
    output: Path | None,
    queries: Path | None,
    headers: tuple[str, ...],
    timeout: int,
    manifest: Path | None,
) -> None:
    """Report what a change of the server breaks.

    OLD and NEW are each a revision of git, a manifest or its directory, a JSON file of tools, a URL, a command line in
    quotes or `stdio:COMMAND`, `pypi:NAME==VERSION`, or `npm:NAME@VERSION`. Default of NEW: the manifest of the working
    tree.

    Exit codes: 0 fine, 1 a change of the severity of --fail-on, 2 a side cannot be loaded.
    """
    from toolmason.diff.compare import compare
    from toolmason.diff.report import Comparison, format_report, summary
    from toolmason.diff.rules import Severity, rules
    from toolmason.diff.sides import SideLoader

    directory = working_directory()
    loader = SideLoader(
        directory, lambda: find_current_project(manifest), headers=expand_headers(headers), timeout_s=timeout
    )
    before = _load(loader, old, layout)
    after = _load(loader, new, layout)
    changes = compare(before, after, queries=_queries(queries, before))
    comparison = Comparison(old=before, new=after, changes=changes)
    print_report(format_report(comparison, layout, report_terminal(output)), output)
    if layout in {"github", "sarif"} or output is not None:
        click.echo(summary(comparison), err=True)
    if fail_on != _NEVER and any(rules()[change.rule].severity.rank <= Severity(fail_on).rank for change in changes):
        exit_with(ExitCode.FINDINGS)


def _load(loader: SideLoader, side: str | None, layout: str) -> Contract:
    """Return the contract of a side, or exit."""
    from toolmason.audit.sources import SourceError
    from toolmason.diagnostics.terminal import progress
    from toolmason.diff.sides import InvalidManifestError

    try:
        with progress() as show:
            show(f"reading {side or 'the manifest'}")
            return loader.working_tree() if side is None else loader.load(side)
    except SourceError as error:
        raise CommandLineError(str(error)) from error
    except InvalidManifestError as error:
        layouts: Mapping[str, Layout] = {"github": "github", "sarif": "sarif"}
        print_findings(error.diagnostics, layouts.get(layout, "text"), outcome="Nothing was compared.")
        click.echo(f"{error.source}: its manifest has errors", err=True)
        exit_with(ExitCode.COMMAND_LINE)


def _queries(path: Path | None, contract: Contract) -> Mapping[str, Sequence[str]]:
    """Return the queries of a file by tool, or print its errors and exit."""
    if path is None:
        return {}
    from toolmason.diagnostics import Diagnostics
    from toolmason.evaluation.queries import load_queries

    if contract.catalogue is None:
        raise CommandLineError("--queries needs manifests or packages of Toolmason on both sides")
    diagnostics = Diagnostics()
    file = working_directory() / path
    found = load_queries(file, contract.catalogue, root=file.parent, diagnostics=diagnostics)
    if diagnostics.found:
        print_findings(diagnostics, "text", outcome="Nothing was compared.")
        exit_with(ExitCode.COMMAND_LINE)
    texts: dict[str, list[str]] = {}
    for query in found:
        for tool in query.tools:
            texts.setdefault(tool, []).append(query.text)
    return texts
