"""Walk through a schema and list its constructs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from toolmason.schema.findings import json_pointer
from toolmason.schema.mistakes import is_foreign_object, root_mistake
from toolmason.schema.references import References, UnresolvedReferenceError
from toolmason.schema.scan.cycles import Reference, recursive_references
from toolmason.schema.scan.keyword_checks import KEYWORD_CHECKS, LIMIT_KEYWORDS, check_value
from toolmason.schema.scan.occurrences import Occurrence, quote_value, quote_values
from toolmason.schema.scan.recorder import MAX_DEPTH, Location, Recorder, Schema
from toolmason.schema.scan.values import (
    DATA_KEYWORDS,
    describes_uniqueness,
    is_described,
    is_text,
    strings,
    types_of,
)
from toolmason.schema.walk import subschemas

_DEFINITION_KEYWORDS: Final = frozenset({"$defs", "definitions", "defs"})
_COMBINATORS: Final = frozenset({"anyOf", "oneOf", "allOf"})
_TYPE_SOURCES: Final = (*sorted(_COMBINATORS), "any_of", "$ref", "ref", "$dynamicRef", "$recursiveRef")
"""Keywords that can supply the type of a schema."""
_OTHER_MEMBERS: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "patternProperties"}
)
"""Keywords whose schema may be empty or boolean for every target."""
_PARTIAL_KEYWORDS: Final = frozenset(
    {"allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "propertyNames", "contains"}
)
"""Keywords whose schemas extend another schema, and so need no type of their own."""
_PROPERTY_SOURCES: Final = frozenset({"properties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"})
"""Keywords that can declare properties."""
_ARGUMENT_DEPTH: Final = 2
"""Number of parts of the location of an argument, such as `/properties/path`."""
_OWNER_TYPES: Final[Mapping[str, str]] = {"required": "object", "properties": "object", "items": "array"}
"""Keywords that Gemini rejects beside any other type."""


def _needs_null(node: Schema, location: Location) -> bool:
    """Return whether null cannot be expressed by omission: the value is required or an item, or has another default."""
    alternatives = [item for name in ("anyOf", "oneOf", "type") for item in _list(node.get(name))]
    allows_null = (
        node.get("nullable") is True
        or node.get("type") == "null"
        or any(item in ("null", {"type": "null"}) for item in alternatives)
    )
    is_kept = location.is_required or location.within == "items" or node.get("default") is not None
    return allows_null and is_kept


def _accepts_every_name(value: Any) -> bool:
    """Return whether a schema of names rejects none; Zod 4 writes `{"type": "string"}` for each record."""
    if not isinstance(value, Mapping):
        return value is True
    return not value or (len(value) == 1 and value.get("type") == "string")


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


_Visit: TypeAlias = Generator["_Visit", None, None]


def scan_schema(schema: Any) -> tuple[Occurrence, ...]:
    """List the constructs of `schema` in document order."""
    scanner = _Scanner(schema)
    # Generators on a stack of our own: recursion would limit the depth by Python's stack.
    visits = [scanner.visit(schema, Location())]
    while visits and not scanner.recorder.is_exhausted:
        try:
            visits.append(next(visits[-1]))
        except StopIteration:
            visits.pop()
    scanner.mark_recursive_references()
    return tuple(scanner.recorder.occurrences)


class _Scanner:
    """State of one scan."""

    def __init__(self, root: Any) -> None:
        self.recorder = Recorder()
        self._references = References(root)
        self._resolved: list[Reference] = []

    def visit(self, node: Any, location: Location) -> _Visit:
        """Scan one schema. The caller runs each yielded visit before it resumes this one."""
        if location.level >= MAX_DEPTH:
            self.recorder.add_once(location.parts, "too-deep", f"{MAX_DEPTH} levels of schemas")
        elif not isinstance(node, Mapping):
            self._check_non_object(node, location)
        else:
            types = types_of(node)
            self._check_schema(node, types, location)
            for keyword, value in node.items():
                if not self.recorder.consume(1, location.parts):
                    return
                yield from self._visit_keyword(keyword, value, node, types, location)

    def mark_recursive_references(self) -> None:
        """Add patterns to the references that are part of a cycle."""
        for reference in recursive_references(self._resolved):
            occurrence = self.recorder.occurrences[reference.occurrence]
            required = ("required-recursive-$ref",) if reference.is_required else ()
            patterns = (*required, "recursive-$ref", *occurrence.patterns)
            self.recorder.occurrences[reference.occurrence] = occurrence._replace(patterns=patterns)

    def _check_non_object(self, node: Any, location: Location) -> None:
        if not isinstance(node, bool):
            self.recorder.add(location.parts, "not-a-schema", quote_value(node))
        elif location.is_root:
            self.recorder.add(location.parts, "root-not-object", quote_value(node))
        elif location.within == "items" and node:
            self.recorder.add(location.parts, "empty-items", quote_value(node), "boolean-schema")
        elif not location.is_partial and location.within not in _OTHER_MEMBERS:
            is_argument = len(location.parts) == _ARGUMENT_DEPTH and location.within == "properties"
            patterns = ("boolean-argument", "boolean-schema") if is_argument else ("boolean-schema",)
            self.recorder.add(location.parts, patterns[0], quote_value(node), *patterns[1:])

    def _check_schema(self, node: Schema, types: tuple[str, ...], location: Location) -> None:
        """Check combinations of keywords, and missing ones."""
        for size, depth in (
            ("depth-5", location.nesting),
            ("object-depth-5", location.objects),
            ("depth-10", location.objects),
        ):
            if depth > self.recorder.providers.sizes[size]:
                self.recorder.add_once(location.parts, size, "this schema")
        if location.is_root:
            self._check_root(node, types)
        if location.is_partial:
            return
        if not location.is_root and is_foreign_object(node):
            self.recorder.add(location.parts, "foreign-object", "this schema")
        if _needs_null(node, location):
            self.recorder.add(location.parts, "needed-null", "a value that may be null")
        has_type = types or any(node.get(keyword) not in (None, [], ()) for keyword in _TYPE_SOURCES)
        if not has_type and not location.is_root:
            self._check_untyped(node, location)
        if "array" in types and node.get("items") is None:
            self.recorder.add(location.parts, "missing-items", "an array without `items`")
        if "object" in types or (isinstance(node.get("properties"), Mapping) and not node.get("anyOf")):
            self._check_object(node, location)

    def _check_root(self, node: Schema, types: tuple[str, ...]) -> None:
        mistake = root_mistake(node)
        if types != ("object",):
            value = node.get("type")
            quoted = quote_values(value) if isinstance(value, list) else quote_value(value)
            subject = "no `type`" if value is None else quoted
            patterns = (mistake, "root-not-object") if mistake else ("root-not-object",)
            self.recorder.add(() if value is None else ("type",), patterns[0], f"{subject} at the root", *patterns[1:])
        elif mistake:
            self.recorder.add((), mistake, "this schema")
        elif node.get("properties") is None:
            self.recorder.add((), "root-no-properties", "a root without `properties`")

    def _check_untyped(self, node: Schema, location: Location) -> None:
        if "enum" in node:
            self.recorder.add(location.parts, "untyped-enum", "`enum` without `type`", "missing-type")
        elif node or location.within not in _OTHER_MEMBERS:
            subject = "a schema without `type`" if node else "an empty schema"
            pattern = "empty-items" if location.within == "items" and not node else "missing-type"
            self.recorder.add(location.parts, pattern, subject, "missing-type")

    def _check_object(self, node: Schema, location: Location) -> None:
        if node.get("additionalProperties") is not False:
            self.recorder.add(location.parts, "open-object", "an object that is not closed")
        elif not location.is_root and _PROPERTY_SOURCES.isdisjoint(node):
            self.recorder.add(location.parts, "closed-without-properties", "a closed object without `properties`")
        if not isinstance(node.get("required"), list | tuple):
            self.recorder.add(location.parts, "missing-required", "an object without `required`")
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            required = set(strings(node.get("required")))
            optional = [name for name in properties if isinstance(name, str) and name not in required]
            if optional:
                self.recorder.count("optional-count", len(optional), location.parts, "the schema")
                self.recorder.add(location.parts, "optional-property", f"{quote_values(optional)} not required")

    def _visit_keyword(
        self, keyword: Any, value: Any, node: Schema, types: tuple[str, ...], location: Location
    ) -> _Visit:
        if not isinstance(keyword, str) or not is_text(keyword):
            quoted = quote_value(keyword)
            self.recorder.add((*location.parts, quoted), "not-json", f"{quoted} as a name")
            return
        if isinstance(value, Mapping | list | tuple) and not self.recorder.consume(len(value), location.parts):
            return
        name = self.recorder.providers.snake_case.get(keyword, keyword)
        here = location._replace(parts=(*location.parts, keyword))
        if name == keyword:
            patterns = (*self._specific_patterns(name, value, node, location), name)
        else:
            patterns = (keyword, "snake-case")
        self.recorder.occurrences.append(Occurrence(here.parts, patterns, quote_value(keyword), keyword, True, value))
        if value is None and name not in DATA_KEYWORDS:
            self.recorder.add(here.parts, "null-keyword", f"`{keyword}: null`", keyword=name)
            return
        if not check_value(self.recorder, name, value, here):
            return
        if location.is_root and name in _COMBINATORS:
            self.recorder.add(here.parts, "root-combinator", f"`{keyword}` at the root")
        if location.is_root and name in {"enum", "not"}:
            self.recorder.add(here.parts, "root-assertion", f"`{keyword}` at the root")
        if name in _OWNER_TYPES:
            self._check_owner(name, node, types, here)
        if (check := KEYWORD_CHECKS.get(name)) is not None:
            check(self.recorder, value, node, types, here)
        yield from self._visit_subschemas(name, value, node, here)

    def _specific_patterns(self, name: str, value: Any, node: Schema, location: Location) -> tuple[str, ...]:
        """Return the patterns that are more specific than the keyword itself."""
        description = node.get("description")
        match name:
            case "additionalProperties" if isinstance(value, Mapping):
                return ("typed-map",) if value else ("untyped-map", "typed-map")
            case "items" if isinstance(value, list | tuple):
                return ("draft-07-items",)
            case "propertyNames" if _accepts_every_name(value):
                return ("idle-propertyNames",)
            case "exclusiveMinimum" | "exclusiveMaximum" if isinstance(value, bool):
                return ("draft-04-exclusive",)
            case "type" if isinstance(value, list | tuple):
                return ("type-array",)
            case "uniqueItems" if value is True and not describes_uniqueness(description):
                return (name, "unsaid-uniqueItems")
            case "$ref" | "ref" if isinstance(value, str):
                return self._resolve(name, value, location)
            case "minItems" if value in (0, 1) and not isinstance(value, bool):
                unsaid = () if is_described(value, description) else ("unsaid-limit",)
                return ("short-minItems", name, *unsaid)
            case _ if name in LIMIT_KEYWORDS and not is_described(value, description):
                return (name, "unsaid-limit")
        return ()

    def _resolve(self, name: str, ref: str, location: Location) -> tuple[str, ...]:
        """Return the pattern of an unresolved reference; record a resolved `$ref`."""
        try:
            _, target = self._references.target(ref, json_pointer(location.parts))
        except UnresolvedReferenceError as error:
            return ("dangling-ref",) if name == "ref" else (error.pattern,)
        if name == "$ref":
            self._resolved.append(
                Reference(len(self.recorder.occurrences), location.parts, target, location.is_required)
            )
        specific: tuple[str, ...] = () if ref.startswith("#/") else ("unpointed-$ref",)
        if specific and ref != "#":
            specific = ("named-$ref", *specific)
        if not specific and ("~" in ref or "%" in ref):
            specific = ("escaped-$ref",)
        return specific if ref.startswith("#/$defs/") else (*specific, "outside-$defs")

    def _check_owner(self, keyword: str, node: Schema, types: tuple[str, ...], location: Location) -> None:
        owner = _OWNER_TYPES[keyword]
        if not location.is_partial and (types or node.get("anyOf")) and owner not in types:
            other = quote_values(types) if types else "`anyOf`"
            self.recorder.add(location.parts, f"{keyword}-not-{owner}", f"`{keyword}` beside {other}")

    def _visit_subschemas(self, name: str, value: Any, node: Schema, location: Location) -> _Visit:
        is_definition = name in _DEFINITION_KEYWORDS
        deeper = location._replace(
            within=name,
            level=location.level + 1,
            nesting=0 if is_definition else location.nesting + (name in {"properties", "anyOf", "oneOf"}),
            objects=0 if is_definition else location.objects + (name == "properties"),
            is_partial=location.is_partial or name in _PARTIAL_KEYWORDS,
            is_required=False,
        )
        required = frozenset(strings(node.get("required")) if name == "properties" else ())
        for (_, *key), schema in subschemas("$defs" if name == "defs" else name, value):
            parts = (*location.parts, *key)
            if isinstance(value, Mapping) and key:
                if not is_text(key[0]):
                    quoted = quote_value(key[0])
                    self.recorder.add((*location.parts, quoted), "not-json", f"{quoted} as a name")
                    continue
                if name == "dependencies" and isinstance(schema, list | tuple):
                    continue
                self.recorder.count("text-length", len(str(key[0])), location.parts, "the schema")
                if name == "properties":
                    self._check_property_name(str(key[0]), location)
            yield self.visit(schema, deeper._replace(parts=parts, is_required=bool(required.intersection(key))))

    def _check_property_name(self, name: str, location: Location) -> None:
        parts, quoted = (*location.parts, name), quote_value(name)
        for size in ("property-count-100", "property-count"):
            self.recorder.count(size, 1, parts, quoted)
        if location.is_partial:
            return
        is_argument = len(location.parts) == 1
        if is_argument and name == "wait_for_previous":
            self.recorder.add(parts, "reserved-name", quoted)
        if not self.recorder.providers.anthropic_name.fullmatch(name):
            self.recorder.add(parts, "property-name" if is_argument else "nested-property-name", quoted)
        elif not self.recorder.providers.portable_name.fullmatch(name):
            self.recorder.add(parts, "property-name-style", quoted)
