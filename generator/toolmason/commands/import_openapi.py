"""`toolmason import openapi`: create or update a manifest of HTTP tools from an OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from toolmason_runtime.shared.extras import APIS

from toolmason.commands.import_output import (
    FILE,
    design_options,
    fail_import,
    force_option,
    print_lines,
    require_extra,
    token_limit,
)
from toolmason.commands.options import CommandLineError, OverwriteRefusedError, expand_headers, header_option

if TYPE_CHECKING:
    from toolmason.importers.openapi.changes import Changes
    from toolmason.importers.openapi.manifest import Imported
    from toolmason.importers.openapi.merge import Merge, Record
    from toolmason.importers.openapi.options import Options
    from toolmason.importers.openapi.reading import ApiDocument

MAX_LINE: Final = 300
"""Maximum characters of a line of the report on stderr."""


def server_name_option(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return the name of a server from the command line.

    Raises:
        BadParameter: it cannot be one.
    """
    from toolmason.scaffold import MAX_NAME_LENGTH

    if value and (len(value) > MAX_NAME_LENGTH or not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", value)):
        raise click.BadParameter(f"use at most {MAX_NAME_LENGTH} letters, digits and dashes, starting with a letter")
    return value


def _base_url(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"(?:https?://|\$)\S+", value):
        raise click.BadParameter("use an `https:` or `http:` URL, or `$VARIABLE`")
    return value.rstrip("/")


def _server_variables(_context: click.Context, _option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for pair in value:
        if not re.fullmatch(r"[^={}]+=[A-Za-z0-9._~:/-]+", pair):
            raise click.BadParameter(f"`{pair}` is not NAME=VALUE; a value has letters, digits and `.:_~/-`")
    return value


@click.command("openapi")
@click.argument("source", metavar="FILE|URL", default="")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write or update this manifest instead of stdout.")
@click.option(
    "--name", callback=server_name_option, default="", help="Name of the server. Default: from title or domain."
)
@click.option(
    "--base-url", metavar="URL", callback=_base_url, default="", help="URL of the API. Default: the first of `servers`."
)
@click.option(
    "--server-variable",
    "server_variables",
    metavar="NAME=VALUE",
    callback=_server_variables,
    multiple=True,
    help="Value of a variable in the URL of a server, instead of its default. Repeatable.",
)
@click.option(
    "--security",
    metavar="NAME",
    multiple=True,
    help="Security scheme that is used where the API accepts one of several. Repeatable.",
)
@click.option("--tag", "tags", metavar="GLOB", multiple=True, help="Import only operations with this tag. Repeatable.")
@click.option(
    "--operation",
    "operations",
    metavar="GLOB",
    multiple=True,
    help="Import only operations with this operationId or request, such as 'GET /repos/*'. Repeatable.",
)
@click.option(
    "--include",
    metavar="PATTERN",
    multiple=True,
    help="Import only operations that match: `tag=orders`, `path=/v1/*`, `method=get`, `id=list*`, or a GLOB for any of"
    " them. Repeatable.",
)
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Leave out these operations. Repeatable.")
@click.option("--read-only", is_flag=True, help="Import only GET and HEAD.")
@click.option(
    "--update",
    is_flag=True,
    help="Update the manifest of -o, from the document of its last import unless one is given.",
)
@design_options
@click.option("--report", metavar="FILE", type=FILE, help="Write the losses of each operation to FILE as JSON.")
@header_option("Send this header in the request for the document")
@click.option(
    "--allow-directory",
    "directories",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="References of the document may lead to files in DIR as well. Repeatable.",
)
@click.option(
    "--allow-remote",
    "hosts",
    metavar="HOST[:PORT]",
    multiple=True,
    help="References of the document may lead to this host, over https. Repeatable.",
)
@click.option(
    "--pages",
    metavar="N",
    type=click.IntRange(min=1, max=100),
    help="Let tools read up to N pages of a list, where the document shows how. Default: only the first.",
)
@click.option("--update-lock", is_flag=True, help="Accept new contents of the remote files of the document.")
@click.option("--skip-unresolved", is_flag=True, help="Import the rest if references of the document have no target.")
@force_option
def openapi(
    source: str,
    *,
    output: Path | None,
    name: str,
    base_url: str,
    server_variables: tuple[str, ...],
    security: tuple[str, ...],
    tags: tuple[str, ...],
    operations: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    read_only: bool,
    pages: int | None,
    update: bool,
    max_tokens: int | None,
    all_params: bool,
    report: Path | None,
    headers: tuple[str, ...],
    directories: tuple[Path, ...],
    hosts: tuple[str, ...],
    update_lock: bool,
    skip_unresolved: bool,
    force: bool,
) -> None:
    """Create HTTP tools from an OpenAPI document (3.0 to 3.2), a Swagger document (2.0) or a Postman collection.

    Example: `toolmason import openapi openapi.json -o manifest/shop.toml`. Losses, the parts of operations that
    tools cannot express, are listed by kind on stderr and by operation with --report. If the manifest was imported
    before, it is updated: your edits and comments stay, and added, removed, changed and breaking tools are listed;
    --force overwrites your edits.

    Exit codes: 0 success, 1 the document cannot be imported, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.importers.openapi.files import Access
    from toolmason.importers.openapi.options import Options
    from toolmason.importers.openapi.reading import read_document

    options = Options(
        name=name,
        base_url=base_url,
        server_variables=server_variables,
        security=security,
        tags=tags,
        operations=operations,
        include=include,
        exclude=exclude,
        read_only=read_only,
        pages=pages or 0,
        max_tokens=token_limit(max_tokens, all_params=all_params),
    )

    def read(source: str, earlier: Record | None) -> ApiDocument:
        lock = {} if update_lock or not output else _lock(output, earlier, force=force)
        access = Access(directories=directories, hosts=hosts, lock=lock)
        return read_document(source, expand_headers(headers), access, skips_unresolved=skip_unresolved)

    is_limit_given = all_params or max_tokens is not None
    run_import(source, output, options, read, report=report, update=update, force=force, is_limit_given=is_limit_given)


def run_import(
    source: str,
    output: Path | None,
    options: Options,
    read: Callable[[str, Record | None], ApiDocument],
    *,
    report: Path | None,
    update: bool,
    force: bool,
    is_limit_given: bool,
) -> None:
    """Import a document, or update the manifest of an earlier import, and print what was lost and changed.

    `read` gets the document's file or URL and the record of the earlier import.
    """
    from toolmason.importers.notes import ImporterError, Notes
    from toolmason.importers.openapi.manifest import import_document
    from toolmason.importers.openapi.source import without_user

    _check_usage(source, output, update=update, force=force)
    try:
        earlier = _earlier(output) if output and not force else None
        if update and not earlier:
            raise CommandLineError(f"{output} does not exist; import it without --update first")
        source = source or (earlier.source if earlier else "")
        document = read(source, earlier)
        source = without_user(source)  # the files below are committed
        if earlier and output:
            if not is_limit_given:
                options = replace(options, max_tokens=earlier.options.max_tokens)
            merge, imported, differences = _update(output, earlier, document, source, options)
            _print_report(imported, report)
            print_lines(["", *merge.report, *differences.lines()])
            changes = len(merge.sets) + len(merge.removals)
            click.echo(f"Changes: {changes} written, {merge.conflicts} not written to keep your edits.", err=True)
            return
        imported = import_document(document, source, options, {})
        _create(output, imported, source, options, document.hashes)
    except ImporterError as error:
        fail_import(error, Notes(), is_json=False)
    _print_report(imported, report)


def _check_usage(source: str, output: Path | None, *, update: bool, force: bool) -> None:
    if update and not output:
        raise click.UsageError("`--update` needs the manifest: `-o manifest/shop.toml`")
    if update and force:
        raise click.UsageError("`--update` keeps your edits and `--force` overwrites them: use one of them")
    if not source and not update:
        raise click.UsageError("name the document: a file or a URL")


def _earlier(output: Path) -> Record | None:
    """Return the record of the import of an existing manifest, None for a manifest that does not exist."""
    from toolmason.importers.openapi.merge import read_record, record_path

    if not output.exists():
        return None
    if record := read_record(record_path(output)):
        return record
    raise OverwriteRefusedError(
        f"{output} exists and was not imported; nothing was written; use --force to overwrite it"
    )


def _lock(output: Path, earlier: Record | None, *, force: bool) -> dict[str, str]:
    """Return the hashes of remote files of the previous import. `--force` concerns edits, not these."""
    from toolmason.importers.notes import ImporterError
    from toolmason.importers.openapi.merge import read_record, record_path

    try:
        record = earlier or read_record(record_path(output))
    except ImporterError:
        if not force:
            raise
        record = None
    return record.remote if record else {}


def _create(output: Path | None, imported: Imported, source: str, options: Options, hashes: dict[str, str]) -> None:
    from toolmason.importers.names import one_line
    from toolmason.importers.openapi.layout import manifest_text
    from toolmason.importers.openapi.merge import record_path

    info = imported.info
    title = one_line(f"Imported from {info.get('title', source)} {info.get('version', '')}") + "."
    text = manifest_text(imported.data, title, *imported.warnings)
    if output is None:
        click.echo(text, nl=False)
        return
    _write({output: text, record_path(output): _record(imported, source, options, hashes).text()})
    require_extra(output, APIS)


def _record(imported: Imported, source: str, options: Options, hashes: dict[str, str]) -> Record:
    from toolmason.importers.openapi.merge import Record

    return Record(
        source=source,
        version=str(imported.info.get("version", "")),
        options=options,
        tools=dict(imported.tools),
        data=imported.data,
        remote=hashes,
    )


def _update(
    output: Path, earlier: Record, document: ApiDocument, source: str, options: Options
) -> tuple[Merge, Imported, Changes]:
    """Merge a newer document into an edited manifest, and return what it changes for callers."""
    from toolmason.importers.openapi.changes import changes
    from toolmason.importers.openapi.manifest import import_document
    from toolmason.importers.openapi.merge import (
        Merge,
        commented_keys,
        commented_sections,
        follow_renames,
        merged_text,
        read_tables,
        record_path,
        with_unselected,
    )

    text, current = read_tables(output)
    earlier = follow_renames(earlier, current)
    filters = ("tags", "operations", "include", "exclude", "read_only")
    earlier_filters = {} if options.is_filtered else {name: getattr(earlier.options, name) for name in filters}
    chosen = replace(
        options,
        name=options.name or earlier.data["server"]["name"],
        base_url=options.base_url or earlier.options.base_url,
        endpoint=options.endpoint or earlier.options.endpoint,
        server_variables=options.server_variables or earlier.options.server_variables,
        security=options.security or earlier.options.security,
        pages=options.pages or earlier.options.pages,
        **earlier_filters,
    )
    names = {key: name for key, name in earlier.tools.items() if name}
    imported = import_document(document, source, chosen, names, earlier.data["tools"])
    new = with_unselected(imported, earlier)
    merge = Merge(commented_sections(text) | commented_keys(text))
    merged = merge.merge(earlier.data, current, new)
    new_text = merged_text(text, merge, merged)
    kept = {key: name for key, name in earlier.tools.items() if key not in imported.tools and name in new["tools"]}
    record = replace(_record(imported, source, chosen, document.hashes), data=new, tools={**kept, **imported.tools})
    _write({output: new_text, record_path(output): record.text()})
    require_extra(output, APIS)
    return merge, imported, changes(earlier.data, new)


def _write(texts: dict[Path, str]) -> None:
    from toolmason.importers.manifest_writer import write_text

    for path, text in texts.items():
        try:
            write_text(path, text, force=True)
        except OSError as error:
            raise CommandLineError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
        click.echo(f"{path}: written", err=True)


def _print_report(imported: Imported, report: Path | None) -> None:
    """Print the losses by kind, and write those of each operation to a file."""
    from toolmason.importers.names import cut

    if report:
        _write({report: json.dumps(imported.losses.report(imported.tools), ensure_ascii=False, indent=1) + "\n"})
    print_lines(cut(line, MAX_LINE) for line in imported.losses.summary())
    count = sum(map(bool, imported.tools.values()))
    hint = "" if report else "; --report FILE lists the losses of each operation"
    click.echo(f"{count} of {len(imported.tools)} selected operations imported{hint}.", err=True)
