"""`toolmason eval`: measure the search with queries whose correct tools are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    expand_headers,
    find_current_project,
    header_option,
    load_current_server,
    manifest_option,
    ranker_option,
    server_timeout_option,
    working_directory,
)
from toolmason.commands.queries_file import read_queries

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue
    from toolmason_runtime.shared.search.rankers import RankerFactory

    from toolmason.evaluation.changes import Changes
    from toolmason.evaluation.measure import Search, SearchIn
    from toolmason.evaluation.queries import Query


@click.command("eval")
@click.argument("queries", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="N of recall@N.")
@click.option("--min-recall", type=click.FloatRange(0, 1), help="Exit with 1 if recall@N is lower.")
@ranker_option
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format of the report.",
)
@click.option(
    "--html",
    "html_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write an HTML page with the report and heat maps of confused tools.",
)
@click.option("--suggest", "is_suggesting", is_flag=True, help="Also find the smallest change that repairs each miss.")
@click.option(
    "--server",
    metavar="COMMAND|URL",
    default="",
    help="Evaluate this MCP server instead of the manifest: a command line in quotes, or a URL.",
)
@click.option(
    "--search-tool",
    metavar="NAME[:ARGUMENT]",
    default="",
    help="Search with this tool of --server instead of the ranking of Toolmason.",
)
@header_option("Send this header to a URL")
@server_timeout_option
@manifest_option
def evaluate_search(
    *,
    queries: Path,
    top: int,
    min_recall: float | None,
    ranker: RankerFactory | None,
    layout: Literal["text", "json"],
    html_file: Path | None,
    is_suggesting: bool,
    server: str,
    search_tool: str,
    headers: tuple[str, ...],
    timeout: int,
    manifest: Path | None,
) -> None:
    """Measure whether searches find the right tools.

    QUERIES is a TOML file that lists texts that must find each tool. Prints recall@N by category: the share of these
    tools among the first N results. Then prints the misses, each with the tool found instead, and pairs of tools that
    the search confuses, with proposals to distinguish them. Imports no module that the manifest names.

    --suggest finds changes of keywords, summaries and use cases that repair a miss without a loss for other queries.

    --server starts any MCP server, or connects to its URL, and ranks its tools as a server of Toolmason would. With
    --search-tool, it calls the search tool of that server with each query instead.
    """
    from toolmason.diagnostics.terminal import progress
    from toolmason.evaluation.look_alikes import find_look_alikes
    from toolmason.evaluation.measure import UNCATEGORIZED, evaluate
    from toolmason.evaluation.page import html_report
    from toolmason.evaluation.results import Results, json_report, text_report
    from toolmason.evaluation.suggest import suggest
    from toolmason.lint.discoverability import rank_use_cases

    if server:
        _check_server_options(server, search_tool, headers, manifest, ranker, is_suggesting=is_suggesting)
        subject = _other_server(server, search_tool, queries, ranker, headers=expand_headers(headers), timeout=timeout)
    elif search_tool or headers:
        raise click.UsageError(f"{'--search-tool' if search_tool else '--header'} requires --server")
    else:
        subject = _own_server(manifest, queries, ranker)
    table = subject.table
    categories = {name: entry["category"] or UNCATEGORIZED for name, entry in table["tools"].items()}
    evaluation = evaluate(subject.queries, subject.search, categories, top=top)
    look_alikes = find_look_alikes(evaluation.outcomes, rank_use_cases(table), table)
    suggestions = None
    if is_suggesting:
        with progress() as show:
            suggestions = suggest(evaluation, table, subject.search_in, subject.changes, progress=show)
    results = Results(queries.as_posix(), evaluation, look_alikes, suggestions)
    if layout == "json":
        click.echo(json.dumps(json_report(results), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(text_report(results)))
    if html_file is not None:
        _write(html_file, html_report(results, subject.title, categories))
    recall = evaluation.total.recall[top]
    if min_recall is not None and recall < min_recall:
        click.echo(f"recall@{top} is {recall:.4f}, below --min-recall {min_recall:g}", err=True)
        exit_with(ExitCode.FINDINGS)


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """A server to evaluate: its title and tools, the search, and the changes that `--suggest` tries."""

    title: str
    table: Catalogue
    queries: tuple[Query, ...]
    search_in: SearchIn
    search: Search
    changes: Changes


def _own_server(manifest: Path | None, queries: Path, ranker: RankerFactory | None) -> _Subject:
    from toolmason_runtime.shared.search.postings import SemanticPostings

    from toolmason.catalogue.table import catalogue
    from toolmason.evaluation.changes import manifest_changes
    from toolmason.evaluation.measure import search_with

    server = load_current_server(manifest)
    table = catalogue(server)
    found = read_queries(queries, table, find_current_project(manifest).root)
    postings = SemanticPostings(server.postings.encode()) if server.postings else None
    search_in = search_with(postings, ranker)
    return _Subject(
        title=server.table.title,
        table=table,
        queries=found,
        search_in=search_in,
        search=search_in(table),
        changes=manifest_changes,
    )


def _check_server_options(
    server: str,
    search_tool: str,
    headers: tuple[str, ...],
    manifest: Path | None,
    ranker: RankerFactory | None,
    *,
    is_suggesting: bool,
) -> None:
    """Exit if options cannot be combined with --server."""
    from toolmason.audit.server_address import is_url

    if manifest:
        raise click.UsageError("--server and --manifest cannot be combined")
    if headers and not is_url(server):
        raise click.UsageError("--header requires --server https://...")
    if search_tool and (is_suggesting or ranker):
        option = "--suggest" if is_suggesting else "--ranker"
        raise click.UsageError(f"{option} needs our ranking: remove --search-tool")


def _other_server(
    address: str,
    search_tool: str,
    queries: Path,
    ranker: RankerFactory | None,
    *,
    headers: Mapping[str, str],
    timeout: int,
) -> _Subject:
    from toolmason.audit.server_address import redact_address
    from toolmason.diagnostics.terminal import progress
    from toolmason.evaluation.changes import description_changes
    from toolmason.evaluation.measure import search_with
    from toolmason.evaluation.other_server import OtherServerError, ask_search_tool, catalogue_of, list_server

    root = working_directory()
    search_in = search_with(None, ranker)
    try:
        with progress() as show:
            if not search_tool:
                show("listing the server's tools")
                table = list_server(address, headers=headers, timeout_s=timeout)
                search, found = search_in(table), read_queries(queries, table, root)
            else:
                found = read_queries(queries, None, root)
                show("searching with the server's tool")
                hits = ask_search_tool(address, search_tool, found, headers=headers, timeout_s=timeout)
                # Such a server may list only its search tool.
                wanted = [tool for query in found for tool in query.tools]
                names = dict.fromkeys([*wanted, *(name for own in hits.values() for name in own)])
                table = catalogue_of([{"name": name} for name in names])
                search = partial(_results, hits)
    except OtherServerError as error:
        raise CommandLineError(str(error)) from error
    return _Subject(
        title=redact_address(address),
        table=table,
        queries=found,
        search_in=search_in,
        search=search,
        changes=description_changes,
    )


def _results(hits: Mapping[str, Sequence[str]], text: str) -> list[tuple[str, ...]]:
    return [(name,) for name in hits[text]]


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CommandLineError(f"cannot write {path}: {error.strerror}") from error
