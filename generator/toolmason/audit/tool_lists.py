"""Tools as servers list them and as providers take them: where each keeps its schema.

Known are a bare list, `{tools: [...]}`, a JSON-RPC response, OpenAI's `{type: function}` in both its forms, Anthropic's
`input_schema`, Gemini's `functionDeclarations`, and a schema alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.toml.problems import quoted

from toolmason.schema import json_pointer

_SCHEMA_KEYS: Final = ("inputSchema", "input_schema", "parametersJsonSchema", "parameters_json_schema", "parameters")
"""Where a declaration keeps its schema. Gemini takes either of two; `parameters` is OpenAI's key too."""
_GEMINI_LISTS: Final = ("functionDeclarations", "function_declarations")
_KEYWORDS: Final = frozenset(
    {
        "$defs",
        "$ref",
        "$schema",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "dependentRequired",
        "dependentSchemas",
        "enum",
        "if",
        "items",
        "maxProperties",
        "minProperties",
        "not",
        "oneOf",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
        "type",
        "unevaluatedProperties",
    }
)
"""A table with one of these at its root is taken for a schema."""
_MAX_ENTRIES: Final = 10_000


class NotToolsError(ValueError):
    """A value is no list of tools and no schema. `pointer` leads to what is wrong."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as somebody declared it.

    `schema` is what stands where its schema belongs, None if nothing does; `pointer` leads to it, or to the tool, in
    the document. `declaration` is everything said about the tool, and `is_mcp` whether as MCP has it. `original` is
    the schema that `schema` was made from, where that is known.
    """

    name: str
    schema: Any
    pointer: str = ""
    declaration: Mapping[str, Any]
    is_mcp: bool = False
    original: Any = None

    @property
    def source_schema(self) -> Any:
        """What its author meant: the original, else what was declared."""
        return self.schema if self.original is None else self.original


@dataclass(frozen=True, slots=True)
class Declared:
    """The tools of one document, and what in it is none of ours to judge."""

    tools: tuple[ListedTool, ...]
    notes: tuple[str, ...] = ()


_Parts = tuple[str | int, ...]


def declared(data: Any, name: str) -> Declared:
    """Find the tools in `data`. A schema alone is a tool called `name`.

    Raises:
        NotToolsError: there are none to be found.
    """
    if isinstance(data, dict) and (found := _answer(data)) is not None:
        return declared_list(*found)
    if isinstance(data, list):
        return declared_list(data, ())
    if isinstance(data, dict):
        if _is_declaration(data):
            return declared_list([data], (), is_list=False)
        if not data.keys().isdisjoint(_KEYWORDS):
            return Declared((ListedTool(name=name, schema=data, declaration={"name": name}),))
    raise NotToolsError("this is neither a list of tools nor a JSON Schema")


def _answer(data: Mapping[str, Any]) -> tuple[list[Any], _Parts] | None:
    """Give the list in an answer to `tools/list`, with or without its JSON-RPC envelope, and the way to it."""
    if isinstance(data.get("tools"), list):
        return data["tools"], ("tools",)
    result = data.get("result")
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        return result["tools"], ("result", "tools")
    if "jsonrpc" in data and isinstance(error := data.get("error"), dict):
        said = quoted(str(error.get("message", "")))
        raise NotToolsError(f"this is the answer of a server that failed: {said}", "/error")
    return None


def _is_declaration(data: Mapping[str, Any]) -> bool:
    if isinstance(data.get("function"), dict) or any(isinstance(data.get(key), list) for key in _GEMINI_LISTS):
        return True
    return isinstance(data.get("name"), str) and any(key in data for key in _SCHEMA_KEYS)


def declared_list(entries: list[Any], way: _Parts, *, is_list: bool = True) -> Declared:
    """Find the tools in a list that `way` leads to in its document.

    Raises:
        NotToolsError: an entry is no tool, or there are too many.
    """
    if len(entries) > _MAX_ENTRIES:
        raise NotToolsError(f"more than {_MAX_ENTRIES:,} tools", json_pointer(way))
    tools: list[ListedTool] = []
    notes: list[str] = []
    for index, entry in enumerate(entries):
        here = (*way, index) if is_list else way
        if not isinstance(entry, dict):
            raise NotToolsError(f"entry {index + 1} is no tool: it is no object", json_pointer(here))
        found = list(_of_entry(entry, here))
        if not found and not _is_builtin(entry):
            raise NotToolsError(f"entry {index + 1} is no tool: it has no `name`", json_pointer(here))
        if not found:
            notes.append(f"left out: {quoted(_builtin_name(entry))}, a tool that the provider itself brings")
        tools += found
    return Declared(tuple(tools), tuple(notes))


def _of_entry(entry: Mapping[str, Any], way: _Parts) -> Iterator[ListedTool]:
    for key in _GEMINI_LISTS:
        if isinstance(entry.get(key), list):
            yield from declared_list(entry[key], (*way, key)).tools
            return
    if isinstance(entry.get("function"), dict):
        entry, way = entry["function"], (*way, "function")
    name = entry.get("name")
    if not isinstance(name, str) or _is_builtin(entry):
        return
    for key in _SCHEMA_KEYS:
        if entry.get(key) is not None:
            pointer = json_pointer((*way, key))
            is_mcp = key == "inputSchema"
            yield ListedTool(name=name, schema=entry[key], pointer=pointer, declaration=entry, is_mcp=is_mcp)
            return
    # Providers let a function without arguments leave its schema out.
    is_mcp = entry.get("type") != "function" and "function" not in way and not _is_gemini(way)
    yield ListedTool(name=name, schema=None, pointer=json_pointer(way), declaration=entry, is_mcp=is_mcp)


def _is_gemini(way: _Parts) -> bool:
    return not set(_GEMINI_LISTS).isdisjoint(way)


def _is_builtin(entry: Mapping[str, Any]) -> bool:
    """Whether this is one of the provider's own: `{googleSearch: {}}`, `{type: web_search_20250305, name: ...}`."""
    if any(key in entry for key in _SCHEMA_KEYS) or "function" in entry:
        return False
    kind = entry.get("type")
    alone = [isinstance(each, dict) for each in entry.values()] == [True]
    return alone or (isinstance(kind, str) and kind not in {"function", "custom"})


def _builtin_name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("name") or entry.get("type") or next(iter(entry)))
