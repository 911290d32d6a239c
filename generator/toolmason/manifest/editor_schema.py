"""The JSON Schema (draft-07) of the manifest, made from the dataclasses that read it. Editors check by it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from toolmason_runtime.toml.tables import Table, is_required, keys_of

from toolmason.manifest import tables
from toolmason.manifest.tables import (
    CliTable,
    GlobalTable,
    ManifestTables,
    ParamTable,
    ServerTable,
    ToolTable,
    TypeTable,
    ValueTable,
)
from toolmason.manifest.validate import EDITION
from toolmason.manifest.validate_clis import MAX_EXIT_CODE, ONLY_OF, PLACES, RISKS

_SCALARS: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}

_FILE_NAME: Final = r"[a-z0-9][a-z0-9-]{0,63}"
_PROPERTY_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_ONE_LINE: Final = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"
_TYPE: Final = r"(?=[^<>]*$|\s*map<.*>)\s*(?:map<\s*)*[A-Za-z_][A-Za-z0-9_]*(?:\s*(?:\[\]|>))*\s*"
"""The grammar of types, but for how deep it nests and that each `<` has its `>`: no regular expression counts."""

_NAMES: Final[Mapping[tuple[type[Table], str], str]] = {
    (ManifestTables, "categories"): r"[a-z_][a-z0-9_]*",
    (ManifestTables, "clis"): r"[A-Za-z][A-Za-z0-9_-]*",
    (ManifestTables, "types"): r"[A-Z][A-Za-z0-9]*",
    (ManifestTables, "tools"): r"[A-Za-z_][A-Za-z0-9_-]{0,63}",
    (ManifestTables, "commands"): _FILE_NAME,
    (ManifestTables, "workflows"): _FILE_NAME,
    (ServerTable, "options"): r"[a-z][a-z0-9_-]*",
    (ServerTable, "subcommands"): r"[a-z][a-z0-9-]*",
    (CliTable, "params"): _PROPERTY_NAME,
    (CliTable, "env"): _VARIABLE,
    (ToolTable, "params"): _PROPERTY_NAME,
    (TypeTable, "fields"): _PROPERTY_NAME,
}
"""What the names in a table of tables look like."""

_PATTERNS: Final[Mapping[tuple[type[Table], str], str]] = {
    (ValueTable, "type"): _TYPE,
}
_RISK: Final = {"type": "string", "enum": list(RISKS)}


def _none_of(keys: Iterable[str]) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [key]} for key in keys]}}


_UNPLACED: Final = {"properties": {"params": {"additionalProperties": _none_of(PLACES)}}}
_BARE_WORDS: Final = {
    "if": {"required": ["flag"], "properties": {"flag": {"pattern": "^[^-]*[^=-]$"}}},
    "then": {"required": ["type"], "properties": {"type": {"const": "boolean"}}},
}
_RULES: Final[Mapping[type[Table], dict[str, Any]]] = {
    ToolTable: {
        "required": ["summary"],
        "not": {"required": ["params", "input_schema"], "properties": {"params": {"minProperties": 1}}},
        "if": {"required": ["cli"]},
        "then": {"required": ["risk"], **_none_of(["handler", *ONLY_OF["cli"]])},
        "else": {"required": ["category", "hints", "handler"], **_none_of(ONLY_OF["handler"]), **_UNPLACED},
    },
    ParamTable: {"not": {"anyOf": [{"required": list(pair)} for pair in combinations(PLACES, 2)]}, **_BARE_WORDS},
    GlobalTable: _BARE_WORDS,
}
"""What later stages ask of a table beyond its dataclass."""


def manifest_schema() -> dict[str, Any]:
    """Describe every table and key, with the docstring of each as its description. The order is that of the classes."""
    documentation = _docstrings(inspect.getsource(tables))
    root = _object(ManifestTables, documentation)
    root["properties"]["edition"]["const"] = EDITION
    definitions = {table.__name__: _object(table, documentation) for table in _inner_tables(ManifestTables, set())}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Toolmason manifest",
        **root,
        "definitions": dict(sorted(definitions.items())),
    }


def _docstrings(source: str) -> dict[str, str]:
    """Collect the docstrings of classes (`ToolTable`) and of their attributes (`ToolTable.summary`)."""
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = ast.get_docstring(node) or ""
            found |= _attribute_docstrings(node)
    return found


def _attribute_docstrings(node: ast.ClassDef) -> dict[str, str]:
    """Collect the strings that stand under the fields of a class."""
    return {
        f"{node.name}.{field.target.id}": inspect.cleandoc(text.value.value)
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _object(table: type[Table], documentation: Mapping[str, str]) -> dict[str, Any]:
    hints = get_type_hints(table)
    keys = keys_of(table)
    required = [key for key, field in keys.items() if is_required(field)]
    properties = {
        key: {
            "description": _documented(table, field.name, documentation),
            **_property(field, hints[field.name]),
            **_rules_of_key(table, field.name),
        }
        for key, field in keys.items()
    }
    schema: dict[str, Any] = {"description": documentation[table.__name__], "type": "object", "properties": properties}
    schema |= {"required": required} if required else {}
    return schema | _RULES.get(table, {}) | {"additionalProperties": False}


def _documented(table: type[Table], name: str, documentation: Mapping[str, str]) -> str:
    """Give the docstring of a field, which may stand in a class that `table` extends."""
    places = (f"{each.__name__}.{name}" for each in table.__mro__)
    return next(documentation[place] for place in places if place in documentation)


def _rules_of_key(table: type[Table], name: str) -> dict[str, Any]:
    """Give what later stages ask of a key beyond its type."""
    places = [(each, name) for each in table.__mro__]
    rules: dict[str, Any] = {}
    if (ToolTable, "input_schema") in places:
        rules["type"] = ["object", "string"]
    if (ToolTable, "risk") in places:
        rules["anyOf"] = [_RISK, _tables_of(_tables_of(_RISK)) | {"minProperties": 1}]
    if (ToolTable, "ok_exit_codes") in places:
        rules["items"] = {"type": "integer", "minimum": 0, "maximum": MAX_EXIT_CODE}
    for place in places:
        if place in _PATTERNS:
            rules["pattern"] = _whole(_PATTERNS[place])
        if place in _NAMES:
            rules["propertyNames"] = {"pattern": _whole(_NAMES[place])}
    return rules


def _tables_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": dict(schema)}


def _whole(pattern: str) -> str:
    """Make `pattern` one for the whole text: in some validators `$` also stands before a final line break."""
    return rf"^(?:{pattern})$(?!\n)"


def _property(field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
    schema = _type(hint)
    if "$ref" in schema:
        schema = {"allOf": [schema]}  # draft-07 ignores what stands beside `$ref`, the description too
    if hint is str and is_required(field):
        schema["minLength"] = 1
    rules = field.metadata
    names = {"max_length": "maxLength", "minimum": "minimum"}
    schema |= {names[rule]: rules[rule] for rule in names if rule in rules}
    schema |= {"minItems": 1} if "not_empty" in rules else {}
    pattern = rules.get("pattern", _ONE_LINE if "one_line" in rules else "")
    schema |= {"pattern": _whole(pattern)} if pattern else {}
    if isinstance(field.default, str | bool | int) and field.default != "":
        schema["default"] = field.default
    return schema


def _type(hint: Any) -> dict[str, Any]:
    """Describe a type; the same ones that `read` can read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if isinstance(hint, type) and issubclass(hint, Table):
        return {"$ref": f"#/definitions/{hint.__name__}"}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type(arguments[1])}
    if origin in (Union, types.UnionType):
        rest = [each for each in arguments if each is not types.NoneType]
        return {"type": "number"} if set(rest) == {int, float} else _type(rest[0])
    return {}  # a free value


def _inner_tables(hint: Any, seen: set[type[Table]]) -> Iterator[type[Table]]:
    """Find the table classes that stand anywhere under `hint`, each once."""
    if isinstance(hint, type) and issubclass(hint, Table):
        for inner in get_type_hints(hint).values():
            yield from _inner_tables(inner, seen)
        if hint is not ManifestTables and hint not in seen:
            seen.add(hint)
            yield hint
        return
    for argument in get_args(hint):
        yield from _inner_tables(argument, seen)
