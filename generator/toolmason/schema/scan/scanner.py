"""Walk through a schema and list its constructs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from toolmason.schema.findings import json_pointer
from toolmason.schema.keywords import COUNT_KEYWORDS, NUMBER_KEYWORDS, TYPE_NAMES
from toolmason.schema.patterns import to_ecma_pattern
from toolmason.schema.providers import providers
from toolmason.schema.references import References, UnresolvedReferenceError
from toolmason.schema.scan.cycles import Reference, recursive_references
from toolmason.schema.scan.occurrences import Occurrence, quote_value, quote_values
from toolmason.schema.scan.values import (
    DATA_KEYWORDS,
    DATA_LIST_KEYWORDS,
    describes_uniqueness,
    has_valid_value,
    is_described,
    is_number,
    is_number_text,
    is_text,
    strings,
    types_of,
)
from toolmason.schema.walk import Parts, subschemas

MAX_DEPTH: Final = 100
"""Maximum nesting of schemas, the same as in the parser of Gemini's message."""
MAX_STEPS: Final = 50_000
"""Maximum keywords, names and enum values."""
_MAX_DATA_DEPTH: Final = 1_000
"""Maximum nesting of a value; deeper ones count as cyclic Python objects."""

_LIMIT_KEYWORDS: Final = frozenset({"minimum", "maximum", "pattern"}) | COUNT_KEYWORDS - {"minContains", "maxContains"}
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
_OWNER_TYPES: Final[Mapping[str, str]] = {"required": "object", "properties": "object", "items": "array"}
"""Keywords that Gemini rejects beside any other type."""

Schema: TypeAlias = Mapping[Any, Any]


class _Location(NamedTuple):
    """The location of a schema or keyword.

    `level` counts all schemas around it, `nesting` properties and unions, `objects` only properties. `is_partial` is
    true inside `_PARTIAL_KEYWORDS`.
    """

    parts: Parts = ()
    within: str = ""
    level: int = 0
    nesting: int = 0
    objects: int = 0
    is_partial: bool = False
    is_required: bool = False

    @property
    def is_root(self) -> bool:
        return not self.parts


_Visit: TypeAlias = Generator["_Visit", None, None]


def scan_schema(schema: Any) -> tuple[Occurrence, ...]:
    """List the constructs of `schema` in document order."""
    scanner = _Scanner(schema)
    # Generators on a stack of our own: recursion would limit the depth by Python's stack.
    visits = [scanner.visit(schema, _Location())]
    while visits and not scanner.is_exhausted:
        try:
            visits.append(next(visits[-1]))
        except StopIteration:
            visits.pop()
    scanner.mark_recursive_references()
    return tuple(scanner.occurrences)


class _Scanner:
    """State of one scan."""

    def __init__(self, root: Any) -> None:
        self.occurrences: list[Occurrence] = []
        self._remaining_steps = MAX_STEPS
        self._providers = providers()
        self._references = References(root)
        self._resolved: list[Reference] = []
        self._reported: set[str] = set()
        self._totals = {"property-count": 0, "enum-count": 0, "text-length": 0}
        """Totals of the whole schema, by the name of their limit in `Providers.sizes`."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the maximum number of steps is exceeded."""
        return self._remaining_steps < 0

    def visit(self, node: Any, location: _Location) -> _Visit:
        """Scan one schema. The caller runs each yielded visit before it resumes this one."""
        if location.level >= MAX_DEPTH:
            self._add_once(location.parts, "too-deep", f"{MAX_DEPTH} levels of schemas")
        elif not isinstance(node, Mapping):
            self._check_non_object(node, location)
        else:
            types = types_of(node)
            self._check_schema(node, types, location)
            for keyword, value in node.items():
                if not self._consume(1, location.parts):
                    return
                yield from self._visit_keyword(keyword, value, node, types, location)

    def mark_recursive_references(self) -> None:
        """Add patterns to the references that are part of a cycle."""
        for reference in recursive_references(self._resolved):
            occurrence = self.occurrences[reference.occurrence]
            required = ("required-recursive-$ref",) if reference.is_required else ()
            patterns = (*required, "recursive-$ref", *occurrence.patterns)
            self.occurrences[reference.occurrence] = occurrence._replace(patterns=patterns)

    def _add(self, parts: Parts, pattern: str, subject: str, *others: str, keyword: str = "") -> None:
        self.occurrences.append(Occurrence(parts, (pattern, *others), subject, keyword))

    def _add_once(self, parts: Parts, pattern: str, subject: str, *, keyword: str = "") -> None:
        if pattern not in self._reported:
            self._reported.add(pattern)
            self._add(parts, pattern, subject, keyword=keyword)

    def _consume(self, steps: int, parts: Parts) -> bool:
        """Consume steps and return whether the scan may continue."""
        self._remaining_steps -= steps
        if self.is_exhausted:
            self._add_once(parts, "too-large", f"more than {MAX_STEPS} keywords, names and enum values")
        return not self.is_exhausted

    def _count(self, size: str, amount: int, parts: Parts, subject: str) -> None:
        """Add to a total of the schema and report it once above the limit."""
        self._totals[size] += amount
        if self._totals[size] > self._providers.sizes[size]:
            self._add_once(parts, size, subject)

    def _check_non_object(self, node: Any, location: _Location) -> None:
        if not isinstance(node, bool):
            self._add(location.parts, "not-a-schema", quote_value(node))
        elif location.is_root:
            self._add(location.parts, "root-not-object", quote_value(node))
        elif location.within == "items" and node:
            self._add(location.parts, "empty-items", quote_value(node), "boolean-schema")
        elif not location.is_partial and location.within not in _OTHER_MEMBERS:
            self._add(location.parts, "boolean-schema", quote_value(node))

    def _check_schema(self, node: Schema, types: tuple[str, ...], location: _Location) -> None:
        """Check combinations of keywords, and missing ones."""
        for size, depth in (("depth-5", location.nesting), ("depth-10", location.objects)):
            if depth > self._providers.sizes[size]:
                self._add_once(location.parts, size, "this schema")
        if location.is_root:
            self._check_root(node, types)
        if location.is_partial:
            return
        has_type = types or any(node.get(keyword) not in (None, [], ()) for keyword in _TYPE_SOURCES)
        if not has_type and not location.is_root:
            self._check_untyped(node, location)
        if "array" in types and node.get("items") is None:
            self._add(location.parts, "missing-items", "an array without `items`")
        if "object" in types or (isinstance(node.get("properties"), Mapping) and not node.get("anyOf")):
            self._check_object(node, location)

    def _check_root(self, node: Schema, types: tuple[str, ...]) -> None:
        if types != ("object",):
            value = node.get("type")
            quoted = quote_values(value) if isinstance(value, list) else quote_value(value)
            subject = "no `type`" if value is None else quoted
            self._add(() if value is None else ("type",), "root-not-object", f"{subject} at the root")
        elif node.get("properties") is None:
            self._add((), "root-no-properties", "a root without `properties`")

    def _check_untyped(self, node: Schema, location: _Location) -> None:
        if "enum" in node:
            self._add(location.parts, "untyped-enum", "`enum` without `type`", "missing-type")
        elif node or location.within not in _OTHER_MEMBERS:
            subject = "a schema without `type`" if node else "an empty schema"
            pattern = "empty-items" if location.within == "items" and not node else "missing-type"
            self._add(location.parts, pattern, subject, "missing-type")

    def _check_object(self, node: Schema, location: _Location) -> None:
        if node.get("additionalProperties") is not False:
            self._add(location.parts, "open-object", "an object that is not closed")
        properties = node.get("properties")
        if isinstance(properties, Mapping):
            required = set(strings(node.get("required")))
            optional = [name for name in properties if isinstance(name, str) and name not in required]
            if optional:
                self._add(location.parts, "optional-property", f"{quote_values(optional)} not required")

    def _visit_keyword(
        self, keyword: Any, value: Any, node: Schema, types: tuple[str, ...], location: _Location
    ) -> _Visit:
        if not isinstance(keyword, str) or not is_text(keyword):
            quoted = quote_value(keyword)
            self._add((*location.parts, quoted), "not-json", f"{quoted} as a name")
            return
        if isinstance(value, Mapping | list | tuple) and not self._consume(len(value), location.parts):
            return
        name = self._providers.snake_case.get(keyword, keyword)
        here = location._replace(parts=(*location.parts, keyword))
        if name == keyword:
            patterns = (*self._specific_patterns(name, value, node, location), name)
        else:
            patterns = (keyword, "snake-case")
        self.occurrences.append(Occurrence(here.parts, patterns, quote_value(keyword), keyword, True, value))
        if value is None and name not in DATA_KEYWORDS:
            self._add(here.parts, "null-keyword", f"`{keyword}: null`", keyword=name)
            return
        if not self._check_value(name, value, here):
            return
        if location.is_root and name in _COMBINATORS:
            self._add(here.parts, "root-combinator", f"`{keyword}` at the root")
        if location.is_root and name in {"enum", "not"}:
            self._add(here.parts, "root-assertion", f"`{keyword}` at the root")
        if name in _OWNER_TYPES:
            self._check_owner(name, node, types, here)
        if (visitor := _VISITORS.get(name)) is not None:
            visitor(self, value, node, types, here)
        yield from self._visit_subschemas(name, value, node, here)

    def _specific_patterns(self, name: str, value: Any, node: Schema, location: _Location) -> tuple[str, ...]:
        """Return the patterns that are more specific than the keyword itself."""
        description = node.get("description")
        match name:
            case "additionalProperties" if isinstance(value, Mapping):
                return ("typed-map",)
            case "items" if isinstance(value, list | tuple):
                return ("draft-07-items",)
            case "exclusiveMinimum" | "exclusiveMaximum" if isinstance(value, bool):
                return ("draft-04-exclusive",)
            case "type" if isinstance(value, list | tuple):
                return ("type-array",)
            case "uniqueItems" if value is True and not describes_uniqueness(description):
                return (name, "unsaid-uniqueItems")
            case "$ref" | "ref" if isinstance(value, str):
                return self._resolve(name, value, location)
            case _ if name in _LIMIT_KEYWORDS and not is_described(value, description):
                return (name, "unsaid-limit")
        return ()

    def _resolve(self, name: str, ref: str, location: _Location) -> tuple[str, ...]:
        """Return the pattern of an unresolved reference; record a resolved `$ref`."""
        try:
            _, target = self._references.target(ref, json_pointer(location.parts))
        except UnresolvedReferenceError as error:
            return ("dangling-ref",) if name == "ref" else (error.pattern,)
        if name == "$ref":
            self._resolved.append(Reference(len(self.occurrences), location.parts, target, location.is_required))
        return ()

    def _check_value(self, name: str, value: Any, location: _Location) -> bool:
        """Return whether the value of a keyword is valid, so that it can be scanned."""
        if name in COUNT_KEYWORDS or name in NUMBER_KEYWORDS:
            return self._check_number(name, value, location.parts)
        if has_valid_value(name, value):
            return self._check_data(value, name, location) if name in DATA_KEYWORDS | DATA_LIST_KEYWORDS else True
        self._add(location.parts, "malformed", f"{quote_value(value)} as `{name}`", keyword=name)
        return False

    def _check_number(self, name: str, value: Any, parts: Parts) -> bool:
        if name in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
            return True  # Reported as `draft-04-exclusive`.
        subject = f"{quote_value(value)} as `{name}`"
        if isinstance(value, str) and is_number_text(name, value):
            self._add(parts, "text-number", subject, "malformed", keyword=name)
            return False
        is_valid = is_number(value)
        if is_valid and name in COUNT_KEYWORDS:
            is_valid = value >= 0 and value == int(value)
        if is_valid and name == "multipleOf":
            is_valid = value > 0
        if not is_valid:
            self._add(parts, "malformed", subject, keyword=name)
        elif name in COUNT_KEYWORDS and value > self._providers.sizes["int64"]:
            self._add(parts, "int64", subject, keyword=name)
        return is_valid

    def _check_data(self, value: Any, name: str, location: _Location) -> bool:
        """Return whether data is JSON."""
        depth = self._data_depth(value, location.parts)
        if depth is None:
            self._add(location.parts, "not-json", f"the value of `{name}`")
        elif name in {"default", "example"} and location.level + 2 + 2 * depth > MAX_DEPTH:
            self._add(location.parts, "deep-data", f"the value of `{name}`", keyword=name)
        return depth is not None

    def _data_depth(self, value: Any, parts: Parts) -> int | None:
        """Return the nesting of a value; None if it is not JSON or contains itself."""
        max_depth, pending = 0, [(value, 0)]
        while pending and self._consume(1, parts):
            item, depth = pending.pop()
            max_depth = max(max_depth, depth)
            if max_depth > _MAX_DATA_DEPTH:
                return None
            if isinstance(item, Mapping):
                if not all(map(is_text, item)):
                    return None
                pending += [(inner, depth + 1) for inner in item.values()]
            elif isinstance(item, list | tuple):
                pending += [(inner, depth + 1) for inner in item]
            elif item is not None and not isinstance(item, bool) and not is_number(item) and not is_text(item):
                return None
        return max_depth

    def _visit_subschemas(self, name: str, value: Any, node: Schema, location: _Location) -> _Visit:
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
                    self._add((*location.parts, quoted), "not-json", f"{quoted} as a name")
                    continue
                if name == "dependencies" and isinstance(schema, list | tuple):
                    continue
                self._count("text-length", len(str(key[0])), location.parts, "the schema")
                if name == "properties":
                    self._check_property_name(str(key[0]), location)
            yield self.visit(schema, deeper._replace(parts=parts, is_required=bool(required.intersection(key))))

    def _check_property_name(self, name: str, location: _Location) -> None:
        parts, quoted = (*location.parts, name), quote_value(name)
        self._count("property-count", 1, parts, quoted)
        if location.is_partial:
            return
        is_argument = len(location.parts) == 1
        if is_argument and name == "wait_for_previous":
            self._add(parts, "reserved-name", quoted)
        if not self._providers.anthropic_name.fullmatch(name):
            self._add(parts, "property-name" if is_argument else "nested-property-name", quoted)
        elif not self._providers.portable_name.fullmatch(name):
            self._add(parts, "property-name-style", quoted)

    def _check_owner(self, keyword: str, node: Schema, types: tuple[str, ...], location: _Location) -> None:
        owner = _OWNER_TYPES[keyword]
        if not location.is_partial and (types or node.get("anyOf")) and owner not in types:
            other = quote_values(types) if types else "`anyOf`"
            self._add(location.parts, f"{keyword}-not-{owner}", f"`{keyword}` beside {other}")

    # Visitors: one per keyword, called with the value, the schema, its types and the location of the keyword.

    def visit_type(self, value: Any, _: Schema, __: tuple[str, ...], location: _Location) -> None:
        """Check the type names."""
        for name in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(name, str) or name.lower() not in TYPE_NAMES or name not in {name.lower(), name.upper()}:
                self._add(location.parts, "unknown-type", quote_value(name), keyword="type")
            elif name.isupper():
                self._add(location.parts, "upper-case-type", quote_value(name), keyword="type")
            else:
                self._add_once(location.parts, "lower-case-type", quote_value(name), keyword="type")
            if isinstance(value, str) and value.lower() == "null":
                self._add(location.parts, "null-type", quote_value(value))

    def visit_enum(self, value: Any, _: Schema, types: tuple[str, ...], location: _Location) -> None:
        """Check the types and sizes of enum values."""
        numbers = [item for item in value if is_number(item)]
        others = [item for item in value if not isinstance(item, str) and not is_number(item)]
        if not value:
            self._add(location.parts, "empty-enum", "an empty `enum`")
        elif others:
            self._add(location.parts, "odd-enum", f"`enum` with {quote_values(others)}")
        elif numbers and len(numbers) < len(value):
            self._add(location.parts, "mixed-enum", f"`enum` with {quote_values(numbers)} beside strings")
        elif numbers:
            pattern = "integer-enum" if all(number == int(number) for number in numbers) else "number-enum"
            self._add(location.parts, pattern, f"`enum` of {quote_values(numbers)}")
        elif types and "string" not in types:
            self._add(location.parts, "enum-type", f"`enum` of {quote_values(types)}")
        for index, item in enumerate(value):
            if item == "":
                self._add((*location.parts, index), "empty-enum-member", "an empty enum value")
        chars = sum(map(len, strings(value)))
        self._count("text-length", chars, location.parts, "the schema")
        self._count("enum-count", len(value), location.parts, "`enum`")
        sizes = self._providers.sizes
        if len(value) > sizes["long-enum"] and chars > sizes["enum-length"]:
            self._add(location.parts, "enum-length", "`enum`")

    def visit_const(self, value: Any, _: Schema, __: tuple[str, ...], location: _Location) -> None:
        """Count the characters of a constant string."""
        if isinstance(value, str):
            self._count("text-length", len(value), location.parts, "the schema")

    def visit_required(self, value: Any, node: Schema, types: tuple[str, ...], location: _Location) -> None:
        """Check for repeated and undeclared names."""
        if location.is_partial:
            return
        properties = node.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        seen: set[str] = set()
        for index, name in enumerate(value):
            parts = (*location.parts, index)
            if name in seen:
                self._add(parts, "repeated-name", quote_value(name), keyword="required")
            elif name not in declared and (types or declared):
                self._add(parts, "undeclared-required", f"{quote_value(name)} is required but not declared")
            seen.add(name)

    def visit_any_of(self, _: Any, node: Schema, __: tuple[str, ...], location: _Location) -> None:
        """Check for siblings."""
        siblings = [keyword for keyword in node if keyword not in {"anyOf", "any_of"} and node[keyword] is not None]
        if siblings:
            self._add(location.parts, "beside-anyOf", f"{quote_values(siblings)} beside `anyOf`")

    def visit_ref(self, _: Any, node: Schema, __: tuple[str, ...], location: _Location) -> None:
        """Check for siblings."""
        allowed = {"description", "default", "definitions"}
        names = (keyword for keyword in node if isinstance(keyword, str))
        siblings = [keyword for keyword in names if not keyword.startswith("$") and keyword not in allowed]
        if siblings:
            self._add(location.parts, "beside-$ref", f"{quote_values(siblings)} beside `$ref`")

    def visit_limit(self, value: Any, node: Schema, _: tuple[str, ...], location: _Location) -> None:
        """Check for limits of 0, which some targets lose."""
        keyword = str(location.parts[-1])
        name = self._providers.snake_case.get(keyword, keyword)
        if value == 0 and not is_described(value, node.get("description")):
            other = "zero-limit" if name.startswith("max") else "idle-limit"
            pattern = "zero-bound" if name in NUMBER_KEYWORDS else other
            self._add(location.parts, pattern, f"`{keyword}: 0`", keyword=name)

    def visit_pattern(self, value: Any, _: Schema, __: tuple[str, ...], location: _Location) -> None:
        """Check that the pattern is portable."""
        if to_ecma_pattern(value) != value:
            self._add(location.parts, "pattern-dialect", quote_value(value), keyword="pattern")

    def visit_defs(self, _: Any, __: Schema, ___: tuple[str, ...], location: _Location) -> None:
        """Check that `defs` is at the root."""
        if len(location.parts) > 1:
            self._add(location.parts, "nested-defs", "`defs`")


_VISITORS: Final[Mapping[str, Callable[[_Scanner, Any, Schema, tuple[str, ...], _Location], None]]] = {
    "type": _Scanner.visit_type,
    "enum": _Scanner.visit_enum,
    "const": _Scanner.visit_const,
    "required": _Scanner.visit_required,
    "anyOf": _Scanner.visit_any_of,
    "$ref": _Scanner.visit_ref,
    "defs": _Scanner.visit_defs,
    "pattern": _Scanner.visit_pattern,
    **dict.fromkeys(_LIMIT_KEYWORDS - {"pattern"}, _Scanner.visit_limit),
}
