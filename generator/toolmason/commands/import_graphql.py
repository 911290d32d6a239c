"""`toolmason import graphql`: create or update a manifest of HTTP tools from a GraphQL schema."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from toolmason.commands.import_openapi import run_import, server_name_option
from toolmason.commands.import_output import FILE, design_options, force_option, token_limit
from toolmason.commands.options import CommandLineError, expand_headers, header_option

if TYPE_CHECKING:
    from toolmason.importers.openapi.merge import Record
    from toolmason.importers.openapi.reading import ApiDocument

DEFAULT_PATH: Final = "/graphql"
MISSING: Final = "`import graphql` needs graphql-core: pip install 'toolmason[graphql]'"


def _endpoint(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"https?://[^\s/?#@$]+(?:/[^\s?#$]*)?|\$[A-Za-z_]\w*", value):
        raise click.BadParameter("use an `https:` or `http:` URL without user and query, or `$VARIABLE`")
    return value.rstrip("/")


@click.command("graphql")
@click.argument("source", metavar="FILE|URL", default="")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write or update this manifest instead of stdout.")
@click.option("--name", callback=server_name_option, default="", help="Name of the server. Default: from the file.")
@click.option(
    "--endpoint",
    metavar="URL",
    callback=_endpoint,
    default="",
    help="URL of the API, or `$VARIABLE` with the part before `/graphql`. Default: a variable.",
)
@click.option("--query", "queries", metavar="GLOB", multiple=True, help="Import these queries. Repeatable.")
@click.option("--mutation", "mutations", metavar="GLOB", multiple=True, help="Import these mutations. Repeatable.")
@click.option("--update", is_flag=True, help="Update the manifest of -o, from the schema of its last import.")
@design_options
@click.option("--report", metavar="FILE", type=FILE, help="Write the losses of each tool to FILE as JSON.")
@header_option("Send this header in the request for the schema")
@force_option
def graphql(
    source: str,
    *,
    output: Path | None,
    name: str,
    endpoint: str,
    queries: tuple[str, ...],
    mutations: tuple[str, ...],
    update: bool,
    max_tokens: int | None,
    all_params: bool,
    report: Path | None,
    headers: tuple[str, ...],
    force: bool,
) -> None:
    """Create HTTP tools from a GraphQL schema: the schema language, or the JSON answer to an introspection query.

    Example: `toolmason import graphql shop.graphql --endpoint https://shop.example/graphql -o manifest/shop.toml`.
    Without --query and --mutation, all queries are imported, and no mutation. A manifest that was imported before is
    updated: your edits and comments stay; --force overwrites them.

    Exit codes: 0 success, 1 the schema cannot be imported, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.importers.openapi.options import Options

    if find_spec("graphql") is None:
        raise CommandLineError(MISSING)
    path = urlsplit(endpoint).path if endpoint and not endpoint.startswith("$") else ""
    chosen = (*(f"POST /query/{glob}" for glob in queries), *(f"POST /mutation/{glob}" for glob in mutations))
    options = Options(
        name=name,
        base_url=endpoint.removesuffix(path),
        endpoint=path or (DEFAULT_PATH if endpoint else ""),
        operations=chosen or (() if update else ("POST /query/*",)),
        max_tokens=token_limit(max_tokens, all_params=all_params),
    )

    def read(source: str, earlier: Record | None) -> ApiDocument:
        known = earlier.options.endpoint if earlier else ""
        return _read(source, options.endpoint or known or DEFAULT_PATH, name, expand_headers(headers))

    is_limit_given = all_params or max_tokens is not None
    run_import(source, output, options, read, report=report, update=update, force=force, is_limit_given=is_limit_given)


def _read(source: str, endpoint: str, name: str, headers: dict[str, str]) -> ApiDocument:
    from toolmason.importers.graphql.convert import converted, schema_of
    from toolmason.importers.openapi.reading import ApiDocument
    from toolmason.importers.openapi.source import decode, fetch, is_url, read, without_user

    shown = without_user(source)
    text = decode(fetch(source, headers) if is_url(source) else read(Path(source), shown), shown)
    title = (name or Path(urlsplit(shown).path).stem).replace("_", " ").replace("-", " ").capitalize()
    schema = schema_of(text, shown)
    left_out = list(schema.subscription_type.fields) if schema.subscription_type else []
    notes = [f"subscriptions, which tools cannot receive ({len(left_out)}): {', '.join(left_out)}"] if left_out else []
    return ApiDocument(converted(schema, endpoint=endpoint, title=title or "API"), notes=notes)
