"""Keys of a tool that no other part of the server uses, and a smaller manifest that resolves a few tools alone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from toolmason.manifest.document import Document

OWN_KEYS: Final = frozenset({"summary", "description", "use_cases", "keywords", "examples"})
"""Keys of a tool that affect only this tool. Names, types and references affect others."""
OWN_PARAM_KEYS: Final = frozenset(
    {"description", "default", "enum", "minimum", "maximum", "min_length", "max_length", "min_items", "max_items"}
)
"""Keys of a parameter whose values affect only its tool."""
_PLAIN_TYPES: Final = frozenset(
    f"{item}{suffix}" for item in ("string", "integer", "number", "boolean") for suffix in ("", "[]")
)
_PLAIN_PARAM_KEYS: Final = OWN_PARAM_KEYS | {"type", "required", "nullable", "unique_items"}
"""Keys of a parameter that refers to no other part of the manifest; its type is one of `_PLAIN_TYPES`."""
_USERS: Final = frozenset({"prompts", "resources", "commands", "workflows", "apps", "files"})
"""Sections that may name tools, but on which no tool depends."""
_MAX_RELATED: Final = 100
"""Maximum number of tools that the edited tools name, directly or through others."""


def frames(document: Document) -> list[list[Any]]:
    """Return the name of each tool, and its table without the parts that affect only this tool.

    If an edit leaves the frames equal, it affects only the edited tools.
    """
    users = json.dumps([document.data.get(section) for section in _USERS])
    return [[name, _frame(tool, is_used=name in users)] for name, tool in document.data["tools"].items()]


def _frame(tool: Any, *, is_used: bool) -> Any:
    if not isinstance(tool, dict):
        return tool
    framed = {key: value for key, value in tool.items() if key not in OWN_KEYS and key != "params"}
    params = tool.get("params", {})
    if not isinstance(params, dict):
        return {**framed, "params": params}
    # Aliases, workflows and prompts use the parameters of a tool; other kinds pass them to a program, API or upstream.
    has_own_params = "handler" in tool and "aliases" not in tool and not is_used
    rest = {name: _framed_param(param) for name, param in params.items() if not (has_own_params and _is_plain(param))}
    return {**framed, "params": rest}


def _is_plain(param: Any) -> bool:
    """Return whether a parameter refers to nothing else, so that adding, removing or renaming it affects one tool."""
    if not isinstance(param, dict) or not isinstance(param.get("type"), str):
        return False
    return param["type"] in _PLAIN_TYPES and param.keys() <= _PLAIN_PARAM_KEYS


def _framed_param(param: Any) -> Any:
    if not isinstance(param, dict):
        return param
    return {key: _type_name(value) if key in OWN_PARAM_KEYS else value for key, value in param.items()}


def _type_name(value: Any) -> str:
    return type(value).__name__


def reduced(document: Document, names: Collection[str]) -> Document | None:
    """Return a manifest with only the tools `names` and those that they name, without the sections that use tools.

    None if they name too many tools, or a text has a brace: a placeholder in it may name any tool.
    """
    tools = document.data["tools"]
    found = {name: tools[name] for name in names}
    pending = list(found)
    while pending:
        for text in _texts(found[pending.pop()]):
            if text in tools and text not in found:
                found[text] = tools[text]
                pending.append(text)
        if len(found) > len(names) + _MAX_RELATED:
            return None
    data = {key: value for key, value in document.data.items() if key not in _USERS}
    data["tools"] = {name: table for name, table in tools.items() if name in found}
    used = {tool.get("category") for tool in found.values() if isinstance(tool, dict)}
    if isinstance(categories := data.get("categories"), dict):
        data["categories"] = {name: table for name, table in categories.items() if name in used}
    if isinstance(discovery := data.get("discovery"), dict):
        data["discovery"] = {key: value for key, value in discovery.items() if key not in {"pinned", "pins"}}
    sections = (value for key, value in data.items() if key not in {"server", "discovery", "outputs"})
    return None if any("{" in text for value in sections for text in _texts(value)) else replace(document, data=data)


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings in a value, other than names and patterns."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key != "pattern":
                yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
