"""The places that a client puts a schema into, and what each provider refuses there.

The rules come from documentation and error messages; they do not use `toolmason.schema`, which is measured by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import SchemaError

from bench.schemas.scoring import find_problems, message_nodes
from bench.schemas.semantics import message_semantics, nodes, resolve_ref, rewrite

_JSON_KEYWORDS: Final = frozenset(
    {
        *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
        *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
        *("required", "propertyOrdering", "definitions"),
    }
)
_ANTHROPIC_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class Field(Enum):
    """What a provider reads: Gemini's message in two forms, or JSON Schema as one of four readers takes it."""

    PARAMETERS = "Gemini's parameters"
    VERTEX = "Vertex's parameters"
    JSON = "Gemini's parametersJsonSchema"
    ANTHROPIC = "Anthropic's input_schema"
    OPENAI = "OpenAI's parameters"
    VS_CODE = "a tool of VS Code"


def in_json_names(field: Field, schema: Any) -> Any:
    """Return a message with the names of JSON, `anyOf` for `any_of`; Gemini takes both."""
    if field not in {Field.PARAMETERS, Field.VERTEX}:
        return schema
    return rewrite(schema, lambda node: {_camel_case(name): value for name, value in node.items()})


def _camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def read_as(field: Field, schema: Any) -> Any:
    """Return what the reader understands, as JSON Schema 2020-12."""
    if field in {Field.PARAMETERS, Field.VERTEX}:
        return message_semantics(schema)
    if field is Field.JSON:
        return rewrite(schema, lambda node: {name: value for name, value in node.items() if name in _JSON_KEYWORDS})
    return schema


def problems(field: Field, schema: Any) -> Iterator[str]:
    """Yield the reasons why the reader refuses the request."""
    match field:
        case Field.PARAMETERS:
            yield from find_problems(schema)
        case Field.VERTEX:
            yield from _vertex(schema)
        case Field.JSON:
            yield from _json(schema)
        case Field.ANTHROPIC:
            yield from _anthropic(schema)
        case Field.OPENAI:
            yield from _openai(schema)
        case Field.VS_CODE:
            yield from _valid(schema, Draft7Validator)
            yield from _arrays(schema)


def _vertex(schema: Any) -> Iterator[str]:
    found = list(find_problems(schema))
    yield from found
    if found:
        return
    for node in message_nodes(schema):
        if str(node.get("type", "")).upper() == "NULL":
            yield "type: NULL is not in the message"
        if "anyOf" in node and node.keys() - {"anyOf", "nullable"}:
            yield "anyOf: specified other fields alongside any_of"


def _json(schema: Any) -> Iterator[str]:
    yield from _object_root(schema)
    yield from _references(schema)
    for node in nodes(schema):
        if "$ref" in node and any(not name.startswith("$") for name in node.keys() - {"description", "default"}):
            yield "$ref: set alongside unsupported fields"


def _anthropic(schema: Any) -> Iterator[str]:
    yield from _object_root(schema)
    yield from _valid(schema, Draft202012Validator)
    yield from _references(schema)
    if isinstance(schema, dict) and schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield "input_schema does not support oneOf, allOf, or anyOf at the top level"
    for node in nodes(schema):
        for name in node.get("properties", {}):
            if not _ANTHROPIC_NAME.fullmatch(name):
                yield "property keys should match pattern"


def _openai(schema: Any) -> Iterator[str]:
    yield from _object_root(schema)
    yield from _valid(schema, Draft202012Validator)
    yield from _references(schema)
    yield from _arrays(schema)
    if not isinstance(schema, dict):
        return
    if schema.keys() & {"oneOf", "anyOf", "allOf", "enum", "not"}:
        yield "schema must not have oneOf, anyOf, allOf, enum or not at the top level"
    if "properties" not in schema:
        yield "object schema missing properties"


def _object_root(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "root: not an object"


def _valid(schema: Any, validator: Any) -> Iterator[str]:
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        yield f"invalid: {error.message[:80]}"


def _references(schema: Any) -> Iterator[str]:
    for node in nodes(schema):
        if isinstance(node.get("$ref"), str) and resolve_ref(schema, node["$ref"]) is None:
            yield "reference to undefined schema"


def _arrays(schema: Any) -> Iterator[str]:
    for node in nodes(schema):
        kind = node.get("type")
        if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and "items" not in node:
            yield "array schema missing items"
