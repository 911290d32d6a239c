"""From a schema as it was written to its normal form, one node at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from toolmason.schema.findings import Finding, Severity, json_pointer
from toolmason.schema.keywords import (
    HOLDS,
    KINDS,
    LIMITS,
    OTHER_TYPE_NAMES,
    SILENT,
    Kind,
    is_small,
    json_text,
    key_of,
    kind_of,
)
from toolmason.schema.normal_form import (
    ALL,
    ANYTHING,
    Branch,
    Node,
    Place,
    Source,
    Unsaid,
    are_too_many,
    both,
    is_never,
    merged,
    settled,
    within,
)
from toolmason.schema.references import References, UnfollowableError
from toolmason.schema.wording import brief, count_words, list_words, with_sentences

MAX_DEPTH: Final = 40
"""References and combinations followed at one place before it is taken to say nothing."""
MAX_READ: Final = 20_000
"""Schemas read, each counted as often as it has to be; beyond, one is taken to say nothing."""
MAX_COMPARED_BRANCHES: Final = 200
"""Objects that are compared two by two; of more, without a tag, a value is taken to fit two."""
_MAX_CONSTANT: Final = 200
"""Parts of a constant object or array that are written out as a schema."""
_KEPT_ANNOTATIONS: Final = ("x-mcp-header",)
"""Annotations that MCP itself reads (2026-07-28, headers from arguments)."""
_ANNOTATIONS: Final = frozenset({"default", "deprecated", "description", "example", "examples", "title"})


class Reader:
    """Reads the nodes of one schema. What it has read it remembers; the schema is never changed."""

    def __init__(self, root: Any) -> None:
        self._references = References(root)
        self._read: dict[tuple[Any, ...], Node] = {}
        self._kept: list[Any] = []
        self._nested = 0
        self._looking = 0
        self._following: list[int] = []
        self._whole_nodes: dict[int, Node] = {}
        self._cut = 0
        self._left = MAX_READ
        self._choosing = 0
        self._made: set[int] = set()
        self._pointers: dict[int, str] = {}
        self.root: Place = (Source(root, ""),)

    def names(self) -> frozenset[str]:
        """Give every name of a property in the schema."""
        return self._references.property_names()

    def written_out(self, rule: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give keywords of the schema with their references written out; None where that cannot be done."""
        return self._references.written_out(rule)

    def node(self, place: Place) -> Node:
        """Give the normal form of what stands at `place`."""
        key = tuple(id(source.schema) for source in place)
        if key not in self._read:
            # A list that must hold itself is met again while it is looked into, and taken as it stands.
            self._read[key] = node = self._node(place)
            self._read[key] = self._without_lists_that_cannot_be(node)
        return self._read[key]

    def _without_lists_that_cannot_be(self, node: Node) -> Node:
        """Drop the lists that must hold an item where nothing fits."""
        if self._looking >= MAX_DEPTH:
            return node
        self._looking += 1
        try:
            branches = tuple(each for each in node.branches if not self._ends_too_soon(each))
        finally:
            self._looking -= 1
        return node if len(branches) == len(node.branches) else replace(node, branches=branches)

    def _ends_too_soon(self, found: Branch) -> bool:
        needed = found.limits.get("minItems", 0)
        places = (*found.prefix, found.items)[: int(min(needed, len(found.prefix) + 1))]
        return any(place and not self.node(place).branches for place in places)

    def _node(self, place: Place) -> Node:
        if not place:
            return Node(branches=ALL)
        nodes = [self._one(source) for source in place]
        first = nodes[0]
        for other in nodes[1:]:
            first = _all_of(first, other)
        return first if len(nodes) == 1 else replace(first, branches=merged(first.branches))

    def _one(self, source: Source) -> Node:
        schema, pointer = source
        if schema is True or schema == {}:
            return Node(branches=ALL, pointer=pointer)
        if schema is False:
            return Node(branches=(), pointer=pointer)
        if not isinstance(schema, dict):
            return _nothing_known(pointer, "malformed", f"`{_short(schema)}` stands where a schema belongs")
        if id(schema) in self._whole_nodes:
            return self._whole_nodes[id(schema)]
        pointer = self._pointers.setdefault(id(schema), pointer)
        self._left -= 1
        if self._nested > MAX_DEPTH or self._left < 0:
            return _nothing_known(pointer, "depth", "combinations and references nest too deep here to be followed")
        self._nested += 1
        before = self._cut
        try:
            node = self._whole(schema, pointer)
        finally:
            self._nested -= 1
        # What led back to what is being read may say more on another way.
        if self._cut == before:
            self._whole_nodes[id(schema)] = node
        return node

    def _whole(self, schema: dict[str, Any], pointer: str) -> Node:
        is_made = id(schema) in self._made
        facts, changes = ({**schema}, []) if is_made else _facts(schema, pointer)
        note = _Notes(changes, pointer, is_made=is_made)
        node = Node(branches=self._own(facts, note), pointer=pointer)
        if _BY_OTHERS.isdisjoint(facts):
            return _annotated(node, facts, note)
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in facts:
                node = self._referred(node, facts[keyword], keyword, note)
        node = self._combined(node, facts, note)
        if "const" in facts or "enum" in facts:
            node = self._chosen(node, facts, note)
        if facts.get("nullable") is True and not node.takes_null:
            node = replace(node, branches=(*node.branches, Branch(kind="null", pointer=pointer)))
            note.note("nullable", "`nullable` is OpenAPI's; JSON Schema says it with a union")
        node = self._conditional(node, facts, note)
        node = _without_others(node, facts, note, self._references)
        return _annotated(replace(node, branches=merged(node.branches)), facts, note)

    # What the node says by itself.

    def _own(self, facts: Mapping[str, Any], note: _Notes) -> tuple[Branch, ...]:
        kinds = _kinds(facts["type"], note) if "type" in facts else KINDS
        if kinds is KINDS and _ABOUT_VALUES.isdisjoint(facts):
            return ALL
        found = [self._branch(kind, facts, note) for kind in kinds]
        return tuple(each for each in map(settled, found) if each is not None)

    def _branch(self, kind: Kind, facts: Mapping[str, Any], note: _Notes) -> Branch:
        limits = {keyword: facts[keyword] for keyword in LIMITS[kind] if keyword in facts}
        if kind in {"integer", "number"}:
            limits = _old_bounds(limits, note)
            if isinstance(limits.get("multipleOf"), int) or float(limits.get("multipleOf", 0.5)).is_integer():
                kind = "integer"
                limits["multipleOf"] = int(limits["multipleOf"])
                if limits["multipleOf"] == 1:
                    del limits["multipleOf"]
        elif kind in {"string", "object", "array"}:
            limits = {name: int(value) if isinstance(value, float) else value for name, value in limits.items()}
            limits = {name: value for name, value in limits.items() if value not in (0, False) or name[:3] == "max"}
        if kind == "array" and facts.get("contains") in (True, {}):
            limits = _counted(limits, facts, note)
        if kind == "object":
            return self._object(limits, facts, note)
        if kind == "array":
            return self._array(limits, facts, note)
        unsaid = tuple(_encodings(facts, note)) if kind == "string" else ()
        return Branch(kind=kind, pointer=note.pointer, limits=limits, unsaid=unsaid)

    def _object(self, limits: Mapping[str, Any], facts: Mapping[str, Any], note: _Notes) -> Branch:
        written: Mapping[str, Any] = facts.get("properties", {})
        required = tuple(dict.fromkeys(facts.get("required", ())))
        properties = {name: self._place(value, note, "properties", name) for name, value in written.items()}
        rest = self._optional_place(facts, "additionalProperties", note)
        patterns = tuple(
            (pattern, self._place(value, note, "patternProperties", pattern))
            for pattern, value in facts.get("patternProperties", {}).items()
        )
        unsaid = tuple(_about_names(facts, note, self._references))
        return Branch(
            kind="object",
            pointer=note.pointer,
            limits=limits,
            properties=properties,
            required=required,
            rest=ANYTHING if facts.get("additionalProperties") in (True, {}) else rest,
            patterns=patterns,
            unsaid=unsaid,
        )

    def _array(self, limits: Mapping[str, Any], facts: Mapping[str, Any], note: _Notes) -> Branch:
        items = facts.get("items")
        places, rest = (
            (items, "additionalItems") if isinstance(items, list) else (facts.get("prefixItems", ()), "items")
        )
        keyword = "items" if isinstance(items, list) else "prefixItems"
        prefix = tuple(self._place(each, note, keyword, place) for place, each in enumerate(places))
        beyond = self._optional_place(facts, rest, note)
        if facts.get("unevaluatedItems") is False and beyond is None and _ONLY_ITEMS.isdisjoint(facts):
            beyond = self._place(False, note, "unevaluatedItems")
        return Branch(
            kind="array",
            pointer=note.pointer,
            limits=limits,
            prefix=prefix,
            items=None if beyond == ANYTHING else beyond,
            unsaid=tuple(_about_items(facts, note, self._references)),
        )

    def _optional_place(self, facts: Mapping[str, Any], keyword: str, note: _Notes) -> Place | None:
        value = facts.get(keyword)
        return None if value is None or value is True else self._place(value, note, keyword)

    def _place(self, schema: Any, note: _Notes, *parts: str | int) -> Place:
        """Give the place of a schema; where it is a reference alone, of what the reference leads to."""
        pointer = note.at(*parts)
        followed = 0
        while isinstance(schema, dict) and len(schema) == 1 and "$ref" in schema and followed < MAX_DEPTH:
            followed += 1
            address, refers = schema["$ref"], f"{pointer}/$ref"
            try:
                schema, pointer = self._references.target(address)
            except (UnfollowableError, AttributeError, TypeError):
                break
            message = f"`{address}` is written out"
            found = Finding(pointer=refers, pattern="$ref", severity=Severity.NOTE, lossy=False, message=message)
            note.changes.append(found)
        if schema is True or schema == {}:
            return ANYTHING
        if isinstance(schema, dict):
            pointer = self._pointers.setdefault(id(schema), pointer)
        return (Source(schema, pointer),)

    # What it says by way of other schemas.

    def _referred(self, node: Node, address: str, keyword: str, note: _Notes) -> Node:
        if keyword == "$recursiveRef":
            address = "#"
        try:
            schema, pointer = self._references.target(address)
        except UnfollowableError as error:
            note.refused(keyword, error.pattern, str(error))
            return node
        if id(schema) in self._following:
            self._cut += 1
            if self._choosing:
                note.note(keyword, f"`{address}` leads back to itself, and adds no alternative", pattern="$ref")
                return replace(node, branches=())
            note.refused(keyword, "$ref", f"`{address}` leads back to itself without saying anything")
            return node
        self._following.append(id(schema))
        try:
            found = self._one(Source(schema, pointer))
        finally:
            self._following.pop()
        note.note(keyword, f"`{address}` is written out", pattern="$ref")
        return _all_of(replace(node, description="", title=""), found)

    def _combined(self, node: Node, facts: Mapping[str, Any], note: _Notes) -> Node:
        for place, part in enumerate(facts.get("allOf", ())):
            node = _all_of(node, self._one(Source(part, note.at("allOf", place))))
        if "allOf" in facts:
            note.note("allOf", "the parts of `allOf` are joined into one schema")
        for keyword in ("anyOf", "oneOf"):
            if keyword in facts:
                node = self._alternatives(node, facts[keyword], keyword, note)
        return node

    def _alternatives(self, node: Node, parts: Sequence[Any], keyword: str, note: _Notes) -> Node:
        self._choosing += 1
        try:
            found = [self._one(Source(part, note.at(keyword, place))) for place, part in enumerate(parts)]
        finally:
            self._choosing -= 1
        note.changes += dict.fromkeys(change for each in found for change in each.changes)
        groups = [tuple(_told_apart(each, note)) for each in found]
        exclusive = keyword == "oneOf" and len(groups) > 1
        if exclusive:
            note.note("oneOf", "`oneOf` is said as `anyOf`")
        if exclusive and self._any_overlap(groups):
            rule = Unsaid({keyword: parts}, "Exactly one of the alternatives must fit", note.at(keyword))
            node = replace(node, unsaid=(*node.unsaid, rule))
        kept = tuple(each for group in groups for each in group)
        defaults = [each.default for each in found if each.has_default]
        if len(defaults) == 1 and not node.has_default:
            node = replace(node, default=defaults[0], has_default=True)
        union = replace(node, branches=merged(kept), description="", changes=(), unsaid=(), words=())
        return _all_of(node, union)

    def _any_overlap(self, groups: Sequence[Sequence[Branch]]) -> bool:
        """Whether a value can fit two of the alternatives. So many objects that it cannot be tried are taken to."""
        told: dict[tuple[str, Any], int] = {}
        kinds: dict[str, set[int]] = {}
        open_kinds: set[str] = set()
        objects: list[tuple[int, Branch]] = []
        for place, each in ((place, each) for place, group in enumerate(groups) for each in group):
            if each.kind == "object":
                objects.append((place, each))
                continue
            kind = "number" if each.kind == "integer" else each.kind
            kinds.setdefault(kind, set()).add(place)
            if each.choices is None:
                open_kinds.add(kind)
            elif any(told.setdefault(key_of(value), place) != place for value in each.choices):
                return True
        if any(len(kinds[kind]) > 1 for kind in open_kinds):
            return True
        if self._have_own_tags(objects):
            return False
        pairs = ((one[1], other[1]) for one, other in combinations(objects, 2) if one[0] != other[0])
        return len(objects) > MAX_COMPARED_BRANCHES or any(self._overlap(one, other) for one, other in pairs)

    def _have_own_tags(self, objects: Sequence[tuple[int, Branch]]) -> bool:
        """Whether a property that all of them require tells the alternatives apart by its choices."""
        names = dict.fromkeys(objects[0][1].required) if objects else {}
        return any(self._is_tag(name, objects) for name in names)

    def _is_tag(self, name: str, objects: Sequence[tuple[int, Branch]]) -> bool:
        told: dict[tuple[str, Any], int] = {}
        for place, each in objects:
            if name not in each.required or name not in each.properties:
                return False
            branches = self.node(each.properties[name]).branches
            if not branches or any(branch.choices is None for branch in branches):
                return False
            values = (value for branch in branches for value in branch.choices or ())
            if any(told.setdefault(key_of(value), place) != place for value in values):
                return False
        return True

    def _overlap(self, one: Branch, other: Branch) -> bool:
        """Whether a value can fit both, as far as types, choices and tags tell."""
        if not _may_share(one, other):
            return False
        if one.kind != "object" or other.kind != "object":
            return True
        if any(_shuts_out(each, by) for each, by in ((one, other), (other, one))):
            return False
        return all(
            self._may_share_property(one.properties[name], other.properties[name])
            for name in one.required
            if name in other.required and name in one.properties and name in other.properties
        )

    def _may_share_property(self, one: Place, other: Place) -> bool:
        # Not deeper than this: a tag is text or a number, and a type may hold itself.
        left, right = self.node(one).branches, self.node(other).branches
        return not left or not right or any(_may_share(each, known) for each in left for known in right)

    def _chosen(self, node: Node, facts: Mapping[str, Any], note: _Notes) -> Node:
        written = [facts["const"]] if "const" in facts else facts["enum"]
        if "const" in facts and "enum" in facts and key_of(facts["const"]) not in map(key_of, facts["enum"]):
            return replace(node, branches=())
        values = list({key_of(value): value for value in reversed(written)}.values())[::-1]
        if "const" in facts:
            note.note("const", "`const` is said as the only choice")
        branches = self._choice_branches(node.branches, values, note)
        if not branches and values and node.branches:
            message = "no value of the enumeration is of the type beside it; the values are taken as they are"
            note.add("enum" if "enum" in facts else "const", "enum-of-other-type", Severity.LOSSY, message)
            branches = self._choice_branches(ALL, values, note)
        return replace(node, branches=branches)

    def _choice_branches(self, branches: Sequence[Branch], values: Sequence[Any], note: _Notes) -> tuple[Branch, ...]:
        found: list[tuple[int, Branch]] = []
        for each in branches:
            fits = [value for value in values if _is_of(value, each.kind) and within(value, each.kind, each.limits)]
            if each.choices is not None:
                known = {key_of(value) for value in each.choices}
                fits = [value for value in fits if key_of(value) in known]
            if not fits:
                continue
            first = next(place for place, value in enumerate(values) if value is fits[0])
            found += [
                (first, narrowed)
                for narrowed in self._with_choices(each, fits, is_typed=branches is not ALL, note=note)
            ]
        return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))

    def _with_choices(self, found: Branch, values: list[Any], *, is_typed: bool, note: _Notes) -> Iterator[Branch]:
        pointer = found.pointer or note.pointer
        if found.kind in {"object", "array"}:
            for value in values:
                yield from both((found,), self._one(Source(self._constant(value, note), pointer)).branches)
        elif found.kind == "null" or (found.kind == "boolean" and len(values) == 2):
            yield replace(found, pointer=pointer)
        else:
            whole = found.kind == "number" and not is_typed and all(kind_of(each) == "integer" for each in values)
            chosen = replace(found, kind="integer" if whole else found.kind, choices=tuple(values), pointer=pointer)
            if (kept := settled(chosen)) is not None:
                yield kept

    def _constant(self, value: Any, note: _Notes) -> dict[str, Any]:
        """Give the schema of just this object or array."""
        left = [_MAX_CONSTANT]
        schema = _constant_schema(value, left)
        if left[0] <= 0:
            note.add(
                "const", "size", Severity.LOSSY, f"a value of more than {_MAX_CONSTANT} parts is not written out whole"
            )
        return self._remember(schema)

    def _remember(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Keep a schema of our own making. Schemas in it that somebody wrote stay known as such."""
        self._kept.append(schema)
        waiting: list[Any] = [schema]
        while waiting:
            each = waiting.pop()
            if isinstance(each, dict) and id(each) not in self._pointers and id(each) not in self._made:
                self._made.add(id(each))
                waiting += [*each.values(), *each.get("properties", {}).values()]
            elif isinstance(each, list):
                waiting += each
        return schema

    # What it says under conditions.

    def _conditional(self, node: Node, facts: Mapping[str, Any], note: _Notes) -> Node:
        unsaid: list[Unsaid] = []
        excluded = _excluded_kinds(facts["not"]) if "not" in facts else None
        if excluded is not None:
            node = replace(node, branches=tuple(each for each in node.branches if each.kind not in excluded))
        elif "not" in facts:
            words = _negated(self._references.quotable(facts["not"]))
            unsaid.append(Unsaid({"not": facts["not"]}, words, note.at("not")))
        if "if" in facts and ("then" in facts or "else" in facts):
            rule = {keyword: facts[keyword] for keyword in ("if", "then", "else") if keyword in facts}
            unsaid.append(Unsaid(rule, _condition_words(rule, self._references), note.at("if")))
        surfaced: dict[str, list[Source]] = {}
        for keyword in ("then", "else") if "if" in facts else ():
            self._surface(facts.get(keyword), note.at(keyword), surfaced)
        for keyword in ("dependentSchemas", "dependencies"):
            for name, part in facts.get(keyword, {}).items():
                self._surface(part, note.at(keyword, name), surfaced)
        branches = node.branches
        if surfaced:
            branches = tuple(self._with_surfaced(each, surfaced) for each in branches)
            for name in surfaced:
                if any(each.kind == "object" and name in each.properties for each in node.branches):
                    continue
                message = f"`{name}` is named under a condition only; it is declared as it is there for every call"
                note.add(next(each for each in _CONDITIONS if each in facts), "condition", Severity.NARROWED, message)
        return replace(node, branches=branches, unsaid=(*node.unsaid, *unsaid))

    def _surface(self, part: Any, pointer: str, surfaced: dict[str, list[Source]]) -> None:
        """Note the properties that a condition brings with it: a model must see them to give them."""
        if not isinstance(part, dict):
            return
        for each in self._one(Source(part, pointer)).branches:
            if each.kind == "object":
                for name, place in each.properties.items():
                    surfaced.setdefault(name, []).extend(place or (Source({}, pointer),))

    def _with_surfaced(self, found: Branch, surfaced: Mapping[str, list[Source]]) -> Branch:
        if found.kind != "object" or (is_never(found.rest) and not found.patterns):
            return found
        more = {name: self._any_of(sources) for name, sources in surfaced.items() if name not in found.properties}
        return replace(found, properties={**found.properties, **more})

    def _any_of(self, sources: Sequence[Source]) -> Place:
        """Give the place where one of `sources` holds."""
        by_id: dict[int, Source] = {}
        for each in sources:
            by_id.setdefault(id(each.schema), each)
        by_key: dict[tuple[str, Any], Source] = {}
        for each in by_id.values():
            by_key.setdefault(key_of(each.schema), each)
        different = list(by_key.values())
        if len(different) == 1:
            return (different[0],)
        schema = self._remember({"anyOf": [each.schema for each in different]})
        return (Source(schema, different[0].pointer),)

    def either(self, places: Sequence[Place]) -> Place:
        """Give the place where what stands at one of `places` may stand."""
        sources: list[Source] = []
        for place in places:
            if place == ANYTHING:
                return ANYTHING
            if len(place) == 1:
                sources.append(place[0])
            else:
                schema = self._remember({"allOf": [source.schema for source in place]})
                sources.append(Source(schema, place[0].pointer))
        return self._any_of(sources)


class _Notes:
    """Collects what is changed at one schema."""

    def __init__(self, changes: list[Finding], pointer: str, *, is_made: bool = False) -> None:
        self.changes = changes
        self.pointer = pointer
        self._is_made = is_made

    def at(self, *parts: str | int) -> str:
        """Give the place of a part; of a schema that we made ourselves, what it was made from."""
        return self.pointer if self._is_made else self.pointer + json_pointer(parts)

    def add(self, keyword: str, pattern: str, severity: Severity, message: str) -> None:
        if self._is_made and severity is Severity.NOTE:
            return
        lossy = severity is not Severity.NOTE
        place = self.at(keyword)
        self.changes.append(Finding(pointer=place, pattern=pattern, severity=severity, lossy=lossy, message=message))

    def note(self, keyword: str, message: str, *, pattern: str = "") -> None:
        self.add(keyword, pattern or keyword, Severity.NOTE, message)

    def refused(self, keyword: str, pattern: str, message: str) -> None:
        self.add(keyword, pattern, Severity.REFUSED, message)


def _nothing_known(pointer: str, pattern: str, message: str) -> Node:
    finding = Finding(pointer=pointer, pattern=pattern, severity=Severity.REFUSED, lossy=True, message=message)
    return Node(branches=ALL, pointer=pointer, changes=(finding,))


def _all_of(one: Node, other: Node) -> Node:
    """Give the node of what fits both; what `one` says for people wins."""
    given_up: tuple[Finding, ...] = ()
    if are_too_many(one.branches, other.branches):
        message = "two unions that must both hold have too many pairs of alternatives; only the first one is kept"
        severity = Severity.LOSSY
        given_up = (Finding(pointer=one.pointer, pattern="allOf", severity=severity, lossy=True, message=message),)
    return replace(
        one,
        branches=both(one.branches, other.branches),
        description=one.description or other.description,
        title=one.title or other.title,
        words=one.words + tuple(each for each in other.words if each not in one.words),
        default=one.default if one.has_default else other.default,
        has_default=one.has_default or other.has_default,
        unsaid=one.unsaid + tuple(each for each in other.unsaid if each not in one.unsaid),
        extra={**other.extra, **one.extra},
        changes=tuple(dict.fromkeys((*one.changes, *other.changes, *given_up))),
    )


_ONLY_ITEMS: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "contains"})
"""Keywords beside which `unevaluatedItems: false` is more than `items: false`."""
_CONDITIONS: Final = ("if", "dependentSchemas", "dependencies", "then", "else")
_BY_OTHERS: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "const", "enum", "nullable", "not", "if"}
    | {"then", "else", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords that need more than what stands beside them."""
_ABOUT_VALUES: Final = frozenset(
    {keyword for keywords in LIMITS.values() for keyword in keywords}
    | {"additionalItems", "additionalProperties", "contains", "contentEncoding", "contentMediaType", "dependencies"}
    | {"dependentRequired", "dependentSchemas", "items", "patternProperties", "prefixItems", "properties"}
    | {"propertyNames", "required", "unevaluatedItems"}
)


def _facts(schema: Mapping[str, Any], pointer: str) -> tuple[dict[str, Any], list[Finding]]:
    """Give the keywords that mean something, each with a value it can hold, and what was left out."""
    facts: dict[str, Any] = {}
    changes: list[Finding] = []
    note = _Notes(changes, pointer)
    for keyword, value in schema.items():
        holds = HOLDS.get(keyword)
        if holds is None:
            if keyword in _KEPT_ANNOTATIONS:
                facts[keyword] = value
            elif keyword not in {"$defs", "definitions"}:
                name = keyword if isinstance(keyword, str) else _short(keyword)
                why = _WHY_LEFT_OUT.get(keyword) or (_SAYS_NOTHING if keyword in SILENT else _unread(name))
                note.note(name, f"`{name}` is left out: {why}")
        elif holds(value):
            facts[keyword] = value
        elif value is None:
            note.note(keyword, f"`{keyword}` is null, and left out", pattern="null-keyword")
        else:
            message = f"`{keyword}` cannot be `{_short(value)}`, and is left out"
            note.add(keyword, "malformed", Severity.LOSSY, message)
    return facts, changes


def _unread(keyword: str) -> str:
    meant = _BY_LETTERS.get(_letters(keyword))
    return f"no provider reads it; did you mean `{meant}`?" if meant else "no provider reads it"


def _letters(keyword: str) -> str:
    """Give what a keyword shares with its misspellings: letters in another case or order, and marks between words."""
    return "".join(sorted(keyword.lower().replace("_", "").replace("-", "")))


_BY_LETTERS: Final = {_letters(keyword): keyword for keyword in HOLDS}
_SAYS_NOTHING: Final = "it says nothing to a model"
_WHY_LEFT_OUT: Final = {"propertyOrdering": "properties stand in the order in which they are declared"}


def _short(value: Any) -> str:
    if not is_small(value):
        return type(value).__name__
    text = json_text(value) or type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."


def _kinds(written: str | list[str], note: _Notes) -> tuple[Kind, ...]:
    names = [written] if isinstance(written, str) else written
    if isinstance(written, list):
        note.note("type", "a list of types is said as a union", pattern="type-array")
    found: list[Kind] = []
    for name in names:
        plain = name.lower()
        if plain in KINDS or plain == "integer":
            if plain != name:
                note.note("type", f"`{name}` is a provider's spelling of `{plain}`", pattern="type-case")
            found.append(plain)  # type: ignore[arg-type]
            continue
        other = OTHER_TYPE_NAMES.get(plain)
        message = f"`{name}` is no type of JSON Schema; it is read as `{other or 'any'}`"
        note.add("type", "unknown-type", Severity.LOSSY, message)
        found += KINDS if other is None else (other,)
    # An integer is a number, and whatever limits the one beside the type limits the other.
    return tuple(kind for kind in dict.fromkeys(found) if kind != "integer" or "number" not in found)


def _old_bounds(limits: Mapping[str, Any], note: _Notes) -> dict[str, Any]:
    """Read draft-04's `exclusiveMinimum: true`, which makes `minimum` exclusive."""
    found = dict(limits)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if not isinstance(found.get(exclusive), bool):
            continue
        note.note(exclusive, f"a boolean `{exclusive}` is draft-04's")
        if found.pop(exclusive) and bound in found:
            found[exclusive] = found.pop(bound)
    return found


def _counted(limits: Mapping[str, Any], facts: Mapping[str, Any], note: _Notes) -> dict[str, Any]:
    """Read `contains` of anything, which counts the items."""
    note.note("contains", "`contains` of anything is said as a number of items")
    found = dict(limits)
    lowest = max(int(facts.get("minContains", 1)), found.get("minItems", 0))
    if lowest:
        found["minItems"] = lowest
    if "maxContains" in facts:
        highest = int(facts["maxContains"])
        found["maxItems"] = min(highest, found.get("maxItems", highest))
    return found


def _encodings(facts: Mapping[str, Any], note: _Notes) -> Iterator[Unsaid]:
    for keyword, words in (("contentEncoding", "Encoded as {}"), ("contentMediaType", "Media type: {}")):
        if keyword in facts:
            yield Unsaid({keyword: facts[keyword]}, words.format(facts[keyword]), note.at(keyword))


def _about_names(facts: Mapping[str, Any], note: _Notes, references: References) -> Iterator[Unsaid]:
    dependent = (
        (keyword, name, needs)
        for keyword in ("dependentRequired", "dependencies", "dependentSchemas")
        for name, needs in facts.get(keyword, {}).items()
    )
    for keyword, name, needs in dependent:
        at = note.at(keyword, name)
        if isinstance(needs, list) and HOLDS["required"](needs):
            if needs:
                words = f"With `{name}` give also {list_words([f'`{each}`' for each in needs], 'and')}"
                yield Unsaid({"dependentRequired": {name: needs}}, words, at)
        elif needs is False:
            yield Unsaid({"dependentSchemas": {name: False}}, f"Do not give `{name}`", at)
        elif isinstance(needs, dict):
            if needs:
                words = f"With `{name}` the whole must fit {brief(references.quotable(needs))}"
                yield Unsaid({"dependentSchemas": {name: needs}}, words, at)
        elif needs is not True:
            message = f"`{keyword}` cannot hold `{_short(needs)}`, which is left out"
            note.changes.append(
                Finding(pointer=at, pattern="malformed", severity=Severity.LOSSY, lossy=True, message=message)
            )
    names = facts.get("propertyNames")
    if isinstance(names, dict) and names and names != {"type": "string"}:
        plain = references.quotable(names)
        only_pattern = plain.get("pattern") if isinstance(plain, dict) and plain.keys() <= {"type", "pattern"} else None
        words = f"Names must match `{only_pattern}`" if only_pattern else f"Names must fit {brief(plain)}"
        yield Unsaid({"propertyNames": names}, words, note.at("propertyNames"))


def _about_items(facts: Mapping[str, Any], note: _Notes, references: References) -> Iterator[Unsaid]:
    if "contains" not in facts or facts["contains"] in (True, {}):
        return
    lowest, highest = facts.get("minContains", 1), facts.get("maxContains")
    if not lowest and highest is None:
        note.note("contains", "`contains` asks for nothing where `minContains` is 0")
        return
    rule = {name: facts[name] for name in ("contains", "minContains", "maxContains") if name in facts}
    count, verb = count_words(lowest or None, highest, "items"), "must" if lowest else "may"
    yield Unsaid(rule, f"{count} {verb} fit {brief(references.quotable(rule['contains']))}", note.at("contains"))


def _told_apart(node: Node, note: _Notes) -> Iterator[Branch]:
    """Give the branches of an alternative, each with what the alternative says of itself."""
    text = node.description or (node.title if len(node.branches) == 1 else "")
    for each in node.branches:
        told = text if not each.text or each.text in text else f"{text} {each.text}".strip()
        told = with_sentences(told, node.words)
        unsaid = each.unsaid + node.unsaid
        if unsaid and each.choices is not None:
            # Choices are joined by their texts, so a rule among them has to be one.
            told, unsaid = with_sentences(told, [rule.words for rule in unsaid]), ()
            message = "a rule about choices is said in the description"
            note.changes.append(
                Finding(pointer=each.pointer, pattern="enum", severity=Severity.LOSSY, lossy=True, message=message)
            )
        yield replace(each, text=told, unsaid=unsaid)


def _may_share(one: Branch, other: Branch) -> bool:
    """Whether a value can be of both types, and among the choices of both."""
    if one.kind != other.kind and {one.kind, other.kind} != {"integer", "number"}:
        return False
    if one.choices is None or other.choices is None:
        return True
    return not {key_of(each) for each in one.choices}.isdisjoint(map(key_of, other.choices))


def _shuts_out(found: Branch, by: Branch) -> bool:
    """Whether `by` refuses a property that `found` requires."""
    return is_never(by.rest) and not by.patterns and any(name not in by.properties for name in found.required)


def _without_others(node: Node, facts: Mapping[str, Any], note: _Notes, references: References) -> Node:
    """Read `unevaluatedProperties` and `unevaluatedItems`: what nothing else speaks about."""
    rest = facts.get("unevaluatedProperties")
    objects = [each for each in node.branches if each.kind == "object"]
    # With alternatives, a value may fit several and hold what each names, so none is closed by itself.
    if rest is False and len(objects) == 1 and objects[0].rest is None and not objects[0].patterns:
        closed = replace(objects[0], rest=(Source(False, note.at("unevaluatedProperties")),))
        node = replace(node, branches=tuple(closed if each is objects[0] else each for each in node.branches))
        rest = None
    unsaid: list[Unsaid] = []
    for keyword, value, what in (
        ("unevaluatedProperties", rest, "properties"),
        ("unevaluatedItems", facts.get("unevaluatedItems"), "items"),
    ):
        if isinstance(value, dict) and value:
            words = f"Other {what} must fit {brief(references.quotable(value))}"
            unsaid.append(Unsaid({keyword: value}, words, note.at(keyword)))
        elif value is False and (keyword == "unevaluatedProperties" or not _ONLY_ITEMS.isdisjoint(facts)):
            unsaid.append(Unsaid({keyword: value}, f"No other {what}", note.at(keyword)))
    return replace(node, unsaid=(*node.unsaid, *unsaid)) if unsaid else node


def _is_of(value: Any, kind: Kind) -> bool:
    of = kind_of(value)
    return of == kind or (of == "integer" and kind == "number")


def _constant_schema(value: Any, left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    if left[0] > 0 and isinstance(value, dict):
        properties = {str(name): _constant_schema(each, left) for name, each in value.items()}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    if left[0] > 0 and isinstance(value, list):
        parts = [_constant_schema(each, left) for each in value]
        size = {"minItems": len(parts), "maxItems": len(parts)}
        return {"type": "array", **({"prefixItems": parts} if parts else {}), "items": False, **size}
    return {"const": value} if not isinstance(value, dict | list) else {"type": kind_of(value)}


def _negated(part: Any) -> str:
    if isinstance(part, dict) and part.keys() == {"enum"} and isinstance(part["enum"], list):
        return f"Must not be one of {', '.join(_short(each) for each in part['enum'])}"
    if isinstance(part, dict) and part.keys() == {"const"}:
        return f"Must not be {_short(part['const'])}"
    if isinstance(part, dict) and part.keys() == {"required"} and HOLDS["required"](part["required"]):
        return f"Do not give {list_words([f'`{each}`' for each in part['required']], 'and')} together"
    return f"Must not fit {brief(part)}"


def _excluded_kinds(part: Any) -> frozenset[str] | None:
    """Give the types that `not` takes away whole; None where it does something else."""
    if part is True or part in ({}, {"required": []}):
        return frozenset({*KINDS, "integer"})
    if not isinstance(part, dict) or part.keys() != {"type"} or not HOLDS["type"](part["type"]):
        return frozenset() if part is False else None
    names = frozenset([part["type"]] if isinstance(part["type"], str) else part["type"])
    if not names <= {*KINDS, "integer"} or ("integer" in names and "number" not in names):
        return None
    return names | {"integer"} if "number" in names else names


def _condition_words(rule: Mapping[str, Any], references: References) -> str:
    said = {keyword: brief(references.quotable(part)) for keyword, part in rule.items()}
    words = f"If it fits {said['if']}"
    words += f", it must fit {said['then']}" if "then" in said else ", nothing more is asked"
    return words + (f"; otherwise {said['else']}" if "else" in said else "")


def _annotated(node: Node, facts: Mapping[str, Any], note: _Notes) -> Node:
    words = node.words
    if facts.get("deprecated") is True:
        words = (*words, "Deprecated")
    examples = facts.get("examples", [facts["example"]] if "example" in facts else [])
    if examples and (said := _example_words(examples)):
        words = (*words, said)
    for keyword in ("deprecated", "examples", "example"):
        if keyword in facts:
            note.note(keyword, f"`{keyword}` is said in the description, as far as it is short")
    changes = tuple(note.changes)
    extra = {keyword: facts[keyword] for keyword in _KEPT_ANNOTATIONS if keyword in facts}
    if facts.keys().isdisjoint(_ANNOTATIONS) and not extra:
        return replace(node, changes=tuple(dict.fromkeys((*node.changes, *changes))))
    return replace(
        node,
        pointer=note.pointer,
        description=facts.get("description", "").strip() or node.description,
        title=facts.get("title", "") or node.title,
        words=words,
        default=facts.get("default", node.default),
        has_default="default" in facts or node.has_default,
        extra={**node.extra, **extra},
        changes=tuple(dict.fromkeys((*node.changes, *changes))),
    )


def _example_words(examples: Sequence[Any]) -> str:
    short = [_short(each) for each in examples if isinstance(each, str | int | float) and len(str(each)) <= 50][:2]
    return f"For example {' or '.join(short)}" if short else ""
