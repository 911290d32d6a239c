"""References of a schema, all of which must lead into the schema itself.

Nothing is ever fetched (MCP 2026-07-28 forbids it for network references), and nothing is unrolled here: whoever
reads along a reference keeps count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from toolmason.schema.findings import json_pointer, pointer_parts
from toolmason.schema.keywords import MANY_SCHEMAS, NAMED_SCHEMAS, ONE_SCHEMA, SILENT, is_small, json_text

MAX_INDEXED: Final = 50_000
"""Schemas looked through for anchors."""
_MAX_RULE_LENGTH: Final = 20_000
"""Characters of a rule whose references are written out."""
MAX_DEREFERENCED_SCHEMAS: Final = 20_000
"""Schemas that all rules together lead to; beyond, rules are not written out."""
_MAX_OF_ONE: Final = 2_000
"""Schemas that a rule holds or leads to, each counted once."""
_RULE: Final = "rule"
_GATHERED: Final = "definitions"
_CUT: Final = "..."
_REFERRING: Final = ("$ref", "$dynamicRef")
_DONE: Final = SILENT.union(_REFERRING)
"""Keywords of which nothing is left once references are written out."""
_MAX_PLACE_LENGTH: Final = 6
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
        self._written: dict[tuple[str, bool], Any] = {}
        self._left = MAX_DEREFERENCED_SCHEMAS

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

        None where that cannot be said whole: a reference that leads nowhere or back to itself, a value that looks
        like one, or more than a rule should hold.
        """
        found = self._whole(dict(rule), cuts=False)
        text = json_text(found) if is_small(found) else ""
        return json.loads(text) if found and text and len(text) <= _MAX_RULE_LENGTH else None

    def quotable(self, schema: Any) -> Any:
        """Give a schema with its references written out, and `...` for parts of which there is no end.

        None where nothing is left, or too much.
        """
        found = self._whole(schema, cuts=True)
        return None if found == _CUT else found

    def _whole(self, schema: Any, *, cuts: bool) -> Any:
        """Give a schema with its references written out; None where that cannot be done. Equal ones share it."""
        text = json_text(schema) if is_small(schema) else ""
        if not any(keyword in text for keyword in _REFERRING):
            return schema
        key = (text, cuts)
        if key not in self._written:
            try:
                self._written[key] = self._dereferenced(schema, cuts=cuts)
            except (LookupError, RecursionError, TypeError, ValueError):
                self._written[key] = None
        return self._written[key]

    def _dereferenced(self, schema: Any, *, cuts: bool) -> Any:
        gathered = _Gathered(self, most=min(_MAX_OF_ONE, self._left), cuts=cuts)
        try:
            plain = gathered.schema(schema)
        finally:
            self._left -= gathered.count
        if not gathered.refers:
            return schema
        if gathered.holds_data:
            raise LookupError("jsonref takes a value for a reference")
        return _dereferenced({_RULE: plain, _GATHERED: gathered.definitions})[_RULE]

    def _at(self, parts: tuple[str, ...]) -> Any:
        value: Any = self._root
        for part in parts:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdecimal() and len(part) <= _MAX_PLACE_LENGTH:
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


class _Gathered:
    """What a schema leads to, with references that jsonref follows rightly: each stands alone and is a path.

    Of a schema that holds itself, and of a reference that leads nowhere, `cuts` leaves `...`.

    Raises:
        LookupError: there is such a schema, or more than a rule should hold.
    """

    def __init__(self, references: References, *, most: int, cuts: bool) -> None:
        self.definitions: dict[str, Any] = {}
        self.refers = False
        self.holds_data = False
        self._references = references
        self._cuts = cuts
        self._names: dict[int, str] = {}
        self.count = 0
        self._most = most

    def schema(self, schema: Any) -> Any:
        """Copy a schema, or a list of them; what it refers to is kept in `definitions`."""
        if isinstance(schema, list):
            return [self.schema(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        self.count += 1
        if self.count > self._most:
            raise LookupError("more than a rule should hold")
        addresses = [schema[keyword] for keyword in _REFERRING if isinstance(schema.get(keyword), str)]
        found = {keyword: self._inside(keyword, value) for keyword, value in schema.items() if keyword not in _DONE}
        referred = [self._referred(address) for address in addresses]
        if not referred or (len(referred) == 1 and not found):
            return referred[0] if referred else found
        return found | {"allOf": [*referred, *found.get("allOf", ())]}

    def _inside(self, keyword: str, value: Any) -> Any:
        if keyword in NAMED_SCHEMAS and isinstance(value, dict):
            return {name: self.schema(each) for name, each in value.items()}
        if keyword in MANY_SCHEMAS or keyword in ONE_SCHEMA:
            return self.schema(value)
        self.holds_data = self.holds_data or not is_small(value) or _looks_referring(value)
        return value

    def _referred(self, address: str) -> Any:
        self.refers = True
        try:
            return {"$ref": f"#/{_GATHERED}/{self._definition(address)}"}
        except UnfollowableError:
            if not self._cuts:
                raise
            return _CUT

    def _definition(self, address: str) -> str:
        target, _ = self._references.target(address)
        name = self._names.get(id(target))
        if name is None:
            name = self._names[id(target)] = str(len(self._names))
            self.definitions[name] = self.schema(target)
        elif name not in self.definitions:
            raise UnfollowableError("$ref", f"`{address}` leads back to itself")
        return name


def _looks_referring(value: Any) -> bool:
    """Whether data holds what jsonref would follow."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if isinstance(each.get("$ref"), str):
                return True
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return False


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
    while waiting and len(seen) < MAX_INDEXED:
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
