"""JSON Schema that an author gives whole, for what the grammar of parameters cannot say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

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
        RawSchemaError: it cannot be read, is no JSON Schema 2020-12, is not an object at its root, refers to nothing
            or to another document, or refers to itself and is not `verbatim`.
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
    references = _References(schema)
    return schema if verbatim else references.written_out()


def _from_file(name: str, root: Path) -> Any:
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError):
        # A NUL, a name longer than any file's, links in a circle.
        raise RawSchemaError(f"`{name}` cannot name a file") from None
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


_ONE: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MANY: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords that hold a schema, a list of schemas, and schemas by name. What other keywords hold is data."""
_ANNOTATIONS: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
"""Keywords that refuse nothing: beside a reference they override what it leads to."""
_LEFT_OUT: Final = frozenset({"$anchor", "$defs", "$id", "$schema", "definitions"})
"""Keywords that mean nothing once references are written out."""
_INSTEAD_OF_RECURSION: Final = 'give the nested part `type = "object"` instead'
_DYNAMIC: Final = ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def _with_inner(schema: JsonSchema, change: Callable[[Any], Any]) -> JsonSchema:
    """Copy `schema` with each schema directly inside it changed. A list among `dependencies` is data."""

    def inner(keyword: str, value: Any) -> Any:
        if keyword in _ONE:
            return change(value)
        if keyword in _MANY:
            return [change(each) for each in value]
        if keyword in _NAMED:
            return {name: each if isinstance(each, list) else change(each) for name, each in value.items()}
        return value

    return {keyword: inner(keyword, value) for keyword, value in schema.items()}


def _nodes(schema: Any) -> Iterator[JsonSchema]:
    """Give `schema` and the schemas inside it that are objects, outer ones first."""
    if isinstance(schema, dict):
        yield schema
        inner: list[Any] = []
        _with_inner(schema, inner.append)
        for each in inner:
            yield from _nodes(each)


class _References:
    """The references of one schema, all of which lead to schemas inside it.

    Raises:
        RawSchemaError: one does not, or where it leads depends on its surroundings (`$dynamicRef`, a nested `$id`).
    """

    def __init__(self, schema: JsonSchema) -> None:
        self._root = schema
        self._known = {id(node): node for node in _nodes(schema)}
        self._anchors = {node["$anchor"]: node for node in self._known.values() if "$anchor" in node}
        self._left = MOST_NODES
        for node in self._known.values():
            self._check(node)

    def _check(self, node: JsonSchema) -> None:
        for keyword in _DYNAMIC:
            if keyword in node:
                raise RawSchemaError(f"`input_schema` uses `{keyword}`", "use `$ref` with a path: `#/$defs/name`")
        if "$id" in node and node is not self._root:
            message = f"`input_schema` holds another document: `$id` is `{node['$id']}` below its root"
            raise RawSchemaError(message, "leave `$id` out, and refer to its parts from the root: `#/$defs/name`")
        if "$ref" in node:
            self._target(node["$ref"])

    def _target(self, address: str) -> Any:
        if not address.startswith("#"):
            raise RawSchemaError(f"`input_schema` refers to another document: `{address}`", "copy it under `$defs`")
        pointer = unquote(address[1:])
        found = self._anchors.get(pointer) if pointer and pointer[0] != "/" else self._at(pointer)
        if not isinstance(found, bool) and id(found) not in self._known:
            hint = "give the path to a schema, such as `#/$defs/name`, or the `$anchor` of one"
            raise RawSchemaError(f"a `$ref` of `input_schema` cannot be followed: `{address}`", hint)
        return found

    def _at(self, pointer: str) -> Any:
        """Follow a JSON pointer (RFC 6901); None where it leads nowhere."""
        value: Any = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value.get(name)
            elif isinstance(value, list) and name.isdecimal() and len(name) < len(str(MOST_NODES)):
                value = value[int(name)] if int(name) < len(value) else None
            else:
                return None
        return value

    def written_out(self) -> JsonSchema:
        """Give the schema without references.

        Raises:
            RawSchemaError: it refers to itself, or grows beyond bounds.
        """
        root = _dereferenced(self._root) if self._are_plain() else self._root
        written: JsonSchema = self._written(root, ())
        return written

    def _are_plain(self) -> bool:
        """Whether all references are what jsonref follows rightly: alone in their node, paths, none of them data."""
        found = [node for node in self._known.values() if "$ref" in node]
        alone = all(len(node) == 1 and node["$ref"].startswith("#/") for node in found)
        return bool(found) and alone and json.dumps(self._root).count('"$ref"') == len(found)

    def _written(self, schema: Any, trail: tuple[int, ...]) -> Any:
        """Write out `schema`, which `trail` led to: the identities of those around it."""
        if not isinstance(schema, dict):
            return schema
        if id(schema) in trail:
            raise RawSchemaError("`input_schema` is recursive", _INSTEAD_OF_RECURSION)
        self._left -= 1
        if self._left < 0 or len(trail) > MOST_LEVELS:
            raise RawSchemaError(f"`input_schema` grows beyond {MOST_NODES} parts when references are written out")
        inside = (*trail, id(schema))
        kept = {keyword: value for keyword, value in schema.items() if keyword not in _LEFT_OUT | {"$ref"}}
        own = _with_inner(kept, lambda each: self._written(each, inside))
        return _combined(self._written(self._target(schema["$ref"]), inside), own) if "$ref" in schema else own


def _dereferenced(schema: JsonSchema) -> JsonSchema:
    """Let jsonref put what each reference leads to in its place; a schema that holds itself then does so in memory."""
    import jsonref  # it imports requests

    try:
        found: JsonSchema = jsonref.replace_refs(schema, proxies=False, lazy_load=False, loader=_nothing_else)
    except RecursionError:
        raise RawSchemaError("`input_schema` is recursive", _INSTEAD_OF_RECURSION) from None
    return found


def _nothing_else(uri: str, **_: Any) -> Any:
    """Fetch nothing: every reference was seen to lead into the schema itself."""
    raise LookupError(uri)


def _combined(target: Any, beside: JsonSchema) -> Any:
    """Put what a reference leads to, and what stands beside it, into one schema: both must hold."""
    if not beside:
        return target
    if isinstance(target, bool):
        target = {} if target else {"not": {}}
    rules = {keyword: value for keyword, value in beside.items() if keyword not in _ANNOTATIONS}
    if rules.keys() <= {"type"} and rules.get("type", target.get("type")) == target.get("type"):
        return {**target, **beside}
    # Not `[target, beside]`: `unevaluatedProperties` sees what `allOf` beside it declares, and a root keeps its type.
    return {**beside, "allOf": [target, *beside.get("allOf", ())]}
