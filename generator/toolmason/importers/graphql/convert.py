"""OpenAPI from a GraphQL schema: each query and each mutation becomes an operation with its GraphQL document.

So GraphQL tools get their names, texts, types and budget from the same code as all imported tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    IntrospectionQuery,
    build_client_schema,
    build_schema,
    get_named_type,
    is_list_type,
    is_non_null_type,
    value_from_ast_untyped,
)

from toolmason.importers.design.english import READING_ACTIONS
from toolmason.importers.design.words import without_repetitions
from toolmason.importers.graphql.selection import select
from toolmason.importers.names import separated, snake
from toolmason.importers.notes import ImporterError

KEY: Final = "x-graphql"
"""Member of an operation with its kind, its GraphQL document and the path of the request."""
_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "Int": {"type": "integer"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "String": {"type": "string"},
    "ID": {"type": "string"},
    "DateTime": {"type": "string", "format": "date-time"},
    "Date": {"type": "string", "format": "date"},
    "URI": {"type": "string", "format": "uri"},
    "URL": {"type": "string", "format": "uri"},
    "UUID": {"type": "string", "format": "uuid"},
    "BigInt": {"type": "string"},
    "Decimal": {"type": "string"},
}
_ANY: Final = frozenset({"JSON", "JSONObject", "JSONString", "Any", "Map", "Object", "GenericScalar"})
"""Usual scalars with values of any type."""


def schema_of(text: str, source: str) -> GraphQLSchema:
    """Return the schema of a text in the schema language, or of the JSON answer to an introspection query.

    Raises:
        ImporterError: it is neither, with line and column.
    """
    try:
        if text.lstrip().startswith("{"):
            data = json.loads(text)
            data = data.get("data", data)
            if not isinstance(data, dict) or "__schema" not in data:
                raise ImporterError(f"{source}: the JSON has no `__schema`: save the answer to an introspection query")
            return build_client_schema(cast("IntrospectionQuery", data), assume_valid=True)
        return build_schema(text, assume_valid_sdl=True)
    except GraphQLError as error:
        where = f":{error.locations[0].line}:{error.locations[0].column}" if error.locations else ""
        raise ImporterError(f"{source}{where}: not a GraphQL schema: {error.message}") from error
    except RecursionError as error:
        raise ImporterError(f"{source}: the schema nests too deeply") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ImporterError(f"{source}: not a GraphQL schema: {error}") from error


def converted(schema: GraphQLSchema, *, endpoint: str, title: str) -> dict[str, Any]:
    """Return the OpenAPI document for a schema.

    Args:
        schema: the schema.
        endpoint: path of the requests, such as `/graphql`.
        title: name of the API.

    Raises:
        ImporterError: it has neither queries nor mutations.
    """
    converter = _Converter(schema)
    paths: dict[str, Any] = {}
    for kind, root in (("query", schema.query_type), ("mutation", schema.mutation_type)):
        for name, each in root.fields.items() if root else ():
            paths[f"/{kind}/{name}"] = {"post": converter.operation(kind, name, each, endpoint)}
    converter.finish()
    if not paths:
        raise ImporterError("the schema has neither queries nor mutations")
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": ""},
        "paths": paths,
        "components": {"schemas": converter.schemas},
    }


@dataclass(slots=True)
class _Converter:
    schema: GraphQLSchema
    schemas: dict[str, Any] = field(default_factory=dict)
    _pending: list[GraphQLInputObjectType] = field(default_factory=list)
    """Input objects whose fields are not converted yet: a chain of them may be longer than the stack."""

    def finish(self) -> None:
        """Convert the fields of all input objects that the operations use."""
        while self._pending:
            kind = self._pending.pop()
            self.schemas[kind.name] |= self._object(kind.fields)

    def operation(self, kind: str, name: str, item: GraphQLField, path: str) -> dict[str, Any]:
        """Return the operation for a field of `Query` or `Mutation`."""
        selection = select(item, self.schema, self._scalar)
        variables = ", ".join(f"${each}: {argument.type}" for each, argument in item.args.items())
        arguments = ", ".join(f"{each}: ${each}" for each in item.args)
        body = f" {{\n    {selection.text}\n  }}" if selection.text else ""
        head = f"{kind} {name}" + (f"({variables})" if variables else "")
        call = name + (f"({arguments})" if arguments else "")
        result: dict[str, Any] = {
            "operationId": name,
            "x-mcp": {"name": _tool_name(kind, name, item)},
            "description": (item.description or "").strip(),
            "tags": ["Queries" if kind == "query" else "Mutations"],
            "responses": {"200": {"content": {"application/json": {"schema": selection.schema}}}},
            KEY: {"kind": kind, "path": path, "document": f"{head} {{\n  {call}{body}\n}}"},
        }
        if uploads := [each for each, argument in item.args.items() if _is_upload(argument)]:
            result[KEY]["problem"] = f"the argument `{uploads[0]}` is an upload, which a request with JSON has not"
        if item.deprecation_reason is not None:
            result["deprecated"] = True
        if item.args:
            required = any(_is_required(argument) for argument in item.args.values())
            content = {"application/json": {"schema": self._object(item.args)}}
            result["requestBody"] = {"required": required, "content": content}
        return result

    def _object(self, fields: Mapping[str, GraphQLArgument | GraphQLInputField]) -> dict[str, Any]:
        usable = {name: each for name, each in fields.items() if each.deprecation_reason is None or _is_required(each)}
        properties = {}
        for name, each in usable.items():
            properties[name] = schema = self._input(each.type)
            if each.description:
                properties[name] = schema = {**schema, "description": each.description.strip()}
            if (default := _default(each)) is not None:
                properties[name] = {**schema, "default": default}
        required = [name for name, each in usable.items() if _is_required(each)]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    def _input(self, kind: GraphQLInputType) -> dict[str, Any]:
        if isinstance(kind, GraphQLNonNull):
            return self._input(kind.of_type)
        if isinstance(kind, GraphQLList):
            return {"type": "array", "items": self._input(kind.of_type)}
        if isinstance(kind, GraphQLScalarType):
            return self._scalar(kind)
        name = kind.name
        if name not in self.schemas:
            self.schemas[name] = {"description": kind.description.strip()} if kind.description else {}
            if isinstance(kind, GraphQLEnumType):
                self.schemas[name] |= {"type": "string", "enum": list(kind.values)}
            elif isinstance(kind, GraphQLInputObjectType):
                self._pending.append(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def _scalar(self, kind: GraphQLScalarType) -> dict[str, Any]:
        return dict(_SCALARS.get(kind.name, {} if kind.name in _ANY else {"type": "string"}))


def _is_required(each: GraphQLArgument | GraphQLInputField) -> bool:
    return is_non_null_type(each.type) and each.default is None


def _is_upload(each: GraphQLArgument) -> bool:
    """Return whether an argument is a file that the call needs. The scalar is that of most servers."""
    return _is_required(each) and get_named_type(each.type).name == "Upload"


def _default(each: GraphQLArgument | GraphQLInputField) -> Any:
    """Return the default as a JSON value; None without one."""
    if each.default is None:
        return None
    return value_from_ast_untyped(each.default.literal) if each.default.literal else each.default.value


def _tool_name(kind: str, name: str, item: GraphQLField) -> str:
    """Return verb and object: `get_user` for the query `user`, `list_users` for `users`, `lend_book` for `lendBook`."""
    words = without_repetitions(snake(separated(name), name).split("_"))
    if kind == "mutation" or words[0] in READING_ACTIONS:
        return "_".join(words)
    named = item.type.of_type if is_non_null_type(item.type) else item.type
    is_page = isinstance(named, GraphQLObjectType) and "pageInfo" in named.fields
    is_many = is_list_type(named) or is_page
    return f"{'list' if is_many else 'get'}_{'_'.join(words)}"
