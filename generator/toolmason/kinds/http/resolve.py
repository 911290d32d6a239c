"""HTTP APIs and the tools that send requests to them: the place of each parameter, the risk and the hints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.request import Api, Auth, HttpTool, Pagination

from toolmason.kinds.http.implementation import HttpApi, HttpImplementation
from toolmason.kinds.http.placements import default_placement, find_problems, placement_of
from toolmason.kinds.http.select_programs import select_errors
from toolmason.kinds.http.tables import ApiTable, HttpKeys, HttpTables
from toolmason.manifest.checks import RISKS
from toolmason.manifest.tables import ToolTable
from toolmason.model.from_table import copied
from toolmason.model.identifiers import group_constant_name
from toolmason.model.implementation import Hints
from toolmason.model.types import JsonSchema, Property
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.results import list_type
from toolmason.resolve.variables import used_variables

_RISKS: Final = {"GET": Risk.READ, "HEAD": Risk.READ, "OPTIONS": Risk.READ, "DELETE": Risk.DESTRUCTIVE}


_CREDENTIALS: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-api-key"))
"""Headers that contain a credential."""


@dataclass(frozen=True, slots=True)
class ResolvedApis:
    """The APIs of a manifest, and the error of each invalid `select`."""

    apis: Mapping[str, Api]
    select_errors: Mapping[str, str]


def resolve_apis(context: ResolveContext) -> ResolvedApis:
    """Resolve `[apis]`, and compile the jq programs of all tools at once."""
    selects = [table.own(HttpKeys).select for table in context.tables.tools.values()]
    apis = {name: _api(name, table) for name, table in context.tables.own(HttpTables).apis.items()}
    return ResolvedApis(apis, select_errors(selects, context.store))


def _api(name: str, table: ApiTable) -> Api:
    auth = None if table.auth is None else copied(Auth, table.auth)
    return copied(Api, table, name=name, auth=auth, timeout_s=table.timeout)


def http_apis(context: ResolveContext) -> tuple[HttpApi, ...]:
    """Return the APIs of tools, in the order of the manifest."""
    used = {tool.own(HttpKeys).api for tool in context.tables.tools.values()}
    return tuple(
        HttpApi(
            name=name,
            table=table,
            variables=tuple(dict.fromkeys(used_variables(_texts(table)))),
            has_credential=table.auth is not None or any(name.lower() in _CREDENTIALS for name in table.headers),
        )
        for name, table in context.tables.own(HttpTables).apis.items()
        if name in used
    )


def _texts(table: ApiTable) -> tuple[str, ...]:
    auth = table.auth
    credentials = (auth.bearer, auth.basic, auth.value) if auth else ()
    return (table.base_url, *table.headers.values(), *credentials)


def http_request(
    context: ResolveContext, name: str, table: ToolTable, params: Sequence[Property], schema: JsonSchema | None
) -> HttpImplementation | None:
    """Return the request of a tool with `api`, or None with its errors reported.

    `schema` is `input_schema`, whose properties have their default places.
    """
    own, tables = table.own(HttpKeys), context.tables.own(HttpTables).apis
    if own.api not in tables:
        if not context.is_known("apis", own.api):
            context.report_unknown("TM354", "API", own.api, tables, (*table.at, "api"))
        return None
    resolved: ResolvedApis = context.kinds["http"]
    api = resolved.apis[own.api]
    method, _, path = own.http.partition(" ")
    if schema is None:
        placements = tuple(placement_of(table, value) for value in params if value.name != own.save)
    else:
        placements = tuple(default_placement(table, name) for name in schema.get("properties", {}))
    problems = list(find_problems(table, tables[own.api], params, placements))
    for message, at, hint in problems:
        context.error("TM355", message, (*table.at, *at), hint=hint, value=at == ("http",))
    is_valid_select = _check_select(context, table, resolved.select_errors)
    if problems or not is_valid_select:
        return None
    tool = HttpTool(
        name=name,
        api=api,
        method=method,
        path=path,
        placements=placements,
        body=own.body,
        pagination=None if own.paginate is None else copied(Pagination, own.paginate),
        select=own.select.strip(),
        graphql=own.graphql.strip(),
        save=own.save,
        returns_list=list_type(table) is not None,
        timeout_s=table.timeout,
        risk=Risk(table.risk) if table.risk in RISKS else _risk(method, own.graphql.strip()),
        confirm=table.confirm.strip(),
    )
    return HttpImplementation(
        hints=hints_of(tool),
        tool=tool,
        api_constant=group_constant_name(own.api, "API"),
        usage=f"{method} {api.base_url.rstrip('/')}{path}",
    )


def _risk(method: str, graphql: str) -> Risk:
    """Return the risk of a request without `risk`."""
    return Risk.READ if graphql.startswith("query") else _RISKS.get(method, Risk.WRITE)


def hints_of(tool: HttpTool) -> Hints:
    """Return the hints that follow from the method and the risk of a request."""
    only_reads = tool.risk is Risk.READ and not tool.save
    return Hints(
        read_only=only_reads,
        destructive=tool.risk is Risk.DESTRUCTIVE,
        idempotent=only_reads or tool.is_repeatable,
        open_world=True,
    )


def _check_select(context: ResolveContext, table: ToolTable, errors: Mapping[str, str]) -> bool:
    """Return whether `select` is a jq program; report it if not."""
    error = errors.get(table.own(HttpKeys).select)
    if error is None:
        return True
    hint = "jq reads modules from files: define the functions in `select`" if _MODULES.search(error) else ""
    context.error("TM356", f"`select` is not a jq program: {error}", (*table.at, "select"), hint=hint)
    return False


_MODULES: Final = re.compile(r"unexpected (?:import|include|module)\b")
