"""`toolmason schema`: report, diff and convert tool schemas that providers refuse or weaken."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolmason.commands.options import Command, CommandLineError, ExitCode, exit_with
from toolmason.commands.report_output import print_report, report_terminal
from toolmason.commands.schema_source import Request, source_options
from toolmason.diagnostics.terminal import LAYOUTS
from toolmason.targets import Target

if TYPE_CHECKING:
    from toolmason.audit.audit import AuditedTool
    from toolmason.audit.verdict import Policy

# A copy of the names in `toolmason.schema`, which takes long to import. A test compares them.
SEVERITIES = ("refused", "breaks", "narrowed", "lossy", "note")
DEFAULT_SEVERITY = "breaks"
NEVER = "never"
PAGES = ("markdown", "html")
"""Formats of this report only."""
"""Columns of output that goes neither to a terminal nor to a width in `COLUMNS`."""


@click.group()
def schema() -> None:
    """Check the tool schemas of any MCP server against the rules of model providers.

    \b
    Tools are loaded from
      the project's manifest          by default
      SOURCE ...                      JSON files, manifests (.toml), or - for stdin: a `tools/list` result, a list for
                                      OpenAI, Anthropic or Gemini, or a single schema
      --server "COMMAND ..."          a stdio MCP server in any language; no shell is used
      --server https://...            a streamable HTTP MCP server
    """  # noqa: D301 - \b is click's sign to keep the lines


_output_option: Callable[[Command], Command] = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE instead of stdout.",
)


@schema.command()
@source_options
@click.option(
    "--format",
    "layout",
    type=click.Choice([*LAYOUTS, *PAGES]),
    default="text",
    show_default=True,
    help="Format of the report. `json` is one document.",
)
@click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
@click.option("--timestamp", is_flag=True, help="Add the current time to the JSON report.")
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default=DEFAULT_SEVERITY,
    show_default=True,
    help="A tool with a finding of at least this severity is incompatible, and the command exits with 1.",
)
@click.option(
    "--max-share",
    type=click.FloatRange(0, 100),
    default=10,
    show_default=True,
    metavar="PERCENT",
    help="Accept findings that concern no more than this share of all clients.",
)
@click.option(
    "--client",
    "clients",
    metavar="NAME",
    multiple=True,
    help="Fail where this client fails, such as claude-code. Repeatable.",
)
@click.option(
    "--provider",
    "providers",
    metavar="NAME",
    multiple=True,
    help="Fail where this provider fails, such as groq; for some, with their own rules. Repeatable.",
)
@click.option(
    "--badge",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a badge with the verdict: a picture (.svg), or JSON for shields.io.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Accept the findings in FILE, an earlier report of --json. Only new ones count.",
)
@click.option(
    "--ignore",
    "ignored",
    metavar="'PATTERN: REASON'",
    multiple=True,
    help="Accept the findings with this pattern, such as $ref. The report shows the reason. Repeatable.",
)
@_output_option
def check(  # noqa: PLR0917 - click passes options by name
    layout: str,
    is_json: bool,
    timestamp: bool,
    fail_on: str,
    max_share: float,
    clients: tuple[str, ...],
    providers: tuple[str, ...],
    badge: Path | None,
    baseline: Path | None,
    ignored: tuple[str, ...],
    output: Path | None,
    **options: Any,
) -> None:
    """Report the parts of schemas that a target rejects or ignores, each with its cause and fix.

    With --tool, or for a single tool, the report lists every finding and proposes a schema that the target accepts.

    A finding names the clients and providers that fail, with their share of all clients: each client has one vote,
    divided among its providers.

    Exit codes: 0 fine, 1 a tool is incompatible, 2 wrong command line or no tools available.
    """
    if is_json and layout not in {"text", "json"}:
        raise click.UsageError(f"--json and --format {layout} cannot be combined")
    if badge is not None and badge.suffix.lower() not in {".svg", ".json"}:
        raise click.UsageError(f"--badge {badge}: write a name that ends with .svg or .json")
    layout = "json" if is_json else layout
    if timestamp and layout != "json":
        raise click.UsageError("--timestamp requires --json")

    policy = _policy(DEFAULT_SEVERITY if fail_on == NEVER else fail_on, max_share, clients, providers)
    request = Request(**options, layout=layout, providers=policy.limited)
    tools = _accept(request.audit(), baseline, ignored)
    print_report(_format(tools, request, policy, timestamp=timestamp, output=output), output)
    if badge is not None:
        from toolmason.audit.pages import badge_file

        print_report(badge_file(badge.name, tools, policy), badge)
    if fail_on != NEVER and not all(map(policy.accepts, tools)):
        exit_with(ExitCode.FINDINGS)


def _policy(severity: str, max_share: float, clients: tuple[str, ...], providers: tuple[str, ...]) -> Policy:
    """Return the policy of the options, with each name checked."""
    from toolmason.audit.verdict import Policy
    from toolmason.schema import Severity
    from toolmason.schema.hosts import hosts
    from toolmason.schema.providers import providers as known_providers
    from toolmason.schema.usage import clients as known_clients

    for option, names, known in (
        ("--client", clients, [*known_clients()]),
        ("--provider", providers, [*known_providers().providers, *hosts()]),
    ):
        for name in names:
            _check_name(option, name, known)
    return Policy(threshold=Severity(severity), max_share=max_share / 100, clients=clients, providers=providers)


def _check_name(option: str, name: str, known: Sequence[str]) -> None:
    """Exit if an option names something that is not known."""
    from toolmason_runtime.shared.suggestions import closest_match

    if name not in known:
        near = closest_match(name, known)
        hint = f"did you mean `{near}`?" if near else f"use one of {', '.join(known)}"
        raise click.UsageError(f"unknown {option.removeprefix('--')} `{name}`; {hint}")


def _accept(tools: tuple[AuditedTool, ...], baseline: Path | None, ignored: tuple[str, ...]) -> tuple[AuditedTool, ...]:
    """Mark the issues of the baseline and of ignored patterns as accepted."""
    from toolmason.audit.accepted import accept_issues, load_baseline, unused_patterns
    from toolmason.audit.output import visible
    from toolmason.audit.sources import SourceError

    reasons = dict(map(_pattern_and_reason, ignored))
    try:
        known = load_baseline(baseline) if baseline else frozenset()
    except SourceError as error:
        raise CommandLineError(str(error)) from error
    for pattern in unused_patterns(tools, reasons):
        click.echo(visible(f"--ignore {pattern}: no finding has this pattern"), err=True)
    return accept_issues(tools, baseline=known, ignored=reasons)


def _pattern_and_reason(text: str) -> tuple[str, str]:
    pattern, _, reason = map(str.strip, text.partition(": "))
    if not pattern or not reason:
        raise click.UsageError('--ignore must be `PATTERN: REASON`, such as "$ref: all our clients resolve references"')
    return pattern, reason


def _format(
    tools: tuple[AuditedTool, ...], request: Request, policy: Policy, *, timestamp: bool, output: Path | None
) -> str:
    from toolmason.audit import ci_reports, report
    from toolmason.audit.output import as_json
    from toolmason.schema import Severity

    match request.layout:
        case "json":
            now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timestamp else ""
            return as_json(report.data_report(tools, policy=policy, timestamp=now))
        case "github":
            click.echo(report.summary_line(tools, policy=policy), err=True)
            return ci_reports.github_report(tools, policy)
        case "sarif":
            return ci_reports.sarif_report(tools, policy)
        case "markdown" | "html":
            from toolmason.audit import pages

            return (
                pages.markdown_report(tools, policy)
                if request.layout == "markdown"
                else pages.html_report(tools, policy)
            )
        case _:
            issues = [issue for tool in tools for issue in tool.issues if issue.finding.severity is not Severity.NOTE]
            has_details = bool(request.tools) or (len(tools) == 1 and not all(map(policy.tolerates, issues)))
            lines = report.text_report(tools, policy=policy, terminal=report_terminal(output), has_details=has_details)
            return "".join(f"{line}\n" for line in lines)


@schema.command()
@source_options
@_output_option
def diff(output: Path | None, **options: Any) -> None:
    """Show a unified diff between each schema and its replacement.

    The replacement is for --target, by default for the target of the tool's format. With several targets, it is for an
    MCP server.
    """
    from toolmason.audit.tool_report import text_diff

    lines = text_diff(Request(**options).audit(), terminal=report_terminal(output))
    print_report("".join(f"{line}\n" for line in lines), output)


@schema.command()
@source_options
@click.option(
    "--provider", metavar="PROVIDER", default="", help="Convert for this provider, such as groq, instead of a --target."
)
@_output_option
def transform(output: Path | None, provider: str, **options: Any) -> None:
    """Print the replacement schemas as JSON.

    For one tool, selected with --tool or alone in a file, it prints the schema. Otherwise it prints a `tools/list`
    result, or with --target or --provider a list in the provider's format. Losses are reported on stderr.
    """
    if len(set(options["targets"])) > 1:
        raise click.UsageError("transform takes one --target")
    if provider:
        if options["targets"]:
            raise click.UsageError("--target and --provider cannot be combined")
        from toolmason.schema.hosts import hosts

        _check_name("--provider", provider, [*Target, *hosts()])
        options["targets"] = (str(hosts()[provider].target if provider in hosts() else provider),)
    request = Request(**options | {"targets": options["targets"] or ("mcp",), "convert_for": provider})
    from toolmason.audit.output import as_json, visible
    from toolmason.audit.provider_format import format_tools
    from toolmason.audit.tokens import token_line

    tools = request.audit()
    losses = [
        (tool.tool.name, finding)
        for tool in tools
        for finding in tool.projection.findings
        if finding.severity != "note"
    ]
    for name, finding in losses:
        click.echo(visible(f"{name}: {finding.path}: {finding.severity}: {finding.message}"), err=True)
    for tool in tools:
        for new, old in tool.projection.renamed.items():
            text = f"{tool.tool.name}: `{old}` is renamed to `{new}`; restore the name in calls"
            click.echo(visible(text), err=True)
    click.echo(token_line(tools), err=True)
    is_list = len(tools) != 1 or bool(request.servers and not request.tools)
    data = format_tools(tools, request.selected_targets[0]) if is_list else tools[0].projection.schema
    print_report(as_json(data), output)
    if any(finding.severity == "refused" for _, finding in losses):
        raise click.exceptions.Exit(1)


@schema.command()
def targets() -> None:
    """List the targets, the other providers of --provider, and the clients of --client."""
    from toolmason.schema.hosts import hosts
    from toolmason.schema.providers import providers
    from toolmason.schema.usage import clients

    width = max(map(len, (*Target, *hosts(), *clients())))
    for target in Target:
        click.echo(f"{target:{width}}  {target.request.description}")
    for key, provider in providers().providers.items():
        if key not in set(Target):
            click.echo(f"{key:{width}}  {provider.title.removeprefix('the ')}, a provider")
    for key, host in hosts().items():
        click.echo(f"{key:{width}}  {host.title}: as {host.target}, with other rules")
    for key, client in clients().items():
        click.echo(f"{key:{width}}  {client.title}, a client")
