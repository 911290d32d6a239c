"""Types, methods and documentation of a client as TypeScript source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason.model.python_text import escape_unprintable
from toolmason.render.typed_clients.names import Names, wrapped
from toolmason.render.typed_clients.tools import ClientTool, TypedClient
from toolmason.render.typed_clients.types import (
    AliasType,
    Choice,
    Declared,
    Field,
    ListOf,
    MapOf,
    Named,
    Scalar,
    Type,
    Union,
)
from toolmason.schema.keywords import SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS

_SCALARS: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "any": "unknown",
}
_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_TEXTS: Final = frozenset({"$comment", "default", "deprecated", "description", "examples", "title"})
"""Keywords of JSON Schema that check nothing."""
_VERSION: Final = re.compile(r"(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}(?:-[0-9A-Za-z.-]{1,50})?", re.ASCII)
"""A version of npm."""
LINE_LENGTH: Final = 100
"""Maximum characters of a line of a comment."""
_MAX_DEFAULT: Final = 60
"""Characters of a default in a comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberText:
    """A property of an interface, ready to print."""

    key: str
    type: str
    required: bool
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeText:
    """An interface, or the alias of `value` if `fields` is None."""

    name: str
    comment: str
    fields: tuple[MemberText, ...] | None
    value: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodText:
    """A tool as a method, ready to print."""

    name: str
    tool: str
    comment: str
    arguments: str
    needs_arguments: bool
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeScriptClient:
    """What the templates of a TypeScript client print."""

    class_comment: str
    methods: tuple[MethodText, ...]
    params: tuple[TypeText, ...]
    results: tuple[TypeText, ...]
    schemas: Mapping[str, Any]
    """The schema of each structured result."""
    version: str

    @property
    def uses_output(self) -> bool:
        """Whether a tool has no structured result."""
        return any(not method.result for method in self.methods)

    @property
    def uses_results(self) -> bool:
        """Whether a method names a declared result."""
        return any("results." in method.result for method in self.methods)


def typescript_type(found: Type, prefix: str = "") -> str:
    """Return a type; `prefix` is the module of declared types, with a dot."""
    match found:
        case Scalar(kind):
            return _SCALARS[kind]
        case Choice(values):
            return " | ".join(_literal(value) for value in values)
        case ListOf(item):
            text = typescript_type(item, prefix)
            return f"({text})[]" if isinstance(item, Union | Choice) else f"{text}[]"
        case MapOf(value):
            return f"{{ [key: string]: {typescript_type(value, prefix)} }}"
        case Named(name):
            return f"{prefix}{name}"
        case Union(members):
            # `integer | number` is one type here.
            return " | ".join(dict.fromkeys(typescript_type(member, prefix) for member in members))


def typescript_client(client: TypedClient) -> TypeScriptClient:
    """Return what the templates of a TypeScript client print."""
    names = Names(declared.name for declared in client.params)
    methods, arguments = [], []
    for tool in client.tools:
        name = names.take(f"{tool.type_name}Arguments")
        arguments.append(
            TypeText(
                name=name,
                comment=comment([f"Arguments of `{tool.name}`."], ""),
                fields=tuple(_members(tool.parameters)),
                is_open=tool.is_open,
            )
        )
        methods.append(
            MethodText(
                name=tool.typescript_name,
                tool=tool.name,
                comment=comment(_documentation(tool), "  "),
                arguments=name,
                needs_arguments=bool(tool.required),
                result=typescript_type(tool.result, "results.") if tool.result is not None else "",
            )
        )
    example = client.class_name
    about = [
        f"The tools of the MCP server {client.title}.",
        "",
        "```ts",
        f"const client = await {example}.{'stdio()' if client.command or not client.url else 'http()'};",
        "// ...",
        "await client.close();",
        "```",
    ]
    return TypeScriptClient(
        class_comment=comment(about, ""),
        methods=tuple(methods),
        params=(*arguments, *(_declared(each) for each in client.params)),
        results=tuple(_declared(each) for each in client.results),
        schemas={tool.name: check_schema(tool.result_schema) for tool in client.tools if tool.result is not None},
        version=client.version if _VERSION.fullmatch(client.version) else "0.0.0",
    )


def check_schema(schema: Any) -> Any:
    """Return a schema for checks, without the texts for people."""
    if isinstance(schema, list):
        return [check_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
            kept[keyword] = {name: check_schema(part) for name, part in value.items()}
        elif keyword in SCHEMA_KEYWORDS or keyword in SCHEMA_LIST_KEYWORDS:
            kept[keyword] = check_schema(value)
        elif keyword not in _TEXTS:
            kept[keyword] = value
    return kept


def _declared(declared: Declared) -> TypeText:
    text = comment(declared.description.split("\n"), "") if declared.description else ""
    if isinstance(declared, AliasType):
        return TypeText(name=declared.name, comment=text, fields=None, value=typescript_type(declared.type))
    return TypeText(name=declared.name, comment=text, fields=tuple(_members(declared.fields)), is_open=declared.is_open)


def _members(fields: tuple[Field, ...]) -> Iterator[MemberText]:
    for field in fields:
        lines = field.description.split("\n") if field.description else []
        if field.has_default and field.default is not None:
            shown = json.dumps(field.default, ensure_ascii=False, default=str)
            if len(shown) <= _MAX_DEFAULT:
                lines = [*lines, "", f"Default: `{shown}`"] if lines else [f"Default: `{shown}`"]
        key = field.key if _KEY.fullmatch(field.key) else _literal(field.key)
        yield MemberText(
            key=key,
            type=typescript_type(field.type),
            required=field.required,
            comment=comment(lines, "  ") if lines else "",
        )


def _documentation(tool: ClientTool) -> list[str]:
    lines = (tool.description or f"Call the tool \\`{tool.name}\\`.").replace("\r", "").split("\n")
    if tool.deprecated:
        lines += ["", f"@deprecated {' '.join(tool.deprecated.split())}"]
    for example in tool.examples:
        lines += ["", "@example"]
        lines += [f"// {' '.join(example.description.split())}"] if example.description else []
        lines.append(f"await client.{tool.typescript_name}({_arguments(example.arguments)});")
    return lines


def _arguments(arguments: Mapping[str, Any]) -> str:
    if not arguments:
        return ""
    members = (
        f"{key if _KEY.fullmatch(key) else _literal(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in arguments.items()
    )
    return f"{{ {', '.join(members)} }}"


def _literal(value: str | int | bool) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _unprintable(text) if isinstance(value, str) else text


def _unprintable(text: str) -> str:
    return "".join(char if char.isprintable() else "".join(f"\\u{unit:04x}" for unit in _units(char)) for char in text)


def _units(char: str) -> Iterator[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    for start in range(0, len(data), 2):
        yield int.from_bytes(data[start : start + 2], "big")


def comment(lines: list[str], indent: str) -> str:
    """Return a documentation comment. Its end cannot be in the text."""
    lines = [part for line in lines for part in (wrapped(line, LINE_LENGTH) if "await " not in line else [line])]
    safe = [escape_unprintable(line.rstrip(), keep="\t").replace("*/", "*\\/") for line in lines]
    if len(safe) == 1:
        return f"{indent}/** {safe[0]} */"
    body = "\n".join(f"{indent} * {line}".rstrip() for line in safe)
    return f"{indent}/**\n{body}\n{indent} */"
