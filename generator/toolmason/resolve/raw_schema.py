"""Check `input_schema`: JSON Schema from the author, for constraints that `params` cannot express."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolmason.model.types import JsonSchema
from toolmason.resolve.raw_schema_error import RawSchemaError
from toolmason.resolve.schema_file import read_schema_file
from toolmason.schema.references import References, UnresolvedReferenceError
from toolmason.schema.walk import walk

MAX_DEPTH: Final = 64
"""Maximum nesting depth of a schema."""
MAX_ITEMS: Final = 10_000
"""Maximum items of an array in a schema, such as the values of `enum`, as of other arrays of a manifest."""


def read_raw_schema(source: Any, root: Path) -> JsonSchema:
    """Return a copy of the schema `source`, a table or the name of a JSON file under `root`.

    Raises:
        RawSchemaError: it cannot be read, is invalid JSON Schema 2020-12, is not an object at its root, or has a
            reference that leads nowhere or to another document. A file may refer to other files of the project.
    """
    # Imported late: it takes long, and most manifests have no such schema.
    from jsonschema import Draft202012Validator, SchemaError

    table = read_schema_file(source, root) if isinstance(source, str) else source
    if not isinstance(table, dict):
        message = "`input_schema` must be a table"
        raise RawSchemaError(message, "write a JSON Schema object, or the name of a JSON file")
    schema: JsonSchema = _copy_json(table, 0)
    if schema.get("type") != "object":
        raise RawSchemaError('`input_schema` needs `type = "object"` at its root', "MCP requires it")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        path = "/".join(str(part) for part in error.absolute_path) or "its root"
        raise RawSchemaError(f"`input_schema` is invalid JSON Schema at {path}: {error.message}") from None
    check_references(schema)
    _check_name_patterns(schema)
    return schema


def _copy_json(value: Any, level: int) -> Any:
    """Return a deep copy of a JSON value; reject TOML dates, NaN, unpaired surrogates and deep nesting."""
    if level > MAX_DEPTH:
        raise RawSchemaError(f"`input_schema` nests more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_check_surrogates(name): _copy_json(inner, level + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            message = f"`input_schema` contains an array of {len(value):,} items: at most {MAX_ITEMS:,} are allowed"
            raise RawSchemaError(message, 'use `type = "string"` with a `pattern` or a description for many choices')
        return [_copy_json(inner, level + 1) for inner in value]
    if isinstance(value, str):
        return _check_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise RawSchemaError(f"`input_schema` contains the number {value}, which JSON cannot represent")
    if value is None or isinstance(value, int | float | bool):
        return value
    raise RawSchemaError(f"`input_schema` contains a {type(value).__name__}, which JSON cannot represent")


def _check_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        message = f"`input_schema` contains the unpaired surrogate `{half}`"
        raise RawSchemaError(message, "write the complete pair") from None
    return text


_DYNAMIC: Final = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def check_references(schema: JsonSchema) -> None:
    """Check that every reference leads to a schema inside `schema`.

    Raises:
        RawSchemaError: one does not, or its target depends on the context (`$dynamicRef`, a nested `$id`).
    """
    references = References(schema)
    nodes = {id(node): node for node, _ in walk(schema)}
    for node in nodes.values():
        for keyword in _DYNAMIC:
            if keyword in node:
                raise RawSchemaError(f"`input_schema` uses `{keyword}`", "use `$ref` with a path: `#/$defs/name`")
        if "$schema" in node and node is not schema:
            raise RawSchemaError("`input_schema` uses `$schema` below its root", "remove it there")
        if "$id" in node and node is not schema:
            message = f"`input_schema` contains another document: `$id` is `{node['$id']}` below its root"
            raise RawSchemaError(message, "remove `$id`, and refer to its parts from the root: `#/$defs/name`")
        if "$ref" in node:
            _check_reference(node["$ref"], references, nodes)


def _check_name_patterns(schema: JsonSchema) -> None:
    """Check that no property name is matched without a time limit, as jsonschema does for `unevaluatedProperties`.

    Raises:
        RawSchemaError: the schema uses it with `patternProperties`.
    """
    keywords = frozenset[str]().union(*(node for node, _ in walk(schema)))
    if {"unevaluatedProperties", "patternProperties"} <= keywords:
        raise RawSchemaError(
            "`input_schema` uses both `unevaluatedProperties` and `patternProperties`",
            "use `additionalProperties` instead of `unevaluatedProperties`",
        )


def _check_reference(address: str, references: References, nodes: Mapping[int, JsonSchema]) -> None:
    if not address.startswith("#"):
        raise RawSchemaError(f"`input_schema` refers to another document: `{address}`", "copy it under `$defs`")
    try:
        target, _ = references.target(address)
    except UnresolvedReferenceError:
        target = None
    if not isinstance(target, bool) and id(target) not in nodes:
        hint = "write the path to a schema, such as `#/$defs/name`, or its `$anchor`"
        raise RawSchemaError(f"a `$ref` of `input_schema` has no target: `{address}`", hint)
