"""Selection sets of limited size, with the JSON schema of the answer that each one gives.

A field of an object is selected if it needs no arguments and is not deprecated: plain values first, then objects, up to
`MAX_DEPTH` levels and `MAX_FIELDS` plain values. A type is not entered again inside of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_list_type,
    is_non_null_type,
    is_required_argument,
)

MAX_DEPTH: Final = 3
"""Levels of objects below the field of an operation."""
MAX_FIELDS: Final = 40
"""Plain values of a selection set, those of inner objects included."""
MAX_INNER_FIELDS: Final = 8
"""Plain values of an object inside of another."""
MAX_MEMBERS: Final = 6
"""Types of a union that are selected."""
_PAGE_INFO: Final = ("hasNextPage", "endCursor")
_IDENTITY: Final = ("id", "name", "title", "login", "number", "key", "slug", "code", "status", "state", "url")
"""Fields that matter most, in this order."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection set without its braces, empty for a plain value; and the schema of the answer."""

    text: str
    schema: dict[str, Any]


def select(
    field: GraphQLField, schema: GraphQLSchema, scalar: Callable[[GraphQLScalarType], dict[str, Any]]
) -> Selection:
    """Return the selection of a field of `Query` or `Mutation`. `scalar` returns the JSON schema of a scalar."""
    return _Selector(schema, scalar).of(field.type, (), 0)


@dataclass(slots=True)
class _Selector:
    schema: GraphQLSchema
    scalar: Callable[[GraphQLScalarType], dict[str, Any]]
    left: int = MAX_FIELDS

    def of(self, kind: GraphQLOutputType, path: tuple[str, ...], level: int) -> Selection:
        named = get_named_type(kind)
        if isinstance(named, GraphQLScalarType):
            return Selection("", _wrapped(kind, self.scalar(named)))
        if isinstance(named, GraphQLEnumType):
            return Selection("", _wrapped(kind, {"type": "string"}))
        if isinstance(named, GraphQLUnionType):
            inner = self._members(named, path)
        elif isinstance(named, GraphQLObjectType | GraphQLInterfaceType):
            inner = self._object(named, path, level)
        else:
            raise TypeError(named)  # an input type, which no field returns
        return Selection(inner.text, _wrapped(kind, inner.schema))

    def _object(
        self,
        kind: GraphQLObjectType | GraphQLInterfaceType,
        path: tuple[str, ...],
        level: int,
        others: Mapping[str, str] | None = None,
    ) -> Selection:
        """Return the selection of an object. `others` has the types of fields beside it in a union."""
        known = others or {}
        fields = {
            name: field
            for name, field in kind.fields.items()
            if _is_free(field) and known.get(name, str(field.type)) == str(field.type)
        }
        if connection := self._connection(fields, path, level):
            return connection
        inside = (*path, kind.name)
        plain = sorted((name for name, field in fields.items() if _is_plain(field)), key=_importance)
        limit = min(self.left, MAX_INNER_FIELDS if level else MAX_FIELDS)
        chosen = plain[:limit]
        self.left -= len(chosen)
        parts = {name: self.of(fields[name].type, inside, level + 1) for name in fields if name in chosen}
        if isinstance(kind, GraphQLInterfaceType):
            parts = {"__typename": Selection("", {"type": "string"}), **parts}
        for name, field in fields.items():
            is_far = level + 1 >= MAX_DEPTH or (is_list_type(_nullable(field.type)) and level)
            if _is_plain(field) or is_far or get_named_type(field.type).name in inside or self.left <= 0:
                continue
            if (inner := self.of(field.type, inside, level + 1)).text:
                parts[name] = inner
        if not parts:
            parts = {"__typename": Selection("", {"type": "string"})}
        return _joined(parts)

    def _connection(self, fields: dict[str, GraphQLField], path: tuple[str, ...], level: int) -> Selection | None:
        """Return the selection of a connection (a page of a list); None for another type."""
        name = "nodes" if "nodes" in fields else "edges"
        if name not in fields or "pageInfo" not in fields or not is_list_type(_nullable(fields[name].type)):
            return None
        parts = {}
        info = get_named_type(fields["pageInfo"].type)
        if isinstance(info, GraphQLObjectType) and (known := [each for each in _PAGE_INFO if each in info.fields]):
            parts["pageInfo"] = _joined({each: self.of(info.fields[each].type, path, level + 1) for each in known})
        if "totalCount" in fields:
            parts["totalCount"] = self.of(fields["totalCount"].type, path, level + 1)
        edge = get_named_type(fields[name].type)
        if name == "edges" and isinstance(edge, GraphQLObjectType) and "node" in edge.fields:
            pair = _joined({"node": self.of(edge.fields["node"].type, path, level)})
            parts[name] = Selection(pair.text, _list(pair.schema))
        else:
            parts[name] = self.of(fields[name].type, path, level)
        return _joined(parts)

    def _members(self, union: GraphQLUnionType, path: tuple[str, ...]) -> Selection:
        """Return the selection of a union: the plain fields of its first types."""
        members = []
        known: dict[str, str] = {}  # one name with two types is an error of the request
        for each in union.types[:MAX_MEMBERS]:
            members.append(self._object(each, path, MAX_DEPTH, known))
            chosen = [name for name in members[-1].schema["properties"] if name in each.fields]
            known |= {name: str(each.fields[name].type) for name in chosen}
        texts = [f"... on {each.name} {{ {member.text} }}" for each, member in zip(union.types, members, strict=False)]
        properties: dict[str, Any] = {"__typename": {"type": "string"}}
        for member in members:
            for name, schema in member.schema["properties"].items():
                properties[name] = schema if properties.get(name, schema) == schema else {}
        return Selection(" ".join(["__typename", *texts]), {"type": "object", "properties": properties})


def _joined(parts: dict[str, Selection]) -> Selection:
    texts = [f"{name} {{ {part.text} }}" if part.text else name for name, part in parts.items()]
    return Selection(
        " ".join(texts), {"type": "object", "properties": {name: part.schema for name, part in parts.items()}}
    )


def _wrapped(kind: GraphQLOutputType, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type that is perhaps a list of the named one, or of lists of it."""
    kind = _nullable(kind)
    return _list(_wrapped(kind.of_type, schema)) if is_list_type(kind) else schema


def _list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def _nullable(kind: Any) -> Any:
    return kind.of_type if is_non_null_type(kind) else kind


def _is_plain(field: GraphQLField) -> bool:
    return isinstance(get_named_type(field.type), GraphQLScalarType | GraphQLEnumType)


def _is_free(field: GraphQLField) -> bool:
    """Return whether a field can be selected without arguments. APIs require a length of lists inside of others."""
    is_page = {"first", "last", "limit"} & field.args.keys() and not _is_plain(field)
    return field.deprecation_reason is None and not any(map(is_required_argument, field.args.values())) and not is_page


def _importance(name: str) -> int:
    return _IDENTITY.index(name) if name in _IDENTITY else len(_IDENTITY)
