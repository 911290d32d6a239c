"""Resolve: from tables to the model. Names and types are resolved, defaults applied, the order decided."""

from __future__ import annotations

from pathlib import Path

from toolmason.diagnostics import Diagnostics
from toolmason.kinds import errors_of, kinds
from toolmason.manifest.document import Document
from toolmason.manifest.groups import needs_groups
from toolmason.manifest.tables import ManifestTables
from toolmason.model import json_schema
from toolmason.model.client_launch import PYPROJECT, PyprojectError, read_declared
from toolmason.model.filled import filled
from toolmason.model.server import Server
from toolmason.resolve import types
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.examples import SchemaChecker
from toolmason.resolve.handlers import HandlerIndex
from toolmason.resolve.placeholders import check_placeholders
from toolmason.resolve.prompts import resolve_prompts, resolve_resources
from toolmason.resolve.references import (
    RESERVED_MODULES,
    check_categories,
    check_groups,
    check_handlers,
    check_names,
    check_references,
    check_surface_handlers,
)
from toolmason.resolve.results import list_types
from toolmason.resolve.server import resolve_server
from toolmason.resolve.stubs import MISSING_FUNCTION, Stub
from toolmason.resolve.tools import resolve_tool
from toolmason.schema.projections import Projections
from toolmason.store import Store

__all__ = ["MISSING_FUNCTION", "RESERVED_MODULES", "Stub", "resolve"]


def resolve(
    tables: ManifestTables,
    document: Document,
    *,
    root: Path,
    diagnostics: Diagnostics,
    handlers: Path | None = None,
    projections: Projections | None = None,
    missing: list[Stub] | None = None,
    store: Store | None = None,
) -> Server | None:
    """Return the model of a manifest, or None with TM3xx diagnostics added.

    `root` is the project directory, for files that the manifest names. Handler functions are looked up in the
    directory `handlers`; without it they are not checked. `projections` are those of the run. With the list `missing`,
    missing functions are added to it, and a server is returned although they are reported. `store` has results of
    earlier runs.
    """
    context = ResolveContext(tables, document, root, diagnostics, projections or Projections(), store=store)
    types.resolve_types(context)
    types.values(context, tables.params)
    context.types |= list_types(context)
    _load_declared(context)
    check_categories(context)
    check_names(context)
    check_references(context)
    check_groups(context)
    for name, kind in kinds().items():
        context.kinds[name] = {}
        if needs_groups(tables, kind):
            with errors_of(kind):
                kind.prepare(context)
    context.definitions = json_schema.definitions(tuple(context.types.values()))
    checker = SchemaChecker(context.definitions)
    tools = [tool for name, table in tables.tools.items() if (tool := resolve_tool(context, checker, name, table))]
    index = package = None
    if handlers is not None and not tables.server.is_uncertain("handlers", "package"):
        index = HandlerIndex(handlers, tables.server.handlers)
        package = handlers.joinpath(*tables.server.handlers.split("."))
        check_handlers(context, tools, index)
    prompts, resources = resolve_prompts(context, package), resolve_resources(context, package)
    if index:
        check_surface_handlers(context, index)
    if missing is not None:
        missing += context.missing
    if diagnostics.has_errors_besides(set() if missing is None else {MISSING_FUNCTION}):
        return None
    server = resolve_server(context, tools, prompts, resources)
    check_placeholders(context, server)
    if diagnostics.has_errors_besides(set() if missing is None else {MISSING_FUNCTION}):
        return None
    return filled(server)


def _load_declared(context: ResolveContext) -> None:
    try:
        context.declared = read_declared(context.root)
    except PyprojectError as error:
        hint = "fix it: clients start the server with a command of its `[project.scripts]`"
        context.error("TM337", f"cannot read {PYPROJECT}: {error}", ("server",), hint=hint, value=False)
