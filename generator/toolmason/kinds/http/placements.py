"""The place of each parameter in a request, and the problems of places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolmason_runtime.shared.specs.request import Place, Placement

from toolmason.kinds.http.tables import PLACEHOLDER, ApiTable, HttpKeys
from toolmason.manifest.checks import REQUEST_LOCATIONS
from toolmason.manifest.tables import ParamTable, ToolTable
from toolmason.model.type_expression import format_type
from toolmason.model.types import ArrayType, MapType, NamedType, PrimitiveType, Property, TypeRef

_BODY_METHODS: Final = ("POST", "PUT", "PATCH")
"""Methods whose parameters are in the body by default."""


def _placeholders(table: ToolTable) -> list[str]:
    return PLACEHOLDER.findall(table.own(HttpKeys).http)


def placement_of(table: ToolTable, value: Property) -> Placement:
    """Return the placement of a parameter."""
    param = table.params[value.name]
    place = next((Place(key) for key in REQUEST_LOCATIONS if getattr(param, key)), _default_place(table, value.name))
    return Placement(
        name=value.name,
        place=place,
        key=_key_of(param, place) or value.name,
        style=param.style,
        default=value.default if value.has_default else None,
        nullable=value.nullable,
        format=_format(table, value, place),
    )


def _format(table: ToolTable, value: Property, place: Place) -> str:
    """Return how a value becomes a file; empty if it does not."""
    if table.params[value.name].file:
        return "path"
    is_part = place is Place.BODY and table.own(HttpKeys).body == "multipart"
    return str(value.constraints.get("format", "")) if is_part else ""


def _key_of(param: ParamTable, place: Place) -> str:
    return "" if place is Place.PATH else str(getattr(param, place.value))


def default_placement(table: ToolTable, name: str) -> Placement:
    """Return the placement of a property of `input_schema`."""
    # The schema decides whether null is valid.
    return Placement(name=name, place=_default_place(table, name), key=name, nullable=True)


def _default_place(table: ToolTable, name: str) -> Place:
    if name in _placeholders(table):
        return Place.PATH
    return Place.BODY if table.own(HttpKeys).http.partition(" ")[0] in _BODY_METHODS else Place.QUERY


def key_of_place(table: ToolTable, name: str) -> dict[str, str]:
    """Return the key that gives a parameter its present place if its name changes; empty if it needs none."""
    param = table.params.get(name)
    place = _default_place(table, name)
    if place is Place.PATH or param is None or param.claim or any(getattr(param, key) for key in REQUEST_LOCATIONS):
        return {}
    return {} if name == table.own(HttpKeys).save else {place.value: name}


Problem = tuple[str, tuple[str, ...], str]
"""A message, the keys below the tool, and a hint."""


def find_problems(
    table: ToolTable, api: ApiTable, params: Sequence[Property], placements: Sequence[Placement]
) -> Iterator[Problem]:
    """Yield each placeholder without a parameter, and each parameter that cannot be sent in its place."""
    yield from _placeholder_problems(table, params, placements)
    yield from _param_problems(table, params, placements)
    yield from _collisions(table, placements, _credentials(api))


def _placeholder_problems(
    table: ToolTable, params: Sequence[Property], placements: Sequence[Placement]
) -> Iterator[Problem]:
    known = {placement.name for placement in placements}
    if "{" in table.own(HttpKeys).http.partition("?")[2]:
        hint = 'declare a parameter with `query = "..."` instead'
        yield "`http` has a placeholder in its query", ("http",), hint
    for name in _placeholders(table):
        if name not in known:
            hint = f"add `params.{name}`, or remove the placeholder"
            yield f"`http` uses the unknown parameter `{name}`", ("http",), hint
    optional = [value.name for value in params if not (value.required or value.has_default)]
    for name in optional:
        if name in _placeholders(table):
            yield (
                f"`{name}` is in the path, but optional",
                ("params", name),
                "remove `required = false`, or add a default",
            )


def _param_problems(table: ToolTable, params: Sequence[Property], placements: Sequence[Placement]) -> Iterator[Problem]:
    method = table.own(HttpKeys).http.partition(" ")[0]
    values = {value.name: value for value in params}
    for placement in placements:
        at = ("params", placement.name) if placement.name in values else ("input_schema",)
        place = placement.place
        if place is Place.BODY and method in ("GET", "HEAD"):
            yield f"`{placement.name}` is in the body, but {method} has none", at, "write `query` instead of `body`"
        yield from ((message, at, hint) for message, hint in _body_problems(placement, table.own(HttpKeys)))
        if place is not Place.PATH and placement.name in _placeholders(table):
            hint = f"remove `{place.value}`: the placeholder in `http` already places it"
            yield f"`{placement.name}` is both in the path and in the {place.value}", at, hint
        elif (value := values.get(placement.name)) and (problem := _type_problem(value.type, placement, table)):
            yield f"`{value.name}` is `{format_type(value.type)}`: {problem[0]}", at, problem[1]


def _body_problems(placement: Placement, keys: HttpKeys) -> Iterator[tuple[str, str]]:
    """Yield why a parameter does not fit the encoding of the body, and a hint."""
    name, body = placement.name, keys.body
    if placement.format == "path" and (placement.place is not Place.BODY or body not in ("multipart", "file")):
        yield (
            f"`{name}` is a file, which only a body can contain",
            'write `body = "multipart"` or `body = "file"` for the tool',
        )
    if placement.place is not Place.BODY:
        return
    if body in ("text", "file") and placement.key != ".":
        yield f"the body is `{body}`, so `{name}` must be all of it", 'add `body = "."` to the parameter'
    if placement.key == "." and keys.graphql:
        yield f"`{name}` is the whole body, which is the GraphQL document", "remove `body`: it is then a variable"
    if body == "file" and placement.format != "path":
        yield f"the body is a file, so `{name}` must be its path", "add `file = true` to the parameter"
    if placement.key == "." and body in ("form", "multipart"):
        yield f"`{name}` is the whole body, which must be JSON", "set its `body` to the name of a member"


def _type_problem(ref: TypeRef, placement: Placement, table: ToolTable) -> tuple[str, str] | None:
    """Return why a value of type `ref` cannot be sent in its place, and a hint; None if it can."""
    is_scalar = _is_scalar(ref)
    is_list = isinstance(ref, ArrayType) and _is_scalar(ref.item)
    is_object = isinstance(ref, MapType | NamedType) or ref == PrimitiveType("object")
    is_text = (ref.item if isinstance(ref, ArrayType) else ref) == PrimitiveType("string")
    match placement.place:
        case Place.QUERY | Place.BODY if placement.style == "json":
            is_form = placement.place is Place.QUERY or table.own(HttpKeys).body in ("form", "multipart")
            return None if is_form else ("the body is JSON already", "remove `style`")
        case place if placement.style == "members":
            is_sent = place is Place.QUERY and is_object
            return None if is_sent else ("`members` requires an object in the query", "remove `style`")
        case Place.PATH if not is_scalar:
            return "the path can contain only single values", "use a string, a number or a boolean"
        case Place.COOKIE if not (is_scalar or is_list):
            return "a cookie can contain only a value or a list of values", "use a string, a number or an array of them"
        case Place.COOKIE if placement.style == "comma" and is_list:
            return None
        case Place.BODY if placement.format == "path" and not is_text:
            return "the path of a file is a text", 'write `type = "string"`, or `"string[]"` for several files'
        case Place.BODY if table.own(HttpKeys).body in ("text", "file") and isinstance(ref, ArrayType | MapType):
            return f"the body is one {table.own(HttpKeys).body}", 'write `type = "string"`'
        case Place.HEADER if not (is_scalar or is_list):
            return (
                "a header can contain only a value or a list of values",
                "use a string, a number, a boolean or an array of them",
            )
        case Place.QUERY | Place.BODY if placement.style == "deepObject" and is_scalar:
            return "`deepObject` requires an object or an array", "remove `style`"
        case Place.BODY if table.own(HttpKeys).body == "form" and placement.style == "deepObject":
            return None
        case Place.QUERY if is_object and placement.style != "deepObject":
            return "an object in the query needs a style", 'add `style = "deepObject"`, or put it into the `body`'
        case Place.QUERY | Place.BODY if placement.style in ("comma", "space", "pipe") and not is_list:
            return f"`{placement.style}` requires an array", "remove `style`"
        case Place.QUERY if not (is_scalar or is_list or placement.style == "deepObject"):
            return "the query cannot contain it", "use an array of strings or numbers, or put it into the `body`"
        case Place.BODY if table.own(HttpKeys).body == "form" and not (is_scalar or is_list):
            return (
                "a form can contain only values and lists of values",
                'add `style = "deepObject"`, or use `body = "json"`',
            )
        case Place.BODY if table.own(HttpKeys).body == "form":
            return None
        case place if place is not Place.QUERY and placement.style != "form":
            return f"`{placement.style}` applies to the query and forms, not to the {place.value}", "remove `style`"
    return None


def _is_scalar(ref: TypeRef) -> bool:
    return isinstance(ref, PrimitiveType) and ref.kind != "object"


def _collisions(
    table: ToolTable, placements: Sequence[Placement], credentials: Mapping[Place, set[str]]
) -> Iterator[Problem]:
    """Yield the problem of each parameter whose place another one, or the API, uses."""
    whole_body = [placement.name for placement in placements if placement.key == "." and placement.place is Place.BODY]
    keys = Counter((placement.place, _folded(placement)) for placement in placements)
    for placement in placements:
        at = ("params", placement.name) if placement.name in table.params else ("input_schema",)
        if keys[placement.place, _folded(placement)] > 1:
            yield (
                f"two parameters have the name `{placement.key}` in the {placement.place.value}",
                at,
                "rename one of them",
            )
        is_replaced = placement.place is Place.COOKIE and "cookie" in credentials[Place.HEADER]
        if is_replaced or _folded(placement) in credentials.get(placement.place, ()):
            shown = "Cookie" if is_replaced else placement.key
            message = f"`{placement.name}` would replace `{shown}` of [apis.{table.own(HttpKeys).api}]"
            yield message, at, "remove one of them"
        if whole_body and placement.place is Place.BODY and placement.name not in whole_body:
            message = f"`{placement.name}` is in the body, but `{whole_body[0]}` is the whole body"
            yield message, at, f"remove `{placement.name}`, or set `body` of `{whole_body[0]}` to the name of a member"


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
