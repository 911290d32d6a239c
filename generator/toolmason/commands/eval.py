"""`toolmason eval`: measure the search with queries whose correct tools are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    exit_with,
    find_current_project,
    load_current_server,
    manifest_option,
    print_findings,
    ranker_option,
    working_directory,
)

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue
    from toolmason_runtime.shared.search.rankers import RankerFactory

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
    help="Also write the report, with confusion matrices, as an HTML page.",
)
@manifest_option
def evaluate_search(
    *,
    queries: Path,
    top: int,
    min_recall: float | None,
    ranker: RankerFactory | None,
    layout: Literal["text", "json"],
    html_file: Path | None,
    manifest: Path | None,
) -> None:
    """Measure whether searches find the right tools.

    QUERIES is a TOML file that lists, for each tool, texts that must find it. Prints recall@N by category: the share of
    these tools among the first N results. Then prints the misses, each with the tool found instead, and pairs of tools
    that the search confuses, with proposals to distinguish them. Imports no module that the manifest names.
    """
    from toolmason.catalogue.table import catalogue
    from toolmason.catalogue.tool_index import open_index
    from toolmason.evaluation.look_alikes import find_look_alikes
    from toolmason.evaluation.measure import evaluate
    from toolmason.evaluation.page import html_report
    from toolmason.evaluation.results import Results, json_report, text_report
    from toolmason.lint.discoverability import rank_use_cases

    server = load_current_server(manifest)
    table = catalogue(server)
    categories = {name: entry["category"] for name, entry in table["tools"].items()}
    found = _load(queries, table, find_current_project(manifest).root)
    index = open_index(server, ranker)
    evaluation = evaluate(found, lambda text: [hit.tools for hit in index.search(text)], categories, top=top)
    look_alikes = find_look_alikes(evaluation.outcomes, rank_use_cases(table), table)
    results = Results(queries.as_posix(), evaluation, look_alikes)
    if layout == "json":
        click.echo(json.dumps(json_report(results), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(text_report(results)))
    if html_file is not None:
        _write(html_file, html_report(results, server.table.title, categories))
    recall = evaluation.total.recall[top]
    if min_recall is not None and recall < min_recall:
        click.echo(f"recall@{top} is {recall:.4f}, below --min-recall {min_recall:g}", err=True)
        exit_with(ExitCode.FINDINGS)


def _load(path: Path, table: Catalogue, root: Path) -> tuple[Query, ...]:
    """Return the queries of a file, or print its errors and exit."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.evaluation.queries import load_queries
    from toolmason.manifest.input_files import is_inside

    diagnostics = Diagnostics()
    file = working_directory() / path
    queries = load_queries(file, table, root=root if is_inside(file, root) else file.parent, diagnostics=diagnostics)
    if diagnostics.found:
        print_findings(diagnostics, "text")
        exit_with(ExitCode.FINDINGS)
    return queries


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CommandLineError(f"cannot write {path}: {error.strerror}") from error
