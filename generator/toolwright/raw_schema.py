"""JSON Schema that an author gives whole, for what the grammar of parameters cannot say."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from toolwright.model import JsonSchema

MOST_NODES = 20_000
"""Objects and arrays in a schema whose references are written out. Real ones have under 1,000."""
MOST_LEVELS = 64
"""How deep such a schema may nest."""


class RawSchemaError(ValueError):
    """The schema cannot be served. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def read_raw_schema(written: Any, root: Path, *, verbatim: bool = False) -> JsonSchema:
    """Give a tool's `input_schema`, which is a table or the name of a JSON file under `root`.

    References are written out, since no answer of a server may hold one, unless `verbatim` is set.

    Raises:
        RawSchemaError: it cannot be read, is no JSON Schema 2020-12, is not an object at its root, or refers to
            itself, to nothing or to another document.
    """
    schema = _from_file(written, root) if isinstance(written, str) else written
    if not isinstance(schema, dict):
        raise RawSchemaError("`input_schema` is no table", "give a JSON Schema object, or the name of a JSON file")
    schema = _plain(schema, 0)
    if schema.get("type") != "object":
        raise RawSchemaError('`input_schema` does not say `type = "object"` at its root', "MCP asks for it")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "its root"
        raise RawSchemaError(f"`input_schema` is no JSON Schema at {where}: {error.message}") from None
    return schema if verbatim else _written_out(schema)


def _from_file(name: str, root: Path) -> Any:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise RawSchemaError(f"`{name}` lies outside the project")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RawSchemaError(f"cannot read `{name}`: {error.strerror}") from None
    except ValueError as error:
        raise RawSchemaError(f"`{name}` is no JSON: {error}") from None
    except RecursionError:
        raise RawSchemaError(f"`{name}` nests too deep") from None


def _plain(value: Any, level: int) -> Any:
    """Copy a JSON value, refusing what JSON cannot hold (a TOML date, a NaN) and what nests too deep."""
    if level > MOST_LEVELS:
        raise RawSchemaError(f"`input_schema` nests more than {MOST_LEVELS} levels")
    if isinstance(value, dict):
        return {name: _plain(inner, level + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, level + 1) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise RawSchemaError(f"`input_schema` holds the number {value}, which JSON cannot")
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise RawSchemaError(f"`input_schema` holds a {type(value).__name__}, which JSON cannot")


def _written_out(schema: JsonSchema) -> JsonSchema:
    addresses = _references(schema)
    for address in addresses:
        if not address.startswith("#"):
            raise RawSchemaError(f"`input_schema` refers to another document: `{address}`", "copy it under `$defs`")
    if addresses:
        schema = _dereferenced(schema)
    return {name: value for name, value in schema.items() if name not in {"$schema", "$id", "$defs", "definitions"}}


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [address for inner in value for address in _references(inner)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [address for inner in value.values() for address in _references(inner)]


def _dereferenced(schema: JsonSchema) -> JsonSchema:
    # jsonref merges no siblings on its own and follows any address, so both are said here. It is asked for local
    # references only, and `$id` could still turn one into an address: hence the loader.
    import jsonref  # it imports requests

    try:
        resolved = jsonref.replace_refs(
            deepcopy(schema), proxies=False, lazy_load=False, merge_props=True, loader=_local_only
        )
        return _bounded(resolved)
    except (RecursionError, jsonref.JsonRefError) as error:
        where = (
            f"`{error.reference['$ref']}`" if isinstance(error, jsonref.JsonRefError) else "one that leads to itself"
        )
        raise RawSchemaError(f"a `$ref` of `input_schema` cannot be followed: {where}") from None


def _local_only(uri: str, **_: Any) -> Any:
    raise LookupError(f"`{uri}` is another document")


def _bounded(schema: JsonSchema) -> JsonSchema:
    """Copy what jsonref gave, which shares parts and may hold itself, as a tree of bounded size."""
    left = MOST_NODES

    def copied(value: Any, trail: tuple[int, ...]) -> Any:
        nonlocal left
        if not isinstance(value, dict | list):
            return value
        left -= 1
        if id(value) in trail:
            raise RawSchemaError("`input_schema` is recursive", 'give the nested part `type = "object"` instead')
        if left < 0 or len(trail) > MOST_LEVELS:
            raise RawSchemaError(f"`input_schema` grows beyond {MOST_NODES} parts when references are written out")
        inner = (*trail, id(value))
        if isinstance(value, dict):
            return {name: copied(each, inner) for name, each in value.items()}
        return [copied(each, inner) for each in value]

    tree: JsonSchema = copied(schema, ())
    return tree
