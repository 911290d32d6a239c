"""The options of `toolmason schema` that select tools and targets, and the audit of the selected tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import (
    Command,
    CommandLineError,
    ExitCode,
    exit_with,
    expand_headers,
    find_current_project,
    header_option,
    manifest_option,
    print_findings,
    server_timeout_option,
)
from toolmason.targets import Target

if TYPE_CHECKING:
    from toolmason.audit.audit import AuditedTool
    from toolmason.audit.sources import Source
    from toolmason.diagnostics.terminal import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The selected tools and targets."""

    sources: tuple[str, ...]
    tools: tuple[str, ...]
    servers: tuple[str, ...]
    headers: tuple[str, ...]
    timeout: int
    targets: tuple[str, ...]
    manifest: Path | None
    providers: tuple[str, ...] = ()
    """Providers and clients to check for as well."""
    convert_for: str = ""
    """A provider of `schema/hosts.toml` for which the schemas are converted; empty for the target."""
    layout: str = "text"

    def audit(self) -> tuple[AuditedTool, ...]:
        """Load the tools and check them for the targets, or end the command with an error."""
        from toolmason.audit.audit import audit
        from toolmason.audit.output import visible
        from toolmason.audit.sources import SourceError, select_tools

        try:
            sources = select_tools(self._load(), self.tools)
        except SourceError as error:
            raise CommandLineError(str(error)) from error
        for source in sources:
            for note in source.notes:
                click.echo(visible(f"{source.name}: {note}"), err=True)
            if source.notes and not source.tools:
                raise click.UsageError(f"{source.name}: it contains no tool in a known format")
        return tuple(
            tool
            for source in sources
            for tool in audit(source, self.selected_targets, providers=self.providers, convert_for=self.convert_for)
        )

    @property
    def selected_targets(self) -> tuple[Target, ...]:
        """The targets of `--target`; if empty, each tool is checked for the target of its format."""
        return tuple(map(Target, dict.fromkeys(self.targets)))

    def _load(self) -> Iterable[Source]:
        self._check()
        if self.servers:
            from toolmason.audit.sources import load_server
            from toolmason.diagnostics.terminal import progress

            for server in self.servers:
                with progress() as show:
                    show("listing the server's tools")
                    yield load_server(server, headers=expand_headers(self.headers), timeout_s=self.timeout)
        elif self.sources:
            from toolmason.audit.sources import load_file

            for path in self.sources:
                yield self._load_manifest(Path(path)) if path.endswith(".toml") else load_file(path)
        else:
            yield self._load_manifest(self.manifest)

    def _check(self) -> None:
        if sum(map(bool, (self.sources, self.servers, self.manifest))) > 1:
            raise click.UsageError("sources, --server and --manifest cannot be combined")
        if self.sources.count("-") > 1:
            raise click.UsageError("stdin can be read only once")
        if self.headers and not any(server.lower().startswith("http") for server in self.servers):
            raise click.UsageError("--header requires --server https://...")

    def _load_manifest(self, manifest: Path | None) -> Source:
        from toolmason.audit.sources import load_manifest
        from toolmason.diagnostics import Diagnostics
        from toolmason.pipeline import read

        diagnostics = Diagnostics()
        project = find_current_project(manifest)
        reading = read(project, diagnostics=diagnostics)
        if reading is None:
            layouts: dict[str, Layout] = {"github": "github", "sarif": "sarif"}
            print_findings(diagnostics, layouts.get(self.layout, "text"))
            exit_with(ExitCode.COMMAND_LINE)
        return load_manifest(reading, project.root)


def source_options(command: Command) -> Command:
    """Add the options that select tools and targets."""
    options: tuple[Callable[[Command], Command], ...] = (
        click.argument("sources", nargs=-1, metavar="[SOURCE]..."),
        click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this tool. Repeatable."),
        click.option(
            "--server",
            "servers",
            metavar="COMMAND|URL",
            multiple=True,
            help="List the tools of an MCP server: a command line in quotes, or a URL. Repeatable.",
        ),
        header_option("Send this header to a URL"),
        server_timeout_option,
        click.option(
            "--target",
            "targets",
            type=click.Choice([str(target) for target in Target]),
            multiple=True,
            help="Check for this target. Repeatable. Default: the provider whose format a file has, otherwise mcp.",
        ),
        manifest_option,
    )
    for option in reversed(options):
        command = option(command)
    return command
