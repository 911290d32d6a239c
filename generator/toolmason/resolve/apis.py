"""HTTP APIs and the tools that send requests to them: the place of each parameter, the risk and the hints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolmason_runtime.apis.spec import Api, Auth, HttpTool, Pagination
from toolmason_runtime.programs.spec import Risk

from toolmason.manifest.tables import ApiTable, ToolTable
from toolmason.manifest.validate_clis import RISKS
from toolmason.model.identifiers import api_constant_name, class_name
from toolmason.model.server import HttpApi
from toolmason.model.tool import Hints, HttpBinding
from toolmason.model.type_expression import MalformedTypeError, names, parse
from toolmason.model.types import (
    ArrayType,
    ClassName,
    JsonSchema,
    ObjectType,
    PrimitiveType,
    Property,
)
from toolmason.resolve.clis import used_variables
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.placements import default_placement, find_problems, placement_of

_RISKS: Final = {"GET": Risk.READ, "HEAD": Risk.READ, "DELETE": Risk.DESTRUCTIVE}


_CREDENTIALS: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-api-key"))
"""Headers that contain a credential."""


def apis(context: ResolveContext) -> dict[str, Api]:
    """Resolve `[apis]`. Unknown categories are reported."""
    return {name: _api(context, name, table) for name, table in context.tables.apis.items()}


def _api(context: ResolveContext, name: str, table: ApiTable) -> Api:
    if table.category and not context.is_known("categories", table.category):
        context.report_unknown("TM301", "category", table.category, context.tables.categories, (*table.at, "category"))
    auth = table.auth
    return Api(
        name=name,
        base_url=table.base_url,
        headers=dict(table.headers),
        auth=None
        if auth is None
        else Auth(bearer=auth.bearer, basic=auth.basic, header=auth.header, query=auth.query, value=auth.value),
        timeout_s=table.timeout,
        retries=table.retries,
        allow_hosts=table.allow_hosts,
    )


def http_apis(context: ResolveContext) -> tuple[HttpApi, ...]:
    """Return the APIs of tools, in the order of the manifest."""
    used = {tool.api for tool in context.tables.tools.values()}
    return tuple(
        HttpApi(
            name=name,
            table=table,
            variables=tuple(dict.fromkeys(used_variables(_texts(table)))),
            has_credential=table.auth is not None or any(name.lower() in _CREDENTIALS for name in table.headers),
        )
        for name, table in context.tables.apis.items()
        if name in used
    )


def _texts(table: ApiTable) -> tuple[str, ...]:
    auth = table.auth
    credentials = (auth.bearer, auth.basic, auth.value) if auth else ()
    return (table.base_url, *table.headers.values(), *credentials)


def list_types(context: ResolveContext) -> dict[str, ObjectType]:
    """Return the types of results with `returns = "Issue[]"`: an object with the items, by its name."""
    resolved: dict[str, ObjectType] = {}
    for name, table in context.tables.tools.items():
        item = _list_type(table)
        if item is None or not names(item) <= context.tables.types.keys():
            continue  # `resolve_tool` reports the unknown type
        at = (*table.at, "returns")
        fields = [Property(name="items", type=item, description="Items of the answer", at=at)]
        if table.paginate:
            description = "Whether more pages exist"
            fields.append(Property(name="has_more", type=PrimitiveType("boolean"), description=description, at=at))
        type_name = result_name(name, table)
        if type_name in context.types:
            message = f"the result of `{name}` becomes the type `{type_name}`, which exists"
            context.error("TM306", message, at, hint="rename one", value=False)
        resolved[type_name] = ObjectType(name=ClassName(type_name), description="", fields=tuple(fields), at=at)
    return resolved


def result_name(name: str, table: ToolTable) -> str:
    """Return the name of the type of a tool's result; empty for a result without structure."""
    return f"{class_name(name)}Result" if _list_type(table) else table.returns


def unknown_item(context: ResolveContext, table: ToolTable) -> str:
    """Return the unknown type in a `returns` such as `Issue[]`, empty if there is none."""
    item = _list_type(table)
    return next(iter(sorted(names(item) - context.tables.types.keys())), "") if item else ""


def _list_type(table: ToolTable) -> ArrayType | None:
    if not (table.api and table.returns):
        return None
    try:
        ref = parse(table.returns)
    except MalformedTypeError:
        return None
    return ref if isinstance(ref, ArrayType) else None


def http_binding(
    context: ResolveContext, name: str, table: ToolTable, params: Sequence[Property], schema: JsonSchema | None
) -> HttpBinding | None:
    """Return the request of a tool with `api`, or None with its errors reported.

    `schema` is `input_schema`, whose properties have their default places.
    """
    api = context.apis.get(table.api)
    if api is None:
        if not context.is_known("apis", table.api):
            context.report_unknown("TM354", "API", table.api, context.tables.apis, (*table.at, "api"))
        return None
    method, _, path = table.http.partition(" ")
    if schema is None:
        placements = tuple(placement_of(table, value) for value in params)
    else:
        placements = tuple(default_placement(table, name) for name in schema.get("properties", {}))
    problems = list(find_problems(table, context.tables.apis[table.api], params, placements))
    for message, at, hint in problems:
        context.error("TM355", message, (*table.at, *at), hint=hint, value=at == ("http",))
    is_valid_select = _check_select(context, table)
    if problems or not is_valid_select:
        return None
    page = table.paginate
    tool = HttpTool(
        name=name,
        api=api,
        method=method,
        path=path,
        placements=placements,
        body=table.body,
        pagination=None
        if page is None
        else Pagination(
            next=page.next,
            cursor=page.cursor,
            param=page.param,
            page=page.page,
            items=page.items,
            max_pages=page.max_pages,
        ),
        select=table.select.strip(),
        returns_list=_list_type(table) is not None,
        timeout_s=table.timeout,
        risk=Risk(table.risk) if table.risk in RISKS else _RISKS.get(method, Risk.WRITE),
        confirm=table.confirm.strip(),
    )
    return HttpBinding(
        tool=tool, api_constant=api_constant_name(table.api), usage=f"{method} {api.base_url.rstrip('/')}{path}"
    )


def hints_of(tool: HttpTool) -> Hints:
    """Return the hints that follow from the method and the risk of a request."""
    only_reads = tool.risk is Risk.READ
    return Hints(
        read_only=only_reads,
        destructive=tool.risk is Risk.DESTRUCTIVE,
        idempotent=only_reads or tool.is_repeatable,
        open_world=True,
    )


def _check_select(context: ResolveContext, table: ToolTable) -> bool:
    """Return whether `select` is a jq program; report it if not."""
    error = context.select_errors.get(table.select)
    if error is None:
        return True
    hint = "jq reads modules from files: define the functions in `select`" if _MODULES.search(error) else ""
    context.error("TM356", f"`select` is not a jq program: {error}", (*table.at, "select"), hint=hint)
    return False


_MODULES: Final = re.compile(r"unexpected (?:import|include|module)\b")
