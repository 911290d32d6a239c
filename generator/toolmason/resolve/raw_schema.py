"""JSON Schema that an author gives whole, for what the grammar of parameters cannot say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError

from toolmason.manifest.input_files import read_input
from toolmason.model.types import JsonSchema
from toolmason.schema.references import References, UnfollowableError, schemas

MAX_DEPTH = 64
"""How deep a schema may nest."""


class RawSchemaError(ValueError):
    """The schema cannot be served. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def read_raw_schema(written: Any, root: Path) -> JsonSchema:
    """Give a tool's `input_schema`, which is a table or the name of a JSON file under `root`, as it was written.

    Raises:
        RawSchemaError: it cannot be read, is no JSON Schema 2020-12, is not an object at its root, or refers to
            nothing or to another document.
    """
    found = _from_file(written, root) if isinstance(written, str) else written
    if not isinstance(found, dict):
        raise RawSchemaError("`input_schema` is no table", "give a JSON Schema object, or the name of a JSON file")
    schema: JsonSchema = _plain(found, 0)
    if schema.get("type") != "object":
        raise RawSchemaError('`input_schema` does not say `type = "object"` at its root', "MCP asks for it")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "its root"
        raise RawSchemaError(f"`input_schema` is no JSON Schema at {where}: {error.message}") from None
    _check_references(schema)
    _check_name_patterns(schema)
    return schema


def _from_file(name: str, root: Path) -> Any:
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError):
        # A NUL, a name longer than any file's, links in a circle.
        raise RawSchemaError(f"`{name}` cannot name a file") from None
    if not path.is_relative_to(root.resolve()):
        raise RawSchemaError(f"`{name}` lies outside the project")
    try:
        return json.loads(read_input(path, root).decode())
    except OSError as error:
        raise RawSchemaError(f"cannot read `{name}`: {error.strerror}") from None
    except ValueError as error:
        raise RawSchemaError(f"`{name}` is no JSON: {error}") from None
    except RecursionError:
        raise RawSchemaError(f"`{name}` nests too deep") from None


def _plain(value: Any, level: int) -> Any:
    """Copy a JSON value, refusing what JSON cannot hold (a TOML date, a NaN) and what nests too deep."""
    if level > MAX_DEPTH:
        raise RawSchemaError(f"`input_schema` nests more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_plain_text(name): _plain(inner, level + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, level + 1) for inner in value]
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise RawSchemaError(f"`input_schema` holds the number {value}, which JSON cannot")
    if value is None or isinstance(value, int | float | bool):
        return value
    raise RawSchemaError(f"`input_schema` holds a {type(value).__name__}, which JSON cannot")


def _plain_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise RawSchemaError(f"`input_schema` holds `{half}`, half a character", "write both halves") from None
    return text


_DYNAMIC: Final = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def _check_references(schema: JsonSchema) -> None:
    """Check that every reference leads to a schema inside `schema`, wherever it stands.

    Raises:
        RawSchemaError: one does not, or where it leads depends on its surroundings (`$dynamicRef`, a nested `$id`).
    """
    references = References(schema)
    known = {id(node): node for node, _ in schemas(schema)}
    for node in known.values():
        for keyword in _DYNAMIC:
            if keyword in node:
                raise RawSchemaError(f"`input_schema` uses `{keyword}`", "use `$ref` with a path: `#/$defs/name`")
        if "$schema" in node and node is not schema:
            raise RawSchemaError("`input_schema` uses `$schema` below its root", "leave it out there")
        if "$id" in node and node is not schema:
            message = f"`input_schema` holds another document: `$id` is `{node['$id']}` below its root"
            raise RawSchemaError(message, "leave `$id` out, and refer to its parts from the root: `#/$defs/name`")
        if "$ref" in node:
            _check_reference(node["$ref"], references, known)


def _check_name_patterns(schema: JsonSchema) -> None:
    """Check that no name is matched without a time limit, as jsonschema does for `unevaluatedProperties`.

    Raises:
        RawSchemaError: the schema uses it with `patternProperties`.
    """
    keywords = frozenset[str]().union(*(node for node, _ in schemas(schema)))
    if {"unevaluatedProperties", "patternProperties"} <= keywords:
        raise RawSchemaError(
            "`input_schema` uses both `unevaluatedProperties` and `patternProperties`",
            "use `additionalProperties` instead of `unevaluatedProperties`",
        )


def _check_reference(address: str, references: References, known: Mapping[int, JsonSchema]) -> None:
    if not address.startswith("#"):
        raise RawSchemaError(f"`input_schema` refers to another document: `{address}`", "copy it under `$defs`")
    try:
        found, _ = references.target(address)
    except UnfollowableError:
        found = None
    if not isinstance(found, bool) and id(found) not in known:
        hint = "give the path to a schema, such as `#/$defs/name`, or the `$anchor` of one"
        raise RawSchemaError(f"a `$ref` of `input_schema` cannot be followed: `{address}`", hint)
