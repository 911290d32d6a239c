"""Build the JSON Schema (draft-07) of the manifest for editors from the dataclasses in `tables`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from toolmason_runtime.shared.toml.tables import Table, all_keys_of, is_required

from toolmason.kinds import kinds
from toolmason.kinds.kind import Kind
from toolmason.manifest import tables
from toolmason.manifest.checks import ARGUMENT_LOCATIONS, REQUEST_LOCATIONS, RISKS, incompatible_keys
from toolmason.manifest.editor_rules import BARE_WORDS, PROPERTY_NAME, none_of, one_of, whole, without_param_keys
from toolmason.manifest.files import MAIN_KEYS
from toolmason.manifest.tables import (
    ArgumentTable,
    ManifestTables,
    MessageTable,
    ParamTable,
    PromptTable,
    ResourceTable,
    ServerTable,
    ToolTable,
    TypeTable,
    ValueTable,
)
from toolmason.manifest.validate import EDITION, extensions

_SCALARS: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}

_GROUP_NAME: Final = r"[A-Za-z][A-Za-z0-9_-]*"
_FILE_NAME: Final = r"[a-z0-9][a-z0-9-]{0,63}"
_SURFACE_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_ONE_LINE: Final = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"
_TYPE: Final = r"(?=[^<>]*$|\s*map<.*>)\s*(?:map<\s*)*[A-Za-z_][A-Za-z0-9_]*(?:\s*(?:\[\]|>))*\s*"
"""Approximate grammar of types, such as `map<string[]>`. Depth and balanced `<` and `>` are not checked."""

_NAMES: Final[Mapping[tuple[type[Table], str], str]] = {
    (ManifestTables, "categories"): r"[a-z_][a-z0-9_]*",
    (ManifestTables, "types"): r"[A-Z][A-Za-z0-9]*",
    (ManifestTables, "params"): r"[A-Za-z_][A-Za-z0-9_.-]*",
    (ManifestTables, "tools"): r"[A-Za-z_][A-Za-z0-9_-]{0,63}",
    (ManifestTables, "prompts"): _SURFACE_NAME,
    (ManifestTables, "resources"): _SURFACE_NAME,
    (ManifestTables, "commands"): _FILE_NAME,
    (ManifestTables, "workflows"): _FILE_NAME,
    (ServerTable, "options"): r"[a-z][a-z0-9_-]*",
    (ServerTable, "subcommands"): r"[a-z][a-z0-9-]*",
    (ToolTable, "params"): PROPERTY_NAME,
    (TypeTable, "fields"): PROPERTY_NAME,
    (PromptTable, "arguments"): PROPERTY_NAME,
    (ResourceTable, "arguments"): PROPERTY_NAME,
}
"""Patterns of the names in a table of tables."""

_PATTERNS: Final[Mapping[tuple[type[Table], str], str]] = {
    (ValueTable, "type"): _TYPE,
}
_RISK: Final = {"type": "string", "enum": list(RISKS)}


_LOCATIONS: Final = (*ARGUMENT_LOCATIONS, *REQUEST_LOCATIONS)
_MAIN_FILE: Final = {
    # An included file has none of the keys of the main file.
    "if": {"anyOf": [{"required": [key]} for key in MAIN_KEYS]},
    "then": {"required": ["edition", "server"]},
    "required": [],
}
_RULES: Final[Mapping[type[Table], dict[str, Any]]] = {
    ManifestTables: _MAIN_FILE,
    # Required keys may come from the defaults of a category or a program, and from a shared parameter.
    TypeTable: {
        **one_of("fields", "enum", "one_of"),
        "dependencies": {"type": ["enum"], "discriminator": ["one_of"], "one_of": ["discriminator"]},
    },
    ParamTable: {
        "not": {"anyOf": [{"required": list(pair)} for pair in combinations(_LOCATIONS, 2)]},
        "anyOf": [{"required": ["type"]}, {"required": ["use"]}],
        "required": [],
        **BARE_WORDS,
    },
    PromptTable: one_of("text", "messages", "handler"),
    MessageTable: one_of("text", "image", "resource"),
    ResourceTable: {
        **one_of("file", "handler"),
        "not": {"required": ["file"], "properties": {"uri": {"pattern": r"\{"}}},
    },
    ArgumentTable: {"not": {"required": ["suggestions", "complete"]}},
}
"""Rules of later stages that a dataclass cannot express; `_tool_rules` and kinds of tools have further ones."""


def _tool_rules() -> dict[str, Any]:
    """Return the rules of tools: the keys that each kind requires and excludes."""
    *others, last = reversed(kinds().values())
    rules = _kind_rules(last) | {"required": [*_kind_rules(last).get("required", ()), last.key]}
    for kind in reversed(others):
        rules = {"if": {"required": [kind.key]}, "then": _kind_rules(kind), "else": rules}
    return {
        "required": ["summary"],
        "not": {"required": ["params", "input_schema"], "properties": {"params": {"minProperties": 1}}},
        **rules,
    }


def _kind_rules(kind: Kind) -> dict[str, Any]:
    keys = [other.key for other in kinds().values() if other is not kind]
    keys += [key for key in incompatible_keys(kind) if key not in kind.conditional_keys]
    foreign = [key for other in kinds().values() if other is not kind for key in other.param_keys]
    params = without_param_keys(*foreign) if foreign and not kind.takes_all_param_keys else {}
    return {**none_of(keys), **params, **kind.editor_rules.get(ToolTable, {})}


def manifest_schema() -> dict[str, Any]:
    """Return the schema of all tables and keys, described by their docstrings, in the order of the classes."""
    documentation = docstrings()
    root = _object(ManifestTables, documentation)
    root["properties"]["edition"]["const"] = EDITION
    definitions = {table.__name__: _object(table, documentation) for table in _inner_tables(ManifestTables, set())}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Toolmason manifest",
        **root,
        "definitions": dict(sorted(definitions.items())),
    }


def docstrings() -> dict[str, str]:
    """Return the docstrings of all tables and their keys, those of kinds included."""
    own = [extension.__module__ for added in extensions().values() for extension in added]
    modules = [tables, *(sys.modules[name] for name in dict.fromkeys(own))]
    return {name: text for module in modules for name, text in class_docstrings(inspect.getsource(module)).items()}


def class_docstrings(source: str) -> dict[str, str]:
    """Collect the docstrings of classes (`ToolTable`) and of their attributes (`ToolTable.summary`)."""
    docstrings: dict[str, str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            docstrings[node.name] = ast.get_docstring(node) or ""
            docstrings |= _attribute_docstrings(node)
    return docstrings


def _attribute_docstrings(node: ast.ClassDef) -> dict[str, str]:
    """Collect the strings below the fields of a class."""
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
    keys = all_keys_of(table, extensions().get(table, ()))
    required = [key for key, (_, field) in keys.items() if is_required(field)]
    properties = {
        key: {
            "description": field.metadata.get("text") or _field_docstring(owner, field.name, documentation),
            **_property(field, _type_hints(owner)[field.name]),  # type: ignore[arg-type]  # a class is hashable
            **_key_rules(owner, field.name),
        }
        for key, (owner, field) in keys.items()
    }
    schema: dict[str, Any] = {"description": documentation[table.__name__], "type": "object", "properties": properties}
    schema |= {"required": required} if required else {}
    schema |= _tool_rules() if table is ToolTable else _RULES.get(table, {})
    for kind in kinds().values() if table is not ToolTable else ():
        schema |= dict(kind.editor_rules.get(table, {}))
    return schema | {"additionalProperties": False}


def _field_docstring(table: type[Table], name: str, documentation: Mapping[str, str]) -> str:
    """Return the docstring of a field, which may be in a base class of `table`."""
    names = (f"{base.__name__}.{name}" for base in table.__mro__)
    return next(documentation[key] for key in names if key in documentation)


def _key_rules(table: type[Table], name: str) -> dict[str, Any]:
    """Return the rules of later stages for a key."""
    keys = [(base, name) for base in table.__mro__]
    rules: dict[str, Any] = {}
    if (ToolTable, "input_schema") in keys:
        rules["type"] = ["object", "string"]
    if (ToolTable, "risk") in keys:
        rules["anyOf"] = [_RISK, _tables_of(_tables_of(_RISK)) | {"minProperties": 1}]
    if (ToolTable, "params") in keys:
        rules["additionalProperties"] = {"anyOf": [{"type": "string"}, _type(ParamTable)]}
    for kind in kinds().values():
        rules |= next((kind.editor_key_rules[key] for key in keys if key in kind.editor_key_rules), {})
        if kind.section and (kind.manifest_keys, kind.section.name) in keys:
            rules["propertyNames"] = {"pattern": whole(_GROUP_NAME)}
    for key in keys:
        if key in _PATTERNS:
            rules["pattern"] = whole(_PATTERNS[key])
        if key in _NAMES:
            rules["propertyNames"] = {"pattern": whole(_NAMES[key])}
    return rules


def _tables_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": dict(schema)}


def _property(field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
    schema = _type(hint)
    if "$ref" in schema:
        schema = {"allOf": [schema]}  # draft-07 ignores siblings of `$ref`, including the description
    if hint is str and is_required(field):
        schema["minLength"] = 1
    rules = field.metadata
    names = {"max_length": "maxLength", "minimum": "minimum"}
    schema |= {names[rule]: rules[rule] for rule in names if rule in rules}
    schema |= {"minItems": 1} if "not_empty" in rules else {}
    pattern = rules.get("pattern", _ONE_LINE if "one_line" in rules else "")
    schema |= {"pattern": whole(pattern)} if pattern else {}
    if isinstance(field.default, str | bool | int) and field.default != "":
        schema["default"] = field.default
    return schema


def _type(hint: Any) -> dict[str, Any]:
    """Return the schema of a type that the table reader supports."""
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
        rest = [argument for argument in arguments if argument is not types.NoneType]
        return {"type": "number"} if set(rest) == {int, float} else _type(rest[0])
    return {}  # any JSON value


@cache
def _type_hints(table: type) -> dict[str, Any]:
    """Return the types of the keys of `table`. Python evaluates each of them anew in every call of `get_type_hints`."""
    return get_type_hints(table)


def _inner_tables(hint: Any, seen: set[type[Table]]) -> Iterator[type[Table]]:
    """Yield each table class nested in `hint` once."""
    if isinstance(hint, type) and issubclass(hint, Table):
        for owner, field in all_keys_of(hint, extensions().get(hint, ())).values():
            yield from _inner_tables(_type_hints(owner)[field.name], seen)  # type: ignore[arg-type]  # a class is hashable
        if hint is not ManifestTables and hint not in seen:
            seen.add(hint)
            yield hint
        return
    for argument in get_args(hint):
        yield from _inner_tables(argument, seen)
