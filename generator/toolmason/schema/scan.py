"""What stands in a schema, and where: facts that `providers.toml` has rules about, whoever the schema is for.

The walk knows a keyword by its position, so that a property named `not` or `$ref` is a property. It never steps into
data (`default`, `enum`, `const`, `examples`), changes nothing, follows no reference, and ends after so many levels and
so many schemas, names and choices, whatever it is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from toolmason.schema.findings import json_pointer
from toolmason.schema.keywords import (
    COUNTS,
    FLAGS,
    HOLDS,
    MANY_SCHEMAS,
    NAMED_SCHEMAS,
    NUMBERS,
    ONE_SCHEMA,
    SILENT,
    TEXTS,
    TYPES,
)
from toolmason.schema.patterns import portable
from toolmason.schema.providers import providers
from toolmason.schema.references import References, UnfollowableError

MAX_DEPTH: Final = 100
"""Schemas inside schemas. The parser of Gemini's message stops at the same depth."""
MAX_STEPS: Final = 50_000
"""Keywords, names and choices looked at."""
MAX_QUOTE_LENGTH: Final = 60
"""Characters of the user's own text in a message."""

_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_SAYS_UNIQUE: Final = re.compile(r"\b(differ|different|distinct|unique)\b", re.IGNORECASE)
_DEEPEST_DATA: Final = 1_000
"""Levels of a value, past which it is taken to hold itself."""

_LIMITS: Final = frozenset({"minimum", "maximum", "pattern"}) | COUNTS - {"minContains", "maxContains"}
_TEXTS: Final = TEXTS | {"ref", "$id", "$schema", "$anchor", "$dynamicAnchor", "$comment"}
_FLAGS: Final = FLAGS | {"readOnly", "writeOnly"}
_DATA: Final = frozenset({"default", "const", "example"})
_DATA_LISTS: Final = frozenset({"enum", "examples"})
_NAMES: Final = frozenset({"required", "propertyOrdering"})
_NAMED: Final = NAMED_SCHEMAS | {"defs"}
_DEFINITIONS: Final = frozenset({"$defs", "definitions", "defs"})
_REFERENCES: Final = frozenset({"$ref", "ref", "$dynamicRef", "$recursiveRef"})
_COMBINATORS: Final = frozenset({"anyOf", "oneOf", "allOf"})
_MAPS: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "patternProperties"}
)
_PARTIAL: Final = frozenset(
    {"allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "propertyNames", "contains"}
)
"""Keywords whose schemas only add to another one, and so need no type of their own."""
KNOWN: Final = HOLDS.keys() - {"example", "nullable"} | SILENT | {"contentSchema", "readOnly", "writeOnly"}
"""The keywords of JSON Schema."""

Parts: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """One thing that a target may mind.

    `patterns` begins with the most telling name. `keyword` is the keyword it is about; with `is_keyword` the keyword
    stands there at all, otherwise only what it holds is at issue. `about` quotes the user.
    """

    parts: Parts
    patterns: tuple[str, ...]
    about: str
    keyword: str = ""
    is_keyword: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands: how deep, as what, and whether it only adds to another one.

    `level` counts every schema around it, `nesting` objects and unions, `objects` objects alone.
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


@dataclass(frozen=True, slots=True)
class _Reference:
    """A followed reference: its sighting, where it stands and where it leads."""

    sighting: int
    parts: Parts
    target: str
    is_required: bool


_Visit: TypeAlias = Generator["_Visit", None, None]


def look(schema: Any) -> tuple[Sighting, ...]:
    """List what stands in `schema`, in the order of the document."""
    walk = _Walk(schema)
    open_visits = [walk.visit(schema, _Place())]
    while open_visits and not walk.is_over:
        try:
            open_visits.append(next(open_visits[-1]))
        except StopIteration:
            open_visits.pop()
    walk.mark_cycles()
    return tuple(walk.sightings)


def shown(value: Any) -> str:
    """Quote a value in a message: short, on one line, and whatever it is."""
    match value:
        case str():
            short = value if len(value) <= MAX_QUOTE_LENGTH else f"{value[:MAX_QUOTE_LENGTH]}..."
            plain = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in short)
            return f"`{plain}`" if plain else "an empty text"
        case bool():
            return "`true`" if value else "`false`"
        case None:
            return "`null`"
        case int():
            return f"`{value}`" if abs(value) < 10**MAX_QUOTE_LENGTH else "a number too long to quote"
        case float():
            return f"`{value}`"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a Python `{type(value).__name__}`"


def _shown_all(values: Iterable[Any]) -> str:
    every = list(values)
    listed = ", ".join(shown(value) for value in every[:3])
    return f"{listed} and {len(every) - 3} more" if len(every) > 3 else listed


class _Walk:
    """One walk through one schema."""

    def __init__(self, root: Any) -> None:
        self.sightings: list[Sighting] = []
        self._steps = MAX_STEPS
        self._facts = providers()
        self._references = References(root)
        self._followed: list[_Reference] = []
        self._said: set[str] = set()
        self._properties = self._choices = self._letters = 0

    def visit(self, node: Any, place: _Place) -> _Visit:
        """Look at one schema; what is yielded is to be gone through before going on."""
        if place.level >= MAX_DEPTH:
            self._once(place.parts, "too-deep", f"{MAX_DEPTH} levels of schemas")
        elif not isinstance(node, Mapping):
            self._look_at_non_object(node, place)
        else:
            types = _types(node)
            self._look_at_whole(node, types, place)
            for key, value in node.items():
                if not self._spend(1, place.parts):
                    return
                yield from self._keyword(key, value, node, types, place)

    @property
    def is_over(self) -> bool:
        """Whether there is no step left to go."""
        return self._steps < 0

    def mark_cycles(self) -> None:
        """Name the references that lead back to where they stand."""
        targets = {reference.target for reference in self._followed}
        leads: dict[str, set[str]] = {target: set() for target in targets}
        inside = [[each for each in _prefixes(reference.parts) if each in targets] for reference in self._followed]
        for reference, around in zip(self._followed, inside, strict=True):
            for each in around:
                leads[each].add(reference.target)
        cyclic = _cyclic(leads)
        for reference, around in zip(self._followed, inside, strict=True):
            if reference.target in cyclic and not cyclic.isdisjoint(around):
                found = self.sightings[reference.sighting]
                names = ("required-recursive-$ref",) if reference.is_required else ()
                self.sightings[reference.sighting] = replace(
                    found, patterns=(*names, "recursive-$ref", *found.patterns)
                )

    def _add(self, parts: Parts, pattern: str, about: str, *others: str, keyword: str = "") -> None:
        self.sightings.append(Sighting(parts, (pattern, *others), about, keyword))

    def _once(self, parts: Parts, pattern: str, about: str, *, keyword: str = "") -> None:
        if pattern not in self._said:
            self._said.add(pattern)
            self._add(parts, pattern, about, keyword=keyword)

    def _spend(self, steps: int, parts: Parts) -> bool:
        """Whether the walk may go on by so many steps; says once that it may not."""
        self._steps -= steps
        if self._steps < 0:
            self._once(parts, "too-large", f"more than {MAX_STEPS} keywords, names and choices")
        return self._steps >= 0

    def _look_at_non_object(self, node: Any, place: _Place) -> None:
        if not isinstance(node, bool):
            self._add(place.parts, "not-a-schema", shown(node))
        elif place.is_root:
            self._add(place.parts, "root-not-object", shown(node))
        elif place.within == "items" and node:
            self._add(place.parts, "empty-items", shown(node), "boolean-schema")
        elif not place.is_partial and place.within not in _MAPS:
            self._add(place.parts, "boolean-schema", shown(node))

    def _look_at_whole(self, node: Mapping[Any, Any], types: tuple[str, ...], place: _Place) -> None:
        """Look at what no single keyword of a schema tells."""
        if place.nesting > self._facts.sizes["depth-5"]:
            self._once(place.parts, "depth-5", "this node")
        if place.objects > self._facts.sizes["depth-10"]:
            self._once(place.parts, "depth-10", "this node")
        if place.is_root:
            self._look_at_root(node, types)
        if place.is_partial:
            return
        if not types and not place.is_root and not _is_typed_otherwise(node):
            self._look_at_untyped(node, place)
        if "array" in types and node.get("items") is None:
            self._add(place.parts, "missing-items", "an array without `items`")
        if "object" in types or (isinstance(node.get("properties"), Mapping) and not node.get("anyOf")):
            self._look_at_object(node, place)

    def _look_at_root(self, node: Mapping[Any, Any], types: tuple[str, ...]) -> None:
        if types != ("object",):
            said = node.get("type")
            about = "no `type`" if said is None else _shown_all(said) if isinstance(said, list) else shown(said)
            self._add(() if said is None else ("type",), "root-not-object", f"{about} at the root")
        elif node.get("properties") is None:
            self._add((), "root-no-properties", "a root without `properties`")

    def _look_at_untyped(self, node: Mapping[Any, Any], place: _Place) -> None:
        if "enum" in node:
            self._add(place.parts, "untyped-enum", "`enum` without `type`", "missing-type")
        elif node or place.within not in _MAPS:
            about = "a schema without `type`" if node else "an empty schema"
            pattern = "empty-items" if place.within == "items" and not node else "missing-type"
            self._add(place.parts, pattern, about, "missing-type")

    def _look_at_object(self, node: Mapping[Any, Any], place: _Place) -> None:
        if node.get("additionalProperties") is not False:
            self._add(place.parts, "open-object", "an object that is not closed")
        properties, required = node.get("properties"), node.get("required")
        if isinstance(properties, Mapping):
            names = set(_texts(required))
            optional = [name for name in properties if isinstance(name, str) and name not in names]
            if optional:
                self._add(place.parts, "optional-property", f"{_shown_all(optional)} not required")

    def _keyword(self, key: Any, value: Any, node: Mapping[Any, Any], types: tuple[str, ...], place: _Place) -> _Visit:
        if not isinstance(key, str) or not _is_text(key):
            self._add((*place.parts, shown(key)), "not-json", f"{shown(key)} as a name")
            return
        if isinstance(value, Mapping | list | tuple) and not self._spend(len(value), place.parts):
            return
        here, name = (*place.parts, key), self._facts.snake_case.get(key, key)
        patterns = (*self._telling(name, value, node, place), key) if name == key else (key, "snake-case")
        self.sightings.append(Sighting(here, patterns, shown(key), key, True, value))
        if value is None and name not in _DATA:
            self._add(here, "null-keyword", f"`{key}: null`", keyword=name)
            return
        if not self._fits(name, value, replace(place, parts=here)):
            return
        if place.is_root and name in _COMBINATORS:
            self._add(here, "root-combinator", f"`{key}` at the root")
        if place.is_root and name in {"enum", "not"}:
            self._add(here, "root-assertion", f"`{key}` at the root")
        if (owner := _OWNERS.get(name)) is not None:
            self._look_at_owner(name, owner, node, types, replace(place, parts=here))
        if (look_at := _LOOKS.get(name)) is not None:
            look_at(self, value, node, types, replace(place, parts=here))
        yield from self._inside(name, value, node, replace(place, parts=here))

    def _telling(self, name: str, value: Any, node: Mapping[Any, Any], place: _Place) -> tuple[str, ...]:
        """Give the patterns that say more than that the keyword stands there."""
        if name == "additionalProperties" and isinstance(value, Mapping):
            return ("typed-map",)
        if name == "items" and isinstance(value, list | tuple):
            return ("draft-07-items",)
        if name in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
            return ("draft-04-exclusive",)
        if name == "type" and isinstance(value, list | tuple):
            return ("type-array",)
        if name in _LIMITS and not _is_said(value, node.get("description")):
            return (name, "unsaid-limit")
        if name == "uniqueItems" and value is True and not _says_unique(node.get("description")):
            return (name, "unsaid-uniqueItems")
        if name in {"$ref", "ref"} and isinstance(value, str):
            return self._follow(name, value, place)
        return ()

    def _follow(self, name: str, address: str, place: _Place) -> tuple[str, ...]:
        """Give what is wrong with a reference; where one leads is kept for `mark_cycles`."""
        try:
            _, target = self._references.target(address)
        except UnfollowableError as error:
            return ("dangling-ref",) if name == "ref" else (error.pattern,)
        if name == "$ref":
            self._followed.append(_Reference(len(self.sightings), place.parts, target, place.is_required))
        return ()

    def _fits(self, name: str, value: Any, place: _Place) -> bool:
        """Whether a keyword can hold what it holds, so that it can be looked at further."""
        if name in COUNTS or name in NUMBERS:
            return self._is_number_for(name, value, place.parts)
        test = _HOLDS.get(name)
        if test is None or test(value):
            return self._is_data(value, name, place) if name in _DATA or name in _DATA_LISTS else True
        self._add(place.parts, "malformed", f"{shown(value)} as `{name}`", keyword=name)
        return False

    def _is_number_for(self, name: str, value: Any, here: Parts) -> bool:
        if name in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
            return True  # said by its own pattern
        if isinstance(value, str) and _is_number_text(name, value):
            self._add(here, "text-number", f"{shown(value)} as `{name}`", "malformed", keyword=name)
            return False
        fits = _is_number(value)
        if fits and name in COUNTS:
            fits = value >= 0 and value == int(value)
        if fits and name == "multipleOf":
            fits = value > 0
        if not fits:
            self._add(here, "malformed", f"{shown(value)} as `{name}`", keyword=name)
        elif name in COUNTS and value > self._facts.sizes["int64"]:
            self._add(here, "int64", f"{shown(value)} as `{name}`", keyword=name)
        return fits

    def _is_data(self, value: Any, name: str, place: _Place) -> bool:
        """Whether a value can be sent as JSON. Its names are no keywords."""
        depth = self._data_depth(value, place.parts)
        if depth is None:
            self._add(place.parts, "not-json", f"the value of `{name}`")
        elif name in {"default", "example"} and place.level + 2 + 2 * depth > MAX_DEPTH:
            self._add(place.parts, "deep-data", f"the value of `{name}`", keyword=name)
        return depth is not None

    def _data_depth(self, value: Any, parts: Parts) -> int | None:
        """Give how deep the lists and objects of a value go; None where it is no JSON value, or has no end."""
        deepest, waiting = 0, [(value, 0)]
        while waiting and self._spend(1, parts):
            each, depth = waiting.pop()
            deepest = max(deepest, depth)
            if deepest > _DEEPEST_DATA:
                return None
            if isinstance(each, Mapping):
                if not all(map(_is_text, each)):
                    return None
                waiting += [(inner, depth + 1) for inner in each.values()]
            elif isinstance(each, list | tuple):
                waiting += [(inner, depth + 1) for inner in each]
            elif each is not None and not isinstance(each, bool) and not _is_number(each) and not _is_text(each):
                return None
        return deepest

    def _inside(self, name: str, value: Any, node: Mapping[Any, Any], place: _Place) -> _Visit:
        """Go on with the schemas that a keyword holds."""
        deeper = replace(
            place,
            within=name,
            level=place.level + 1,
            nesting=0 if name in _DEFINITIONS else place.nesting + (name in {"properties", "anyOf", "oneOf"}),
            objects=0 if name in _DEFINITIONS else place.objects + (name == "properties"),
            is_partial=place.is_partial or name in _PARTIAL,
            is_required=False,
        )
        if name in _NAMED and isinstance(value, Mapping):
            required = frozenset(_texts(node.get("required"))) if name == "properties" else frozenset[str]()
            for key, each in value.items():
                if not isinstance(key, str) or not _is_text(key):
                    self._add((*place.parts, shown(key)), "not-json", f"{shown(key)} as a name")
                elif not (name == "dependencies" and isinstance(each, list | tuple)):
                    self._count(key, name, place)
                    yield self.visit(each, replace(deeper, parts=(*place.parts, key), is_required=key in required))
        elif name in MANY_SCHEMAS and isinstance(value, list | tuple):
            for number, each in enumerate(value):
                yield self.visit(each, replace(deeper, parts=(*place.parts, number)))
        elif name in ONE_SCHEMA:
            yield self.visit(value, deeper)

    def _count(self, name: str, keyword: str, place: _Place) -> None:
        """Count a name, and look at it."""
        self._count_letters(len(name), place.parts)
        if keyword != "properties":
            return
        here = (*place.parts, name)
        self._properties += 1
        if self._properties > self._facts.sizes["property-count"]:
            self._once(here, "property-count", shown(name))
        if place.is_partial:
            return
        if len(place.parts) == 1 and name == "wait_for_previous":
            self._add(here, "reserved-name", shown(name))
        if not self._facts.anthropic_name.fullmatch(name):
            self._add(here, "property-name" if len(place.parts) == 1 else "nested-property-name", shown(name))
        elif not self._facts.portable_name.fullmatch(name):
            self._add(here, "property-name-style", shown(name))

    def _count_letters(self, letters: int, parts: Parts) -> None:
        self._letters += letters
        if self._letters > self._facts.sizes["text-length"]:
            self._once(parts, "text-length", "the schema")

    def look_at_type(self, value: Any, _: Mapping[Any, Any], __: tuple[str, ...], place: _Place) -> None:
        """Look at the names of types."""
        for name in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(name, str) or name.lower() not in TYPES or name not in {name.lower(), name.upper()}:
                self._add(place.parts, "unknown-type", shown(name), keyword="type")
            elif name.isupper():
                self._add(place.parts, "upper-case-type", shown(name), keyword="type")
            else:
                self._once(place.parts, "lower-case-type", shown(name), keyword="type")
            if isinstance(value, str) and value.lower() == "null":
                self._add(place.parts, "null-type", shown(value))

    def look_at_enum(self, value: Any, _: Mapping[Any, Any], types: tuple[str, ...], place: _Place) -> None:
        """Look at the members of an `enum`, which are data."""
        numbers = [each for each in value if _is_number(each)]
        others = [each for each in value if not isinstance(each, str) and not _is_number(each)]
        letters = sum(len(each) for each in value if isinstance(each, str))
        if not value:
            self._add(place.parts, "empty-enum", "an empty `enum`")
        elif others:
            self._add(place.parts, "odd-enum", f"`enum` with {_shown_all(others)}")
        elif numbers and len(numbers) < len(value):
            self._add(place.parts, "mixed-enum", f"`enum` with {_shown_all(numbers)} beside text")
        elif numbers:
            pattern = "integer-enum" if all(number == int(number) for number in numbers) else "number-enum"
            self._add(place.parts, pattern, f"`enum` of {_shown_all(numbers)}")
        elif types and "string" not in types:
            self._add(place.parts, "enum-type", f"`enum` of {_shown_all(types)}")
        for number, each in enumerate(value):
            if each == "":
                self._add((*place.parts, number), "empty-enum-member", "an empty choice")
        self._choices += len(value)
        self._count_letters(letters, place.parts)
        if self._choices > self._facts.sizes["enum-count"]:
            self._once(place.parts, "enum-count", "`enum`")
        if len(value) > self._facts.sizes["long-enum"] and letters > self._facts.sizes["enum-length"]:
            self._add(place.parts, "enum-length", "`enum`")

    def look_at_required(self, value: Any, node: Mapping[Any, Any], types: tuple[str, ...], place: _Place) -> None:
        """Look for names that no property bears."""
        if place.is_partial:
            return
        properties = node.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        seen: set[str] = set()
        for number, name in enumerate(value):
            if name in seen:
                self._add((*place.parts, number), "repeated-name", shown(name), keyword="required")
            elif name not in declared and (types or declared):
                self._add((*place.parts, number), "undeclared-required", f"{shown(name)} is required and not declared")
            seen.add(name)

    def _look_at_owner(
        self, keyword: str, owner: str, node: Mapping[Any, Any], types: tuple[str, ...], place: _Place
    ) -> None:
        if not place.is_partial and (types or node.get("anyOf")) and owner not in types:
            said = _shown_all(types) if types else "`anyOf`"
            self._add(place.parts, f"{keyword}-not-{owner}", f"`{keyword}` beside {said}")

    def look_at_any_of(self, _: Any, node: Mapping[Any, Any], __: tuple[str, ...], place: _Place) -> None:
        """See what else the schema says."""
        beside = [key for key in node if key not in {"anyOf", "any_of"} and node[key] is not None]
        if beside:
            self._add(place.parts, "beside-anyOf", f"{_shown_all(beside)} beside `anyOf`")

    def look_at_ref(self, _: Any, node: Mapping[Any, Any], __: tuple[str, ...], place: _Place) -> None:
        """See what else the schema says."""
        allowed = {"description", "default", "definitions"}
        beside = [key for key in node if isinstance(key, str) and not key.startswith("$") and key not in allowed]
        if beside:
            self._add(place.parts, "beside-$ref", f"{_shown_all(beside)} beside `$ref`")

    def look_at_limit(self, value: Any, node: Mapping[Any, Any], _: tuple[str, ...], place: _Place) -> None:
        """See whether a limit of 0 gets lost."""
        keyword = str(place.parts[-1])
        name = self._facts.snake_case.get(keyword, keyword)
        if value == 0 and not _is_said(value, node.get("description")):
            pattern = "zero-bound" if name in NUMBERS else "zero-limit" if name.startswith("max") else "idle-limit"
            self._add(place.parts, pattern, f"`{keyword}: 0`", keyword=name)

    def look_at_pattern(self, value: Any, _: Mapping[Any, Any], __: tuple[str, ...], place: _Place) -> None:
        """See whether every engine of ECMA 262 reads it."""
        if portable(value) != value:
            self._add(place.parts, "pattern-dialect", shown(value), keyword="pattern")

    def look_at_defs(self, _: Any, __: Mapping[Any, Any], ___: tuple[str, ...], place: _Place) -> None:
        """See whether they stand at the root."""
        if len(place.parts) > 1:
            self._add(place.parts, "nested-defs", "`defs`")

    def look_at_const(self, value: Any, _: Mapping[Any, Any], __: tuple[str, ...], place: _Place) -> None:
        """Count its letters."""
        if isinstance(value, str):
            self._count_letters(len(value), place.parts)


_OWNERS: Final[Mapping[str, str]] = {"required": "object", "properties": "object", "items": "array"}
"""Keywords that Gemini refuses beside any other type."""
_LOOKS: Final[Mapping[str, Callable[[_Walk, Any, Mapping[Any, Any], tuple[str, ...], _Place], None]]] = {
    "type": _Walk.look_at_type,
    "enum": _Walk.look_at_enum,
    "const": _Walk.look_at_const,
    "required": _Walk.look_at_required,
    "anyOf": _Walk.look_at_any_of,
    "$ref": _Walk.look_at_ref,
    "defs": _Walk.look_at_defs,
    "pattern": _Walk.look_at_pattern,
    **dict.fromkeys(sorted(_LIMITS - {"pattern"}), _Walk.look_at_limit),
}


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) and _is_text(each) for each in value)


def _is_text(value: Any) -> bool:
    """Whether a value is text that UTF-8 can hold."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_type(value: Any) -> bool:
    """Whether `type` holds a name or different names; which names is another matter."""
    if not isinstance(value, list | tuple):
        return True
    return bool(value) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _is_id(value: Any) -> bool:
    return _is_text(value) and "#" not in value[:-1]


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and bool(_ANCHOR.fullmatch(value))


def _is_different_names(value: Any) -> bool:
    return _is_names(value) and len(set(value)) == len(value)


def _is_names_by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_different_names, value.values()))


def _is_dependencies(value: Any) -> bool:
    """Whether lists of names and schemas stand by name, as drafts before 2019 had it."""
    return isinstance(value, Mapping) and all(
        _is_different_names(each) for each in value.values() if isinstance(each, list | tuple)
    )


def _is_flags_by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_flag, value.values()))


_HOLDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(_FLAGS, _is_flag),
    **dict.fromkeys(_NAMES, _is_names),
    **dict.fromkeys(_DATA_LISTS, _is_list),
    **dict.fromkeys(_NAMED, _is_object),
    **dict.fromkeys(MANY_SCHEMAS - {"items"}, _is_schemas),
    "type": _is_type,
    "$id": _is_id,
    "$anchor": _is_anchor,
    "$dynamicAnchor": _is_anchor,
    "$recursiveAnchor": _is_anchor,
    "$vocabulary": _is_flags_by_name,
    "dependencies": _is_dependencies,
    "dependentRequired": _is_names_by_name,
}


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no double can hold
        return False


def _is_number_text(name: str, text: str) -> bool:
    """Whether proto-JSON reads `text` as the number that `name` holds."""
    if name in COUNTS:
        return bool(re.fullmatch(r"[0-9]{1,18}", text))
    return bool(re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", text))


def _is_said(limit: Any, description: Any) -> bool:
    """Whether a description names a limit."""
    if not isinstance(description, str) or not (isinstance(limit, str) or _is_number(limit)):
        return False
    if isinstance(limit, str):
        return bool(limit) and limit in description
    return re.search(rf"(?<![\w.]){re.escape(str(limit))}(?!\w|\.\d)", description) is not None


def _says_unique(description: Any) -> bool:
    return isinstance(description, str) and bool(_SAYS_UNIQUE.search(description))


def _is_typed_otherwise(node: Mapping[Any, Any]) -> bool:
    return any(node.get(keyword) not in (None, [], ()) for keyword in (*_COMBINATORS, "any_of", *_REFERENCES))


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _types(node: Mapping[Any, Any]) -> tuple[str, ...]:
    """Give the types a schema names, in lower case, where there is such a type."""
    said = node.get("type")
    names = said if isinstance(said, list | tuple) else (said,)
    return tuple(name.lower() for name in names if isinstance(name, str) and name.lower() in TYPES)


def _prefixes(parts: Parts) -> list[str]:
    """Give the JSON Pointers of a place and of all that it stands in."""
    return [json_pointer(parts[:length]) for length in range(len(parts) + 1)]


def _cyclic(leads: Mapping[str, set[str]]) -> set[str]:
    """Give the nodes of a graph that lie on a cycle or between two."""
    left = dict(leads)
    while True:
        reached = {target for targets in left.values() for target in targets}
        kept = {
            node: targets & left.keys() for node, targets in left.items() if node in reached and targets & left.keys()
        }
        if len(kept) == len(left):
            return set(kept)
        left = kept
