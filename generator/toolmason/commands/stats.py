"""`toolmason stats`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    load_current_server,
    manifest_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from toolmason_runtime.shared.catalogue import Catalogue

    from toolmason.model.server import Server

_OWN_LOG: Final = ""
"""Value of `--usage` without LOG."""


@click.command()
@click.option(
    "--usage",
    metavar="[LOG]",
    is_flag=False,
    flag_value=_OWN_LOG,
    help="Count the calls and clients of each tool, from the server's audit log, instead of its cost.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the usage as JSON.")
@manifest_option
def stats(usage: str | None, as_json: bool, manifest: Path | None) -> None:
    """Show the cost of each tool and style, or with --usage, the calls of each tool.

    Prints bytes on the wire and estimated tokens of each tool, and of `tools/list` in each style. If there is a
    semantic.postings, prints its content, and the tools for which it is outdated.

    --usage reads LOG with its rotated files; by default, the log that the manifest or `<COMMAND>_AUDIT` specifies.
    It lists deprecated tools and parameters with their last day and the clients that still use them. Exit code 1 if
    lines of the log are damaged.
    """
    if as_json and usage is None:
        raise click.UsageError("--json needs --usage")
    server = load_current_server(manifest)

    from toolmason.catalogue.table import catalogue

    if usage is not None:
        _show_usage(server, usage, as_json=as_json)
        return

    from toolmason.catalogue.stats import report_stats
    from toolmason.semantic.report import report_postings

    click.echo(report_stats(server), nl=False)
    if server.postings:
        click.echo(f"\n{report_postings(server.postings, catalogue(server))}", nl=False)


def _show_usage(server: Server, log: str, *, as_json: bool) -> None:
    import json
    from datetime import UTC, datetime

    from toolmason.catalogue.table import catalogue
    from toolmason.catalogue.usage import count_usage, usage_json, usage_text

    table = catalogue(server)
    lines = _Lines(Path(log) if log else _own_log(server, table))
    try:
        usage = count_usage(lines.read(), table)
    except OSError as error:
        raise CommandLineError(f"{error.filename}: {error.strerror}") from error
    today = datetime.now(UTC).date()
    if as_json:
        click.echo(json.dumps(usage_json(usage, table, today), indent=2))
    else:
        click.echo(usage_text(usage, table, today), nl=False)
    if lines.damaged:
        exit_with(ExitCode.FINDINGS)


def _own_log(server: Server, table: Catalogue) -> Path:
    from toolmason_runtime.toolkit import audit_settings

    try:
        settings = audit_settings(table["server"], server.command)
    except ValueError as error:
        raise CommandLineError(str(error)) from error
    if settings is None or not settings.path:
        raise CommandLineError(
            "the manifest has no audit log: pass one, `toolmason stats --usage LOG`, or record calls with "
            '`audit = "audit.jsonl"` in [server]'
        )
    return Path(settings.path)


class _Lines:
    """The lines of a log. Damaged ones are reported to stderr and counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damaged = 0

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Yield the fields of each line, oldest first.

        Raises:
            OSError: a file cannot be read.
        """
        from toolmason_runtime.toolkit import DamagedLine, log_files, read_lines, shown

        for line in read_lines(log_files(self._path)):
            if isinstance(line, DamagedLine):
                self.damaged += 1
                click.echo(f"{shown(str(line.file))}:{line.number}: skipped: {line.reason}", err=True)
            else:
                yield line.fields
