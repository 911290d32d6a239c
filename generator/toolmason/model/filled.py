"""A server whose texts have the names of tools in place of the placeholders, for the templates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.placeholders import Placeholders, placeholders_of

from toolmason.model.server import Server

T = TypeVar("T")

_SCALARS: Final = frozenset({bool, float, int, str})
_TEXTS: Final = frozenset(
    {"call_hint", "description", "instructions", "notes", "prompt", "summary", "template", "text", "title"}
)
"""Fields with text of the manifest."""
_SCHEMAS: Final = frozenset({"complete_schema", "input_schema", "output_schema", "schema"})
_SKIPPED: Final = frozenset(
    {"allow", "at", "claude_tools", "constraints", "default", "examples", "files", "groups", "implementation"}
    | {"name", "outputs", "pins", "plugin_tools", "postings"}
)
"""Fields without such text, or with data."""


def filled(server: Server) -> Server:
    """Return `server` with filled texts; its `unfilled` is `server`, from which files for running servers are made."""
    placeholders = names_in(server)
    # Objects are equal in several places: types of categories, of tools and of the server.
    done: dict[int, Any] = {}
    return dataclasses.replace(_filled(server, placeholders, done), unfilled=server)


def names_in(server: Server) -> Placeholders:
    """Return the bare names of tools in the style of the manifest."""
    discovery = server.discovery
    tools = {
        tool.name: {"aliases": tool.table.aliases, "tool": {"annotations": {"readOnlyHint": tool.hints.read_only}}}
        for tool in server.tools
    }
    facts = {"style": discovery.style, "prefix": server.prefix, "split_calls": discovery.split_calls}
    lists = {"pinned": discovery.pinned, "pins": server.pins}
    return placeholders_of(cast("Catalogue", {"discovery": {**facts, **lists}, "tools": tools}))


def _filled(value: T, placeholders: Placeholders, done: dict[int, Any]) -> T:
    if value is None or isinstance(value, str | int | float):
        return value
    if id(value) not in done:
        done[id(value)] = _fill(value, placeholders, done)
    return cast("T", done[id(value)])


def _fill(value: Any, placeholders: Placeholders, done: dict[int, Any]) -> Any:
    if type(value) in {tuple, list}:
        if _SCALARS.issuperset(map(type, value)):
            return value
        items = [_filled(item, placeholders, done) for item in value]
        return value if all(map(_is_same, items, value)) else type(value)(items)
    if isinstance(value, dict | Mapping):  # a dictionary is the quicker test
        if _SCALARS.issuperset(map(type, value.values())):
            return value
        filled = {key: _filled(part, placeholders, done) for key, part in value.items()}
        return value if all(map(_is_same, filled.values(), value.values())) else filled
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for name in _names(type(value)):
        part = getattr(value, name)
        # Most fields have nothing to fill, and looking at each of them costs more than the rest.
        if not part or (type(part) in _SCALARS and not (name in _TEXTS and "{" in str(part))):
            continue
        new = _filled_field(name, part, placeholders, done)
        if new is not part:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


@cache
def _names(owner: type) -> tuple[str, ...]:
    """Return the fields of a class that may have text."""
    return tuple(field.name for field in dataclasses.fields(owner) if field.init and field.name not in _SKIPPED)


def _filled_field(name: str, value: Any, placeholders: Placeholders, done: dict[int, Any]) -> Any:
    if name in _SCHEMAS and isinstance(value, Mapping):
        if id(value) not in done:
            filled = placeholders.fill_schema(value) if _has_brace(value) else value
            done[id(value)] = value if filled == value else filled
        return done[id(value)]
    if name in _TEXTS and isinstance(value, str):
        return placeholders.fill(value)
    if name == "notes":
        return tuple(filter(None, map(placeholders.fill, value)))
    return _filled(value, placeholders, done)


def _has_brace(value: Any) -> bool:
    """Return whether a text in an object or array may have a placeholder."""
    for part in value.values() if isinstance(value, Mapping) else value:
        if isinstance(part, str):
            if "{" in part:
                return True
        elif isinstance(part, dict | list) and _has_brace(part):
            return True
    return False


def _is_same(one: Any, other: Any) -> bool:
    return one is other
