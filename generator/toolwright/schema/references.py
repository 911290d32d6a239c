"""References of a schema, all of which must lead into the schema itself.

Nothing is ever fetched (MCP 2026-07-28 forbids it for network references), and nothing is unrolled here: whoever
reads along a reference keeps count.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from toolwright.schema.finding import json_pointer, pointer_parts
from toolwright.schema.keywords import MANY_SCHEMAS, NAMED_SCHEMAS, ONE_SCHEMA, is_small

MOST_INDEXED: Final = 50_000
"""Schemas looked through for anchors."""
_LONGEST_RULE: Final = 20_000
"""Characters of a rule whose references are written out."""
_RULE: Final = "\x00rule"
_LONGEST_PLACE: Final = 6
"""Digits of a place in an array that a pointer may name."""


class UnfollowableError(LookupError):
    """A reference leads nowhere, or out of the schema. `pattern` says which."""

    def __init__(self, pattern: str, message: str) -> None:
        super().__init__(message)
        self.pattern = pattern


class References:
    """Follows the references of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._names: dict[str, tuple[Any, str]] | None = None
        self._properties: frozenset[str] | None = None

    def target(self, address: str) -> tuple[Any, str]:
        """Give the schema that `address` leads to, and its JSON Pointer.

        Raises:
            UnfollowableError: there is none.
        """
        base = self._root.get("$id", "") if isinstance(self._root, dict) else ""
        if isinstance(base, str) and base and address.startswith(f"{base.rstrip('#')}#"):
            address = address[len(base.rstrip("#")) :]
        if address.startswith("#") and (address == "#" or address[1:2] == "/"):
            parts = pointer_parts(unquote(address[1:]))
            found = self._at(parts)
            if isinstance(found, dict | bool):
                return found, json_pointer(parts)
        elif (named := self._named(address)) is not None:
            return named
        elif not address.startswith("#"):
            raise UnfollowableError("network-$ref", f"`{address}` is another document, which nobody fetches")
        raise UnfollowableError("dangling-$ref", f"`{address}` leads nowhere")

    def property_names(self) -> frozenset[str]:
        """Give every name that a `properties` of the schema declares."""
        if self._properties is None:
            declared = (schema.get("properties") for schema, _ in schemas(self._root))
            self._properties = frozenset(name for each in declared if isinstance(each, dict) for name in each)
        return self._properties

    def written_out(self, rule: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give a copy of keywords of the schema with their references written out.

        None where jsonref would not do that rightly: a reference that is no path into the schema, something beside
        it, a schema that holds itself, or more than a rule should hold.
        """
        if not is_small(dict(rule)):
            return None
        try:
            text = json.dumps(rule)
            if '"$ref"' not in text:
                return dict(copy.deepcopy(rule))
            whole = {**self._root, _RULE: dict(rule)}
            found: dict[str, Any] = _dereferenced(whole)[_RULE]
            if not is_small(found):
                return None
            written = json.dumps(found)
        except (LookupError, RecursionError, TypeError, ValueError):
            return None
        plain = len(written) <= _LONGEST_RULE and '"$ref"' not in written
        return json.loads(written) if plain and _are_plain(_RULE, rule) else None

    def _at(self, parts: tuple[str, ...]) -> Any:
        value: Any = self._root
        for part in parts:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdecimal() and len(part) <= _LONGEST_PLACE:
                value = value[int(part)] if int(part) < len(value) else None
            else:
                return None
        return value

    def _named(self, address: str) -> tuple[Any, str] | None:
        if self._names is None:
            self._names = {}
            for schema, pointer in schemas(self._root):
                for keyword, mark in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""), ("id", "")):
                    name = schema.get(keyword)
                    if isinstance(name, str) and name:
                        self._names.setdefault(mark + name, (schema, pointer))
        return self._names.get(address) or self._names.get(unquote(address))


def _are_plain(keyword: str, value: Any) -> bool:
    """Whether each reference stands alone and is a path: what stands beside one, jsonref would drop."""
    del keyword
    if isinstance(value, dict):
        address = value.get("$ref")
        if isinstance(address, str) and (len(value) > 1 or not address.startswith("#/")):
            return False
        return all(_are_plain(name, each) for name, each in value.items())
    return all(_are_plain("", each) for each in value) if isinstance(value, list) else True


def _dereferenced(whole: dict[str, Any]) -> dict[str, Any]:
    import jsonref  # it imports requests where that is installed

    try:
        found: dict[str, Any] = jsonref.replace_refs(whole, proxies=False, lazy_load=False, loader=_nothing_else)
    except jsonref.JsonRefError as error:
        raise LookupError(str(error)) from None
    return found


def _nothing_else(uri: str, **_: Any) -> Any:
    raise LookupError(uri)


def schemas(root: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Give the schemas inside `root` that are objects, with their JSON Pointers; each object once."""
    waiting: list[tuple[Any, str]] = [(root, "")]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_INDEXED:
        schema, pointer = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema, pointer
        for keyword, value in schema.items():
            waiting += _inside(keyword, value, pointer)


def _inside(keyword: str, value: Any, pointer: str) -> Iterator[tuple[Any, str]]:
    if keyword in NAMED_SCHEMAS and isinstance(value, dict):
        yield from ((each, pointer + json_pointer((keyword, name))) for name, each in value.items())
    elif keyword in MANY_SCHEMAS and isinstance(value, list):
        yield from ((each, pointer + json_pointer((keyword, place))) for place, each in enumerate(value))
    elif keyword in ONE_SCHEMA:
        yield value, pointer + json_pointer((keyword,))
