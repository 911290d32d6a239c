"""`toolmason report`: one page about a server, for a team."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
    expand_headers,
    find_current_project,
    header_option,
    manifest_option,
    print_findings,
    server_timeout_option,
    working_directory,
)
from toolmason.commands.queries_file import read_queries
from toolmason.commands.report_output import print_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolmason_runtime.toolkit import Policy

    from toolmason.diff.contract import Contract
    from toolmason.diff.report import Comparison
    from toolmason.report.subject import Subject

_NO_RELEASE = (
    "No release is recorded: `toolmason release` writes `contract.lock`, and `--since REVISION` compares without it."
)
_NO_SIDE = (
    "Another server has no recorded release: compare it with a published version by `--since 'npx -y NAME@1.2.0'`."
)


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page to FILE instead of stdout.",
)
@click.option(
    "--queries",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measure the search with these queries, a file of `toolmason eval`, instead of the use cases.",
)
@click.option(
    "--since",
    metavar="SIDE",
    default="",
    help="Compare with this side of `toolmason diff`, such as a revision of git, instead of contract.lock.",
)
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Show the approvals of this policy file instead of those without one.",
)
@click.option(
    "--server",
    metavar="COMMAND|URL",
    default="",
    help="Report on this MCP server instead of the manifest: a command line in quotes, or a URL.",
)
@click.option(
    "--date",
    metavar="YYYY-MM-DD",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Date on the page. By default it has none, so that the same input gives the same bytes.",
)
@header_option("Send this header to a URL")
@server_timeout_option
@manifest_option
def report(
    *,
    output: Path | None,
    queries: Path | None,
    since: str,
    policy_file: Path | None,
    server: str,
    date: dt.datetime | None,
    headers: tuple[str, ...],
    timeout: int,
    manifest: Path | None,
) -> None:
    """Write one HTML page about the server, for a team.

    The page shows tokens by category and client, schemas that providers reject or change, searches that find another
    tool, look-alike tools, risk and approval, and the changes since the last release. It is one file without scripts.
    The same input gives the same bytes.
    """
    from toolmason.report.changes import changes
    from toolmason.report.costs import costs
    from toolmason.report.page import Report, html_report
    from toolmason.report.risks import risks
    from toolmason.report.schemas import schemas
    from toolmason.report.searches import searches

    _check_options(server, headers, manifest, policy_file)
    _check_output(output)
    sent = expand_headers(headers)
    if server:
        subject, contract = _other_server(server, sent, timeout, has_contract=bool(since))
        comparison = _since(since, sent, timeout, manifest, contract) if contract else None
        root = working_directory()
    else:
        subject, contract, comparison = _own_server(manifest, policy_file, sent, timeout, since)
        root = find_current_project(manifest).root
    found = read_queries(queries, subject.table, root) if queries else ()
    page = html_report(
        Report(
            subject=subject,
            costs=costs(subject),
            schemas=schemas(subject.audited, is_listed=len(subject.listed) >= len(subject.tools)),
            searches=searches(subject, found, queries.as_posix() if queries else ""),
            risks=risks(subject, contract.access if contract else None, policy_file.as_posix() if policy_file else ""),
            changes=changes(comparison) if comparison else None,
            no_changes=_NO_SIDE if server else _NO_RELEASE,
            date=date.date().isoformat() if date else "",
        )
    )
    print_report(page, output)


def _check_output(output: Path | None) -> None:
    """Refuse to overwrite a file that is not an earlier page."""
    try:
        beginning = output.read_bytes()[:64] if output and output.is_file() else b""
    except OSError:
        return  # the write reports it
    if beginning and not beginning.lower().startswith(b"<!doctype html>"):
        raise OverwriteRefusedError(f"{output} exists and is no HTML page; nothing was written")


def _check_options(server: str, headers: tuple[str, ...], manifest: Path | None, policy: Path | None) -> None:
    """Exit if options cannot be combined."""
    from toolmason.audit.server_address import is_url

    if server and (manifest or policy):
        raise click.UsageError(f"--server and {'--manifest' if manifest else '--policy'} cannot be combined")
    if headers and not is_url(server):
        raise click.UsageError("--header requires --server https://...")


def _own_server(
    manifest: Path | None, policy_file: Path | None, headers: Mapping[str, str], timeout: int, since: str
) -> tuple[Subject, Contract, Comparison | None]:
    """Return the server of the manifest, its contract, and the comparison with another one; or exit."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.diff.lock import LockError, compare_released, read_lock
    from toolmason.diff.manifest_side import manifest_contract
    from toolmason.pipeline import read
    from toolmason.report.subject import manifest_subject

    diagnostics = Diagnostics()
    project = find_current_project(manifest)
    reading = read(project, diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, "text")
        exit_with(ExitCode.FINDINGS)
    subject = manifest_subject(reading, project, _policy(policy_file) if policy_file else None)
    contract = manifest_contract(reading, project.root, source=project.shown_manifest)
    if since:
        return subject, contract, _since(since, headers, timeout, manifest, contract)
    if not project.contract_lock.exists():
        return subject, contract, None
    try:
        return subject, contract, compare_released(read_lock(project.contract_lock), contract)
    except (LockError, OSError) as error:
        message = f"cannot read the published contract {project.shown_contract_lock}: {error}"
        raise CommandLineError(message) from error


def _policy(path: Path) -> Policy:
    from toolmason_runtime.toolkit import PolicyError, load_policy

    try:
        return load_policy(path)
    except PolicyError as error:
        raise CommandLineError(str(error)) from error


def _other_server(
    address: str, headers: Mapping[str, str], timeout: int, *, has_contract: bool
) -> tuple[Subject, Contract | None]:
    """Return another MCP server, and its contract if `has_contract`; or exit."""
    from toolmason.audit.sources import SourceError, load_described_server
    from toolmason.diagnostics.terminal import progress
    from toolmason.diff.sides import list_contract
    from toolmason.report.subject import server_subject

    try:
        with progress() as show:
            show("listing the server's tools")
            about, source = load_described_server(address, headers=headers, timeout_s=timeout)
        return server_subject(about, source), list_contract(source) if has_contract else None
    except SourceError as error:
        raise CommandLineError(str(error)) from error


def _since(
    side: str, headers: Mapping[str, str], timeout: int, manifest: Path | None, contract: Contract
) -> Comparison:
    """Return the comparison of a contract with another side, or exit."""
    from toolmason.audit.sources import SourceError
    from toolmason.diff.compare import compare
    from toolmason.diff.report import Comparison
    from toolmason.diff.sides import InvalidManifestError, SideLoader

    loader = SideLoader(working_directory(), lambda: find_current_project(manifest), headers=headers, timeout_s=timeout)
    try:
        old = loader.load(side)
    except SourceError as error:
        raise CommandLineError(f"--since: {error}") from error
    except InvalidManifestError as error:
        print_findings(error.diagnostics, "text", outcome="Nothing was compared.")
        raise CommandLineError(f"--since {side}: its manifest has errors") from error
    return Comparison(old=old, new=contract, changes=compare(old, contract))
