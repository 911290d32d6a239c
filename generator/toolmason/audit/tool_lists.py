"""Parse tool lists of MCP servers and providers.

Supported are a plain list, `{tools: [...]}`, a JSON-RPC response, OpenAI's `{type: function}` in both forms,
Anthropic's `input_schema`, Gemini's `functionDeclarations`, and a single schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.schema import Target, json_pointer

MAX_TOOLS: Final = 10_000
_SCHEMA_KEYS: Final = {
    "inputSchema": Target.MCP,
    "input_schema": Target.ANTHROPIC,
    "parametersJsonSchema": Target.GEMINI_JSON,
    "parameters_json_schema": Target.GEMINI_JSON,
    "parameters": Target.GEMINI_PARAMETERS,  # or OpenAI's function, recognized by its type
}
_GEMINI_LISTS: Final = ("functionDeclarations", "function_declarations")
_SCHEMA_KEYWORDS: Final = frozenset(
    {
        *("$defs", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "dependentRequired"),
        *("dependentSchemas", "enum", "if", "items", "maxProperties", "minProperties", "not", "oneOf"),
        *("patternProperties", "properties", "propertyNames", "required", "type", "unevaluatedProperties"),
    }
)
"""An object with one of these keys is a schema."""

_Path = tuple[str | int, ...]


class ToolListError(ValueError):
    """A value is neither a tool list nor a schema. `pointer` leads to the mistake."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """A tool in a list.

    `schema` is the value of a key such as `inputSchema`, None if there is no such key. `pointer` is the JSON Pointer of
    the schema, otherwise of the tool, in the document. `declaration` is the whole entry, in the format of `target`.
    `original` is the author's schema if `schema` was generated from it.
    """

    name: str
    schema: Any
    pointer: str = ""
    declaration: Mapping[str, Any]
    target: Target = Target.MCP
    original: Any = None

    @property
    def is_mcp(self) -> bool:
        """Whether the declaration has MCP's format."""
        return self.target is Target.MCP

    @property
    def source_schema(self) -> Any:
        """The author's schema."""
        return self.schema if self.original is None else self.original


@dataclass(frozen=True, slots=True)
class ParsedToolList:
    """The tools of a document, and notes about skipped entries."""

    tools: tuple[ToolDeclaration, ...]
    notes: tuple[str, ...] = ()


def parse_tools(data: Any, name: str) -> ParsedToolList:
    """Parse the tools in `data`. A single schema becomes a tool called `name`.

    Raises:
        ToolListError: it is neither a tool list nor a schema.
    """
    if isinstance(data, list):
        return parse_tool_list(data)
    if isinstance(data, dict):
        result = data.get("result")
        if isinstance(data.get("tools"), list):
            return parse_tool_list(data["tools"], ("tools",))
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            return parse_tool_list(result["tools"], ("result", "tools"))
        if "jsonrpc" in data and isinstance(error := data.get("error"), dict):
            raise ToolListError(f"this is an error response: {quoted(str(error.get('message', '')))}", "/error")
        if _is_declaration(data):
            return _parse_entries([((), data)])
        if not data.keys().isdisjoint(_SCHEMA_KEYWORDS):
            return ParsedToolList((ToolDeclaration(name=name, schema=data, declaration={"name": name}),))
    raise ToolListError("this is neither a list of tools nor a JSON Schema")


def parse_tool_list(entries: list[Any], path: _Path = ()) -> ParsedToolList:
    """Parse a list at `path` in its document.

    Raises:
        ToolListError: an entry is not a tool, or there are too many.
    """
    if len(entries) > MAX_TOOLS:
        raise ToolListError(f"more than {MAX_TOOLS:,} tools", json_pointer(path))
    return _parse_entries([((*path, index), entry) for index, entry in enumerate(entries)])


def _parse_entries(entries: list[tuple[_Path, Any]]) -> ParsedToolList:
    tools: list[ToolDeclaration] = []
    notes: list[str] = []
    for number, (path, entry) in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise ToolListError(f"entry {number} must be an object", json_pointer(path))
        parsed = list(_parse_entry(entry, path))
        if not parsed and not _is_builtin(entry):
            raise ToolListError(f"entry {number} has no `name`", json_pointer(path))
        if not parsed:
            name = str(entry.get("name") or entry.get("type") or next(iter(entry)))
            notes.append(f"skipped {quoted(name)}, a built-in tool of the provider")
        tools += parsed
    return ParsedToolList(tuple(tools), tuple(notes))


def _parse_entry(entry: Mapping[str, Any], path: _Path) -> Iterator[ToolDeclaration]:
    for key in _GEMINI_LISTS:
        if isinstance(entry.get(key), list):
            yield from parse_tool_list(entry[key], (*path, key)).tools
            return
    if isinstance(entry.get("function"), dict):
        entry, path = entry["function"], (*path, "function")
    name = entry.get("name")
    if not isinstance(name, str) or _is_builtin(entry):
        return
    schema_key = next((key for key in _SCHEMA_KEYS if entry.get(key) is not None), None)
    pointer = json_pointer((*path, schema_key) if schema_key else path)
    schema = entry[schema_key] if schema_key else None
    target = _target(entry, path, schema_key)
    yield ToolDeclaration(name=name, schema=schema, pointer=pointer, declaration=entry, target=target)


def _target(entry: Mapping[str, Any], path: _Path, schema_key: str | None) -> Target:
    """Return the target whose format a declaration has."""
    if schema_key in {None, "parameters"} and (entry.get("type") == "function" or "function" in path):
        return Target.OPENAI_STRICT if entry.get("strict") is True else Target.OPENAI
    if schema_key is None and not set(_GEMINI_LISTS).isdisjoint(path):
        return Target.GEMINI_PARAMETERS
    return _SCHEMA_KEYS[schema_key or "inputSchema"]


def _is_declaration(data: Mapping[str, Any]) -> bool:
    if isinstance(data.get("function"), dict) or any(isinstance(data.get(key), list) for key in _GEMINI_LISTS):
        return True
    return isinstance(data.get("name"), str) and any(key in data for key in _SCHEMA_KEYS)


def _is_builtin(entry: Mapping[str, Any]) -> bool:
    """Return whether this is a provider's own tool: `{googleSearch: {}}`, `{type: web_search_20250305, name: ...}`."""
    if any(key in entry for key in _SCHEMA_KEYS) or "function" in entry:
        return False
    kind = entry.get("type")
    has_one_object = [isinstance(value, dict) for value in entry.values()] == [True]
    return has_one_object or (isinstance(kind, str) and kind not in {"function", "custom"})
