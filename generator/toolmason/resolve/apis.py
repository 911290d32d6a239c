"""HTTP APIs and the tools that send requests to them: the place of each parameter, the risk and the hints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolmason_runtime.apis.spec import Api, Auth, HttpTool, Pagination, Place, Placement
from toolmason_runtime.programs.spec import Risk

from toolmason.manifest.tables import ApiTable, ParamTable, ToolTable
from toolmason.manifest.validate_clis import REQUEST_LOCATIONS, RISKS
from toolmason.model.identifiers import api_constant_name, class_name
from toolmason.model.server import HttpApi
from toolmason.model.tool import Hints, HttpBinding
from toolmason.model.type_expression import MalformedTypeError, format_type, names, parse
from toolmason.model.types import (
    ArrayType,
    ClassName,
    JsonSchema,
    MapType,
    NamedType,
    ObjectType,
    PrimitiveType,
    Property,
    TypeRef,
)
from toolmason.resolve.clis import used_variables
from toolmason.resolve.context import ResolveContext

_PLACEHOLDER: Final = re.compile(r"\{\+?([A-Za-z_][A-Za-z0-9_.-]*)\}")
_BODY_METHODS: Final = ("POST", "PUT", "PATCH")
"""Methods whose parameters are in the body by default."""
_RISKS: Final = {"GET": Risk.READ, "HEAD": Risk.READ, "DELETE": Risk.DESTRUCTIVE}


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
        auth=auth
        and Auth(bearer=auth.bearer, basic=auth.basic, header=auth.header, query=auth.query, value=auth.value),
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
            summary=table.summary,
            tags=table.tags,
            base_url=table.base_url,
            variables=tuple(dict.fromkeys(used_variables(_texts(table)))),
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
    found: dict[str, ObjectType] = {}
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
        found[type_name] = ObjectType(name=ClassName(type_name), description="", fields=tuple(fields), at=at)
    return found


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
        placements = tuple(_placement(table, value) for value in params)
    else:
        placements = tuple(_default_placement(table, name) for name in schema.get("properties", {}))
    problems = [
        *_placeholder_problems(table, params if schema is None else None, placements),
        *_param_problems(table, params, placements),
        *_collisions(table, placements, _credentials(context.tables.apis[table.api])),
    ]
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
        pagination=page
        and Pagination(
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


def _placeholders(table: ToolTable) -> list[str]:
    return _PLACEHOLDER.findall(table.http)


def _placement(table: ToolTable, value: Property) -> Placement:
    param = table.params[value.name]
    place = next((Place(key) for key in REQUEST_LOCATIONS if getattr(param, key)), _default_place(table, value.name))
    return Placement(
        name=value.name,
        place=place,
        key=_key_of(param, place) or value.name,
        style=param.style,
        default=value.default if value.has_default else None,
        format=str(value.constraints.get("format", "")) if table.body == "multipart" else "",
    )


def _key_of(param: ParamTable, place: Place) -> str:
    return "" if place is Place.PATH else str(getattr(param, place.value))


def _default_placement(table: ToolTable, name: str) -> Placement:
    return Placement(name=name, place=_default_place(table, name), key=name)


def _default_place(table: ToolTable, name: str) -> Place:
    if name in _placeholders(table):
        return Place.PATH
    return Place.BODY if table.http.partition(" ")[0] in _BODY_METHODS else Place.QUERY


_Problem = tuple[str, tuple[str, ...], str]
"""A message, the keys below the tool, and a hint."""


def _placeholder_problems(
    table: ToolTable, params: Sequence[Property] | None, placements: Sequence[Placement]
) -> Iterator[_Problem]:
    known = {placement.name for placement in placements}
    if "{" in table.http.partition("?")[2]:
        hint = 'declare a parameter with `query = "..."` instead'
        yield "`http` has a placeholder in its query", ("http",), hint
    for name in _placeholders(table):
        if name not in known:
            hint = f"add `params.{name}`, or remove the placeholder"
            yield f"`http` uses the unknown parameter `{name}`", ("http",), hint
    optional = [value.name for value in params or () if not (value.required or value.has_default)]
    for name in optional:
        if name in _placeholders(table):
            yield (
                f"`{name}` is in the path, but optional",
                ("params", name),
                "remove `required = false`, or add a default",
            )


def _param_problems(
    table: ToolTable, params: Sequence[Property], placements: Sequence[Placement]
) -> Iterator[_Problem]:
    method = table.http.partition(" ")[0]
    values = {value.name: value for value in params}
    for placement in placements:
        at = ("params", placement.name) if placement.name in values else ("input_schema",)
        place = placement.place
        if place is Place.BODY and method in ("GET", "HEAD"):
            yield f"`{placement.name}` is in the body, but {method} has none", at, "write `query` instead of `body`"
        if place is Place.BODY and placement.key == "." and table.body != "json":
            yield f"`{placement.name}` is the whole body, which must be JSON", at, "name the member of the body"
        if place is not Place.PATH and placement.name in _placeholders(table):
            hint = f"remove `{place.value}`: the placeholder in `http` is its place"
            yield f"`{placement.name}` is both in the path and in the {place.value}", at, hint
        elif (value := values.get(placement.name)) and (problem := _type_problem(value.type, placement, table)):
            yield f"`{value.name}` is `{format_type(value.type)}`: {problem[0]}", at, problem[1]


def _type_problem(ref: TypeRef, placement: Placement, table: ToolTable) -> tuple[str, str] | None:
    """Return why a value of type `ref` cannot be sent in its place, and a hint; None if it can."""
    is_scalar = _is_scalar(ref)
    is_list = isinstance(ref, ArrayType) and _is_scalar(ref.item)
    is_object = isinstance(ref, MapType | NamedType) or ref == PrimitiveType("object")
    match placement.place:
        case Place.PATH if not is_scalar:
            return "the path has single values", "use a string, a number or a boolean"
        case Place.HEADER if not (is_scalar or is_list):
            return "a header has a value or a list of values", "use a string, a number, a boolean or an array of them"
        case Place.QUERY if placement.style == "deepObject" and not is_object:
            return "`deepObject` requires an object", "remove `style`, or use a type of `[types]` or a map"
        case Place.QUERY if is_object and placement.style != "deepObject":
            return "an object in the query needs a style", 'add `style = "deepObject"`, or put it into the `body`'
        case Place.QUERY if placement.style in ("comma", "space", "pipe") and not is_list:
            return f"`{placement.style}` requires an array", "remove `style`"
        case Place.QUERY if not (is_scalar or is_list or is_object):
            return "the query cannot contain it", "use an array of strings or numbers, or put it into the `body`"
        case Place.BODY if table.body == "form" and not (is_scalar or is_list):
            return "a form has values and lists of values", 'use `body = "json"` if the API accepts it'
        case place if place is not Place.QUERY and placement.style != "form":
            return f"`style` is for the query, not the {place.value}", "remove `style`"
    return None


def _is_scalar(ref: TypeRef) -> bool:
    return isinstance(ref, PrimitiveType) and ref.kind != "object"


def _collisions(
    table: ToolTable, placements: Sequence[Placement], credentials: Mapping[Place, set[str]]
) -> Iterator[_Problem]:
    """Yield the problem of each parameter whose place another one, or the API, uses."""
    whole_body = [placement.name for placement in placements if placement.key == "." and placement.place is Place.BODY]
    keys = Counter((placement.place, _folded(placement)) for placement in placements)
    for placement in placements:
        at = ("params", placement.name) if placement.name in table.params else ("input_schema",)
        if keys[placement.place, _folded(placement)] > 1:
            yield f"two parameters are `{placement.key}` in the {placement.place.value}", at, "rename one of them"
        if _folded(placement) in credentials.get(placement.place, ()):
            message = f"`{placement.name}` would replace `{placement.key}` of [apis.{table.api}]"
            yield message, at, "remove one of them"
        if whole_body and placement.place is Place.BODY and placement.name not in whole_body:
            message = f"`{placement.name}` is in the body, but `{whole_body[0]}` is the whole body"
            yield message, at, f"remove `{placement.name}`, or name the member for `{whole_body[0]}`"


def _folded(placement: Placement) -> str:
    return placement.key.lower() if placement.place is Place.HEADER else placement.key


def _credentials(table: ApiTable) -> dict[Place, set[str]]:
    """Return the headers, in lower case, and query parameters that every request has."""
    headers, query = {name.lower() for name in table.headers}, set[str]()
    if auth := table.auth:
        headers |= {auth.header.lower()} if auth.header else set()
        headers |= {"authorization"} if auth.bearer or auth.basic else set()
        query |= {auth.query} if auth.query else set()
    return {Place.HEADER: headers, Place.QUERY: query}


def _check_select(context: ResolveContext, table: ToolTable) -> bool:
    """Return whether `select` is a jq program; report it if not. Without jq, a call reports it."""
    if not table.select:
        return True
    try:
        import jq
    except ImportError:
        return True
    try:
        jq.compile(table.select)
        jq.compile(f"(\n{table.select}\n)")  # as it runs: without `import`
    except ValueError as error:
        reason = str(error).splitlines()[0].removeprefix("jq: error: ").partition(" at <")[0]
        context.error("TM356", f"`select` is not a jq program: {reason}", (*table.at, "select"))
        return False
    return True
