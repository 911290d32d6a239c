"""Resolution of `$ref` inside one schema.

Nothing is fetched (MCP 2026-07-28 forbids it for network references). Callers limit recursion themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urljoin

from toolmason.schema.findings import json_pointer, pointer_parts
from toolmason.schema.keywords import (
    NO_EFFECT,
    SCHEMA_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    is_small,
    json_text,
)
from toolmason.schema.walk import walk

_MAX_RULE_CHARS: Final = 20_000
"""Maximum characters of a dereferenced rule."""
MAX_DEREFERENCED_SCHEMAS: Final = 20_000
"""Maximum schemas that all rules together refer to; beyond, rules are not dereferenced."""
_MAX_SCHEMAS_PER_RULE: Final = 2_000
"""Maximum schemas in and referred to by one rule, each counted once."""
_ELLIPSIS: Final = "..."
_REFERENCE_KEYWORDS: Final = ("$ref", "$dynamicRef")
_OMITTED: Final = NO_EFFECT.union(_REFERENCE_KEYWORDS)
"""Keywords that are omitted from dereferenced schemas."""
_MAX_INDEX_DIGITS: Final = 6
"""Maximum digits of an array index in a pointer."""


class UnresolvedReferenceError(LookupError):
    """The reference has no target in this schema. `pattern` is that of the finding."""

    def __init__(self, pattern: str, message: str) -> None:
        super().__init__(message)
        self.pattern = pattern


class References:
    """The references of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._by_anchor: dict[str, tuple[Any, str]] | None = None
        self._documents: set[str] = set()
        self._properties: frozenset[str] | None = None
        self._cache: dict[tuple[str, bool], Any] = {}
        self._remaining = MAX_DEREFERENCED_SCHEMAS

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit of all rules together may have omitted a rule."""
        return self._remaining < _MAX_SCHEMAS_PER_RULE

    def target(self, ref: str, pointer: str = "") -> tuple[Any, str]:
        """Return the schema that `ref` refers to, and its JSON Pointer.

        `pointer` is the JSON Pointer of the schema that contains `ref`. It may be in an embedded document, a
        subschema with its own `$id`.

        Raises:
            UnresolvedReferenceError: `ref` has no target in this schema.
        """
        base = self._root.get("$id", "") if isinstance(self._root, dict) else ""
        if isinstance(base, str) and base and ref.startswith(f"{base.rstrip('#')}#"):
            ref, pointer = ref[len(base.rstrip("#")) :], ""
        document, _, fragment = ref.partition("#")
        if ref.startswith("#") and (ref == "#" or ref[1:2] == "/"):
            # Not every author knows that a reference inside an embedded document is relative to it.
            around = self._document_around(pointer) if pointer else ""
            found = (self._in_document(around, fragment) if around else None) or self._in_document("", fragment)
            if found is not None:
                return found
        elif fragment.startswith("/") and (named := self._by_name(document)) is not None:
            if (found := self._in_document(named[1], fragment)) is not None:
                return found
        elif (named := self._by_name(ref)) is not None:
            return named
        elif not ref.startswith("#"):
            raise UnresolvedReferenceError("network-$ref", f"`{ref}` refers to another document, which is not fetched")
        raise UnresolvedReferenceError("dangling-$ref", f"`{ref}` does not resolve to a schema")

    def property_names(self) -> frozenset[str]:
        """Return every property name in the schema."""
        if self._properties is None:
            declared = (schema.get("properties") for schema, _ in walk(self._root))
            self._properties = frozenset(
                name for properties in declared if isinstance(properties, dict) for name in properties
            )
        return self._properties

    def dereference(self, rule: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a copy of keywords of the schema, with references resolved.

        Returns None for an unresolved or recursive reference, or a rule that is too large.
        """
        resolved = self._resolve_all(dict(rule), truncates=False)
        text = json_text(resolved) if is_small(resolved) else ""
        return json.loads(text) if resolved and text and len(text) <= _MAX_RULE_CHARS else None

    def dereference_for_text(self, schema: Any) -> Any:
        """Return `schema` with references resolved and recursive parts replaced by `...`; None if it is too large."""
        resolved = self._resolve_all(schema, truncates=True)
        return None if resolved == _ELLIPSIS else resolved

    def _resolve_all(self, schema: Any, *, truncates: bool) -> Any:
        """Return `schema` with references resolved, or None. Equal schemas share the result."""
        text = json_text(schema) if is_small(schema) else ""
        if not any(keyword in text for keyword in _REFERENCE_KEYWORDS):
            return schema
        key = (text, truncates)
        if key not in self._cache:
            try:
                self._cache[key] = self._inline(schema, truncates=truncates)
            except (LookupError, RecursionError, TypeError, ValueError):
                self._cache[key] = None
        return self._cache[key]

    def _inline(self, schema: Any, *, truncates: bool) -> Any:
        inliner = _Inliner(self, max_schemas=min(_MAX_SCHEMAS_PER_RULE, self._remaining), truncates=truncates)
        try:
            copied = inliner.copy(schema)
        finally:
            self._remaining -= inliner.count
        return copied if inliner.has_references else schema

    def _at(self, parts: tuple[str, ...]) -> Any:
        value: Any = self._root
        for part in parts:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdecimal() and len(part) <= _MAX_INDEX_DIGITS:
                value = value[int(part)] if int(part) < len(value) else None
            else:
                return None
        return value

    def _document_around(self, pointer: str) -> str:
        """Return the JSON Pointer of the nearest embedded document that contains the schema at `pointer`, or ""."""
        self._names()
        while pointer and pointer not in self._documents:
            pointer = pointer.rpartition("/")[0]
        return pointer

    def _in_document(self, pointer: str, fragment: str) -> tuple[Any, str] | None:
        """Return the schema at `fragment` of the document at `pointer`, and its JSON Pointer; None if there is none."""
        parts = (*pointer_parts(pointer), *pointer_parts(unquote(fragment)))
        schema = self._at(parts)
        return (schema, json_pointer(parts)) if isinstance(schema, dict | bool) else None

    def _names(self) -> dict[str, tuple[Any, str]]:
        """Return the schemas with an anchor or `$id`, and their JSON Pointers."""
        if self._by_anchor is None:
            self._by_anchor = {}
            base = self._root.get("$id", "") if isinstance(self._root, dict) else ""
            base = base if isinstance(base, str) else ""
            for schema, parts in walk(self._root):
                for keyword, mark in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""), ("id", "")):
                    name = schema.get(keyword)
                    if isinstance(name, str) and name:
                        self._by_anchor.setdefault(mark + name, (schema, json_pointer(parts)))
                        if not mark and not name.startswith("#"):
                            self._documents.add(json_pointer(parts))
                            self._by_anchor.setdefault(_absolute(base, name), (schema, json_pointer(parts)))
        return self._by_anchor

    def _by_name(self, ref: str) -> tuple[Any, str] | None:
        names = self._names()
        document, _, anchor = ref.partition("#")
        in_document = names.get(f"#{anchor}") if anchor and document in names else None
        return names.get(ref) or names.get(unquote(ref)) or in_document


def _absolute(base: str, name: str) -> str:
    try:
        return urljoin(base, name)
    except ValueError:  # not a URI, such as "http://["
        return name


class _Inliner:
    """Copies schemas with their references resolved. A target that occurs several times is copied once.

    `truncates` replaces recursive schemas and unresolved references by `...`.

    Raises:
        LookupError: such a reference without `truncates`, or more than `max_schemas` schemas.
    """

    def __init__(self, references: References, *, max_schemas: int, truncates: bool) -> None:
        self.count = 0
        self.has_references = False
        self._references = references
        self._max_schemas = max_schemas
        self._truncates = truncates
        self._copies: dict[int, Any] = {}
        self._active: set[int] = set()

    def copy(self, schema: Any) -> Any:
        """Copy a schema, or a list of schemas."""
        if isinstance(schema, list):
            return [self.copy(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        self.count += 1
        if self.count > self._max_schemas:
            raise LookupError("the rule is too large")
        siblings = {key: self._copy_value(key, value) for key, value in schema.items() if key not in _OMITTED}
        refs = [schema[keyword] for keyword in _REFERENCE_KEYWORDS if isinstance(schema.get(keyword), str)]
        targets = [self._copy_target(ref) for ref in refs]
        if not targets or (len(targets) == 1 and not siblings):
            return targets[0] if targets else siblings
        return siblings | {"allOf": [*targets, *siblings.get("allOf", ())]}

    def _copy_value(self, keyword: str, value: Any) -> Any:
        if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            return {name: self.copy(part) for name, part in value.items()}
        return self.copy(value) if keyword in SCHEMA_LIST_KEYWORDS or keyword in SCHEMA_KEYWORDS else value

    def _copy_target(self, ref: str) -> Any:
        self.has_references = True
        try:
            target, _ = self._references.target(ref)
        except UnresolvedReferenceError:
            return self._cut(f"`{ref}` does not resolve")
        if id(target) in self._active:
            return self._cut(f"`{ref}` refers to itself")
        if id(target) not in self._copies:
            self._active.add(id(target))
            self._copies[id(target)] = self.copy(target)
            self._active.remove(id(target))
        return self._copies[id(target)]

    def _cut(self, message: str) -> str:
        if not self._truncates:
            raise LookupError(message)
        return _ELLIPSIS
