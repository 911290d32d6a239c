"""The Python types of a tool, for two readers.

Models read a signature in one line: `git_log(path: str, count: int = 10) -> {commits: [{sha: str, date?: str}]}`. In a
result, `{name: type}` is a dict with these keys, `?` marks a key that may be absent, and `[type]` is a list.

A type checker reads a stub, with the results as `TypedDict`. The parameters of a stub are wide: the server converts
forms that models often mix up, and checks the values at the call.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.discovery.results import truncate
from toolmason_runtime.shared.catalogue import ToolEntry

MAX_RESULT_CHARS: Final = 300
"""Characters of the type of a result in a signature; a longer one leaves out its inner members."""
MAX_DEPTH: Final = 5
"""Levels of a type; below them is `Any`."""
MAX_ENUM_VALUES: Final = 12
MAX_TEXT_CHARS: Final = 60
"""Characters of the description of a required parameter."""
MAX_KEYS: Final = 200
"""Keys of one `TypedDict`; a result with more of them is a plain dict."""

_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def parameters_of(entry: ToolEntry) -> list[tuple[str, Any, bool]]:
    """Return name, schema and necessity of each parameter, in the order of positional arguments."""
    schema = entry["tool"]["inputSchema"]
    required = schema.get("required", ())
    members = [(name, part, name in required) for name, part in schema.get("properties", {}).items()]
    return sorted(members, key=lambda member: not member[2])


def result_schema(entry: ToolEntry) -> Mapping[str, Any] | None:
    """Return the schema of the structured result of a tool; None if its result is text."""
    schema = entry.get("result_schema", entry["tool"].get("outputSchema"))
    return schema if isinstance(schema, Mapping) else None


def may_be_json(entry: ToolEntry) -> bool:
    """Return whether the text of a tool is data if it is JSON: that of an API or a server that declares no result."""
    return result_schema(entry) is None and ("api" in entry or "upstream" in entry)


def signature_line(entry: ToolEntry, function: str, *, is_full: bool = False) -> str:
    """Return the signature of a function for models; `is_full` has the members of the result at every depth."""
    root = entry.get("complete_schema", entry["tool"]["inputSchema"])
    parts, others = [], []
    for name, schema, is_required in parameters_of(entry):
        if not _is_keyword_name(name):
            others.append(f"{json.dumps(name, ensure_ascii=False)}: {_shown(schema, root, MAX_DEPTH)}")
            continue
        default = "" if is_required else f" = {_literal(schema)}"
        parts.append(f"{name}: {_shown(schema, root, MAX_DEPTH)}{default}")
    if others:
        parts.append(f"**{{{', '.join(others)}}}")
    return f"{function}({', '.join(parts)}) -> {_result_text(entry, is_full=is_full)}"


def parameter_notes(entry: ToolEntry, *, is_full: bool = False) -> list[str]:
    """Return `name: description` of the required parameters; of all with `is_full`."""
    notes = []
    for name, schema, is_required in parameters_of(entry):
        text = " ".join(str(schema.get("description", "")).split()) if isinstance(schema, Mapping) else ""
        if text and (is_full or (is_required and text.rstrip(".").casefold() != name.replace("_", " ").casefold())):
            notes.append(f"{name}: {text if is_full else truncate(text, MAX_TEXT_CHARS).removesuffix('.')}")
    return notes


def _result_text(entry: ToolEntry, *, is_full: bool) -> str:
    schema = result_schema(entry)
    if schema is None:
        return "Any" if may_be_json(entry) else "str"
    for depth in range(MAX_DEPTH, 0, -1):
        text = _shown(schema, schema, depth, is_result=True)
        if is_full or len(text) <= MAX_RESULT_CHARS:
            return text
    return "dict"


def _shown(schema: Any, root: Mapping[str, Any], depth: int, *, is_result: bool = False) -> str:
    """Return a type in a signature."""
    schema = _resolved(schema, root)
    if schema is None:
        return "Any"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        if len(values) <= MAX_ENUM_VALUES and all(isinstance(value, str | int | bool | None) for value in values):
            return f"Literal[{', '.join(map(_value, values))}]"
        return "str" if all(isinstance(value, str) for value in values) else "Any"
    if (members := _union(schema)) is not None:
        texts = dict.fromkeys(_shown(member, root, depth, is_result=is_result) for member in members)
        return " | ".join(texts) if "Any" not in texts else "Any"
    match schema.get("type"):
        case "array":
            items = _shown(schema.get("items"), root, depth - 1, is_result=is_result) if depth > 1 else "Any"
            return f"[{items}]" if is_result else f"list[{items}]"
        case "object":
            return _shown_object(schema, root, depth, is_result=is_result)
        case str() as kind:
            return _SCALARS.get(kind, "Any")
    return "Any"


def _shown_object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int, *, is_result: bool) -> str:
    properties = schema.get("properties") or {}
    if not properties or depth <= 1:
        values = schema.get("additionalProperties")
        is_map = not properties and isinstance(values, Mapping) and values and depth > 1
        return f"dict[str, {_shown(values, root, depth - 1, is_result=is_result)}]" if is_map else "dict"
    required = schema.get("required", ())
    names = (
        (name if name.isidentifier() else json.dumps(name, ensure_ascii=False)) + ("" if name in required else "?")
        for name in properties
    )
    types = (_shown(part, root, depth - 1, is_result=is_result) for part in properties.values())
    return "{" + ", ".join(f"{name}: {text}" for name, text in zip(names, types, strict=True)) + "}"


def stub(entry: ToolEntry, function: str) -> str:
    """Return the declaration of a function for a type checker, after the classes of its result."""
    schema = result_schema(entry)
    classes: list[str] = []
    result = "Any" if may_be_json(entry) else "str"
    if schema is not None:
        result = _Classes(schema, function, classes).type_of(schema, MAX_DEPTH)
    # An argument may have another of its names, and need not be a keyword of Python.
    is_open = bool(entry.get("argument_aliases"))
    parameters = []
    for name, _, is_required in parameters_of(entry):
        if _is_keyword_name(name):
            parameters.append(f"{name}: Any" if is_required and not is_open else f"{name}: Any = ...")
        else:
            is_open = True
    if is_open:
        parameters.append("**others: Any")
    lines = [*classes, f"async def {function}({', '.join(parameters)}) -> {result}: ..."]
    return "\n".join(lines)


STUB_START: Final = "from typing import Any, NotRequired, TypedDict\n"
"""The beginning of a file of stubs."""


class _Classes:
    """The classes of the result of one function, which `classes` receives."""

    def __init__(self, root: Mapping[str, Any], function: str, classes: list[str]) -> None:
        self._root = root
        self._stem = "".join(word.capitalize() for word in function.split("_")) or "Tool"
        self._classes = classes

    def type_of(self, schema: Any, depth: int) -> str:
        schema = _resolved(schema, self._root)
        # What may be null or has several forms is `Any`: a program that checks the form must not be refused.
        if schema is None or depth <= 0 or _union(schema) is not None:
            return "Any"
        match schema.get("type"):
            case "array":
                return f"list[{self.type_of(schema.get('items'), depth - 1)}]"
            case "object":
                return self._object(schema, depth)
            case "string" | "integer" | "number" | "boolean" as kind:
                return _SCALARS[kind]
        return "Any"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties") or {}
        # Further keys may exist unless the schema excludes them: unknown ones cannot be reported.
        if not properties or len(properties) > MAX_KEYS or schema.get("additionalProperties", False) is not False:
            return "dict[str, Any]"
        required = schema.get("required", ())
        members = []
        for key, part in properties.items():
            kind = self.type_of(part, depth - 1)
            members.append(f"{json.dumps(key)}: {kind if key in required else f'NotRequired[{kind}]'}")
        name = f"{self._stem}Result{len(self._classes) or ''}"
        self._classes.append(f'{name} = TypedDict("{name}", {{{", ".join(members)}}})')
        return name


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a schema without references at its top; None if it says nothing."""
    for _ in range(MAX_DEPTH * 4):
        if not isinstance(schema, Mapping):
            return None
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#/"):
            return None
        target: Any = root
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        schema = target
    return None


def _union(schema: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the members of a union; None for another schema."""
    for keyword_name in ("anyOf", "oneOf"):
        if keyword_name in schema:
            members: Sequence[Any] = schema[keyword_name]
            return members
    if "allOf" in schema:
        return [{}]
    kind = schema.get("type")
    if isinstance(kind, list):
        return [{**schema, "type": each} for each in kind]
    return [{**schema, "nullable": False}, {"type": "null"}] if schema.get("nullable") else None


def _literal(schema: Any) -> str:
    """Return the default of a parameter; `...` without one."""
    if not isinstance(schema, Mapping) or "default" not in schema:
        return "..."
    text = _value(schema["default"])
    return text if len(text) <= MAX_TEXT_CHARS else "..."


def _value(value: Any) -> str:
    """Return a JSON value as Python."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _is_keyword_name(name: str) -> bool:
    """Return whether a name can be that of a keyword argument."""
    return name.isidentifier() and not keyword.iskeyword(name)


def stubs(functions: Mapping[str, ToolEntry]) -> str:
    """Return the declarations of functions by the names that a program uses for them."""
    return STUB_START + "\n".join(_stubs(functions)) + "\n"


def _stubs(functions: Mapping[str, ToolEntry]) -> Iterator[str]:
    for name, entry in sorted(functions.items()):
        yield stub(entry, name)
