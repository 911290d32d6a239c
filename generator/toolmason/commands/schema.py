"""The commands of `toolmason schema`: what providers would refuse or lose of the tools of any server."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolmason.commands.options import (
    Command,
    CommandLineError,
    Exit,
    end_with,
    manifest_option,
    print_findings,
    project_here,
)
from toolmason.diagnostics.terminal import LAYOUTS, wants_colour

if TYPE_CHECKING:
    from toolmason.audit.audit import AuditedTool
    from toolmason.audit.report import Page
    from toolmason.audit.sources import Source
    from toolmason.diagnostics.terminal import Layout
    from toolmason.schema import Severity, Target

TARGETS = ("mcp", "gemini-parameters", "gemini-vertex", "gemini-json", "openai", "openai-strict", "anthropic")
SEVERITIES = ("refused", "narrowed", "lossy", "note")
"""As in `toolmason.schema`, which is too heavy to import for lists of words. A test holds them together."""
NEVER = "never"
WIDTH = 100
"""Columns of what is written to no terminal, unless `COLUMNS` says how many."""


@click.group()
def schema() -> None:
    """Find what providers refuse or lose of tool schemas, of any server.

    \b
    The tools come from
      the manifest of the project     unless something else is named
      SOURCE ...                      JSON files, manifests (.toml), or - for stdin: a `tools/list` answer, a list as
                                      OpenAI, Anthropic or Gemini take it, or a schema alone
      --server "COMMAND ..."          an MCP server that speaks stdio, in any language; no shell is involved
      --server https://...            an MCP server that speaks streamable HTTP
    """  # noqa: D301 - \b is click's sign to keep the lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which tools, and for whom."""

    sources: tuple[str, ...]
    tools: tuple[str, ...]
    servers: tuple[str, ...]
    headers: tuple[str, ...]
    timeout: int
    targets: tuple[str, ...]
    manifest: Path | None
    layout: Layout = "text"

    def audited(self) -> tuple[AuditedTool, ...]:
        """Find the tools and hold them against the targets, or end the command."""
        from toolmason.audit.audit import audit
        from toolmason.audit.diff_table import visible
        from toolmason.audit.sources import SourceError, chosen

        try:
            sources = chosen(self._found(), self.tools)
        except SourceError as error:
            raise CommandLineError(str(error)) from error
        for source in sources:
            for note in source.notes:
                click.echo(visible(f"{source.name}: {note}"), err=True)
            if source.notes and not source.tools:
                raise click.UsageError(f"{source.name}: nothing in it is a tool of a shape that is known here")
        return tuple(each for source in sources for each in audit(source, self.chosen_targets))

    @property
    def chosen_targets(self) -> tuple[Target, ...]:
        """The targets that are named, or those that tools of servers are sent to."""
        from toolmason.schema import Target

        named = tuple(map(Target, dict.fromkeys(self.targets)))
        # Strict mode and Vertex's own message take no schema that was not written for them: their users convert.
        return named or tuple(each for each in Target if each not in {Target.OPENAI_STRICT, Target.GEMINI_VERTEX})

    def _found(self) -> Iterable[Source]:
        self._check()
        if self.servers:
            from toolmason.audit.sources import from_server
            from toolmason.diagnostics.terminal import progress

            for server in self.servers:
                with progress() as show:
                    show("asking the server")
                    yield from_server(server, headers=self._headers(), timeout_s=self.timeout)
        elif self.sources:
            from toolmason.audit.sources import from_file

            for path in self.sources:
                yield self._from_manifest(Path(path)) if path.endswith(".toml") else from_file(path)
        else:
            yield self._from_manifest(self.manifest)

    def _check(self) -> None:
        """Refuse what contradicts itself."""
        if sum(map(bool, (self.sources, self.servers, self.manifest))) > 1:
            raise click.UsageError("name sources, --server or --manifest, not two of them")
        if self.sources.count("-") > 1:
            raise click.UsageError("stdin can be read once")
        if self.headers and not any(each.lower().startswith("http") for each in self.servers):
            raise click.UsageError("--header goes with --server https://...")

    def _headers(self) -> dict[str, str]:
        headers = {}
        for each in self.headers:
            name, colon, value = each.partition(":")
            if not colon or not name.strip() or not each.isascii() or not each.isprintable():
                raise click.UsageError("--header is `Name: value`")
            headers[name.strip()] = value.strip()
        return headers

    def _from_manifest(self, manifest: Path | None) -> Source:
        from toolmason.audit.sources import from_manifest
        from toolmason.diagnostics import Diagnostics
        from toolmason.pipeline import read

        diagnostics = Diagnostics()
        project = project_here(manifest)
        reading = read(project, diagnostics=diagnostics)
        if reading is None:
            print_findings(diagnostics, self.layout if self.layout in {"github", "sarif"} else "text")
            end_with(Exit.COMMAND_LINE)
        return from_manifest(reading, project.root)


def _source_options(command: Command) -> Command:
    """Add what says which tools are meant, and for whom."""
    options: tuple[Callable[[Command], Command], ...] = (
        click.argument("sources", nargs=-1, metavar="[SOURCE]..."),
        click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this tool. Repeatable."),
        click.option(
            "--server",
            "servers",
            metavar="COMMAND|URL",
            multiple=True,
            help="Ask a running MCP server: a command line in quotes, or a URL. Repeatable.",
        ),
        click.option(
            "--header",
            "headers",
            metavar="'NAME: VALUE'",
            multiple=True,
            help="Send this header to a URL. Repeatable.",
        ),
        click.option(
            "--timeout",
            type=click.IntRange(1, 3600),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="How long a server may take to start and answer.",
        ),
        click.option(
            "--target",
            "targets",
            type=click.Choice(TARGETS),
            multiple=True,
            help="Only this target. Repeatable. Unless one is named, all but openai-strict, which refuses "
            "whatever was not written for it, and to which no client sends a server's tools.",
        ),
        manifest_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def _output_option(command: Command) -> Command:
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to FILE instead of stdout.",
    )(command)


@schema.command()
@_source_options
@click.option(
    "--format",
    "layout",
    type=click.Choice(LAYOUTS),
    default="text",
    show_default=True,
    help="How the report is printed. `json` is one document.",
)
@click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
@click.option("--timestamp", is_flag=True, help="Say in the JSON report when it was made.")
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default=SEVERITIES[0],
    show_default=True,
    help="A tool with a finding at least so severe is incompatible; if there is one, the command exits with 1.",
)
@_output_option
def check(layout: Layout, is_json: bool, timestamp: bool, fail_on: str, output: Path | None, **asked: Any) -> None:
    """Report what targets refuse or lose of the tools.

    They are judged as they stand; what should be sent instead is shown beside them.

    Exit codes: 0 fine, 1 a tool is incompatible, 2 wrong command line, or the tools cannot be had.
    """
    if is_json and layout not in {"text", "json"}:
        raise click.UsageError(f"--json and --format {layout} are two formats")
    layout = "json" if is_json else layout
    if timestamp and layout != "json":
        raise click.UsageError("--timestamp goes with --json")
    from toolmason.schema import Severity

    request = Asked(**asked, layout=layout)
    tools = request.audited()
    threshold = Severity.REFUSED if fail_on == NEVER else Severity(fail_on)
    _print(_checked(tools, request, threshold, timestamp=timestamp, output=output), output)
    if fail_on != NEVER and not all(each.is_compatible(threshold) for each in tools):
        end_with(Exit.FINDINGS)


def _checked(
    tools: tuple[AuditedTool, ...], request: Asked, threshold: Severity, *, timestamp: bool, output: Path | None
) -> str:
    from toolmason.audit import ci_reports, report
    from toolmason.audit.json_output import as_json

    match request.layout:
        case "json":
            now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if timestamp else ""
            return as_json(
                report.data_report(tools, targets=request.chosen_targets, threshold=threshold, timestamp=now)
            )
        case "github":
            click.echo(report.summary_line(tools, targets=request.chosen_targets, threshold=threshold), err=True)
            return ci_reports.github(tools, threshold)
        case "sarif":
            return ci_reports.sarif(tools, threshold)
        case _:
            lines = report.text_report(tools, targets=request.chosen_targets, threshold=threshold, page=_page(output))
            return "".join(f"{line}\n" for line in lines)


@schema.command()
@_source_options
@_output_option
def diff(output: Path | None, **asked: Any) -> None:
    """Show each schema beside what should be sent instead.

    That is what an MCP server should advertise, or with one --target what that provider takes.
    """
    from toolmason.audit.report import text_diff

    lines = text_diff(Asked(**asked).audited(), page=_page(output))
    _print("".join(f"{line}\n" for line in lines), output)


@schema.command()
@_source_options
@_output_option
def transform(output: Path | None, **asked: Any) -> None:
    """Print what should be sent instead, as JSON.

    Of one tool that is its schema. Several are a `tools/list` result, or with --target a list as that provider
    takes it. What that costs is told on stderr.
    """
    request = Asked(**asked)
    if len(set(request.targets)) > 1:
        raise click.UsageError("a schema is transformed for one --target")
    from toolmason.audit.diff_table import visible
    from toolmason.audit.json_output import as_json
    from toolmason.audit.provider_format import rewritten
    from toolmason.schema import Target

    tools = request.audited()
    cost = [(each, found) for each in tools for found in each.projection.findings if found.severity != "note"]
    for each, found in cost:
        click.echo(visible(f"{each.tool.name}: {found.path}: {found.severity}: {found.message}"), err=True)
    for each in tools:
        for new, old in each.projection.renamed.items():
            text = f"{each.tool.name}: `{old}` is called `{new}` there; give it back its name in calls"
            click.echo(visible(text), err=True)
    target = request.chosen_targets[0] if request.targets else Target.MCP
    _print(as_json(rewritten(tools, target)), output)
    if any(found.severity == "refused" for _, found in cost):
        raise click.exceptions.Exit(1)


@schema.command()
def targets() -> None:
    """List the targets."""
    from toolmason.audit.targets import described

    for name, text in described():
        click.echo(f"{name:{max(map(len, TARGETS))}}  {text}")


# Output


def _page(output: Path | None) -> Page:
    from toolmason.audit.report import Page

    is_told = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = shutil.get_terminal_size((WIDTH, 24)).columns if output is None and is_told else WIDTH
    return Page(width=width, colour=output is None and wants_colour(sys.stdout))


def _print(text: str, output: Path | None) -> None:
    from toolmason.audit.json_output import encodable

    if output is None:
        click.echo(encodable(text, sys.stdout.encoding or "utf-8"), nl=False, color=True)
        return
    try:
        output.write_text(encodable(text, "utf-8"), encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommandLineError(f"cannot write {output}: {(error.strerror or str(error)).lower()}") from error
