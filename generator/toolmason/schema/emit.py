"""From the normal form to the schema of one dialect, within bounds."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from toolmason.schema.check import check
from toolmason.schema.findings import Finding, Severity, json_pointer
from toolmason.schema.keywords import KINDS, LIMITS, is_small, json_text, kind_of
from toolmason.schema.names import Names
from toolmason.schema.normal_form import ALL, ANYTHING, Branch, Node, Place, Source, Unsaid, inclusive, is_never, joined
from toolmason.schema.normalize import Reader
from toolmason.schema.patterns import fits, portable
from toolmason.schema.providers import Null, providers
from toolmason.schema.references import schemas
from toolmason.schema.target import Target
from toolmason.schema.wording import (
    choice_words,
    count_words,
    limit_sentences,
    list_words,
    meant,
    sentence,
    with_sentences,
)

MAX_NODES: Final = 10_000
"""Schemas in what is written. Real ones have under 1,000; what is beyond stands open."""
MAX_UNROLLED_NODES: Final = 1_500
"""The same where a schema holds itself; beyond, it is unrolled less often."""
MAX_DEPTH: Final = 24
"""How deep what is written may nest."""
MAX_TEXT: Final = 1_000_000
"""Characters of descriptions and choices."""
MAX_UNROLLED: Final = 2
"""How often a schema that holds itself is written out inside itself."""
MAX_RUNS: Final = 12
"""Runs of integers that are said as alternatives."""

JsonSchema = dict[str, Any]
Part = tuple[JsonSchema, str]
"""A schema of one type, and what describes it."""


class OverBudgetError(Exception):
    """More would be written than is allowed, and the schema holds itself: fewer levels may do."""


class Writer:
    """Writes one schema for one dialect. `levels` says how often what holds itself is unrolled."""

    def __init__(self, reader: Reader, target: Target, names: Names, levels: int) -> None:
        self._reader = reader
        self._target = target
        self._dialect = providers().dialects[target]
        self._names = names
        self._levels = levels
        self._left = MAX_NODES
        self._taken: dict[str, bool] = {}
        self._text_left = MAX_TEXT
        self._around: dict[tuple[int, ...], int] = {}
        self._level = 0
        self._holds_itself = False
        self._found: dict[tuple[str, str, str], Finding] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was changed, in the order it was met."""
        return tuple(self._found.values())

    # The root is always one object.

    def root(self) -> JsonSchema:
        """Write the whole.

        Raises:
            OverBudgetError: fewer levels of what holds itself may fit.
        """
        node = self._reader.node(self._reader.root)
        self._report(node.changes)
        objects = [each for each in node.branches if each.kind == "object"]
        if not objects or len(objects) < len(node.branches):
            self._other_roots(node, objects)
        if not objects:
            objects, node = [Branch(kind="object", pointer="")], replace(node, unsaid=())
        words = list(node.words)
        merged = self._one_object(objects, words) if len(objects) > 1 else objects[0]
        self._around[_key(self._reader.root)] = 1
        schema, text = self._object(merged, node.description)
        rules = [*node.unsaid, *merged.unsaid]
        if "properties" not in schema:
            schema = {"type": schema["type"], "properties": {}, **schema}
        if self._dialect.closes_and_requires_all and rules and not schema["properties"]:
            self._find("", "additionalProperties", Severity.NARROWED, _CLOSED)
        text = self._with_rules(schema, with_sentences(text, words), rules, at_root=True)
        return _in_order(self._described(schema, self._in_shown_names(text)))

    def _other_roots(self, node: Node, objects: Sequence[Branch]) -> None:
        others = list_words([each.kind for each in node.branches if each.kind != "object"] or ["nothing"], "or")
        if not objects:
            self._find("", "root-not-object", Severity.REFUSED, f"arguments are an object, and this asks for {others}")
        elif {each.kind for each in node.branches}.issuperset(KINDS):
            self._find("", "root-not-object", Severity.NOTE, "arguments are an object; the type is now said")
        else:
            self._find("", "root-not-object", Severity.NARROWED, f"arguments are an object; {others} is left out")

    def _one_object(self, objects: Sequence[Branch], words: list[str]) -> Branch:
        """Join alternatives of a root, which no provider takes as such."""
        first = objects[0]
        names = list(dict.fromkeys(name for each in objects for name in each.properties))
        # Where one alternative says nothing of a name, anything may stand there, and what another says is taken.
        narrows = any(name not in each.properties and not is_never(each.rest) for each in objects for name in names)
        severity = Severity.NARROWED if narrows else Severity.LOSSY
        message = "alternatives at the root are joined; the description names them"
        self._find(first.pointer, "root-union", severity, message)
        properties = {
            name: self._reader.either([each.properties[name] for each in objects if name in each.properties])
            for name in names
        }
        required = tuple(name for name in first.required if all(name in each.required for each in objects[1:]))
        declared = {*names, *required}
        if self._dialect.closes_and_requires_all and any(not declared.issuperset(each.required) for each in objects):
            self._find(first.pointer, "additionalProperties", Severity.NARROWED, _CLOSED)
        words.append(self._alternative_words(objects, required))
        words += [rule.words for each in objects for rule in each.unsaid]
        shared = {
            name: value
            for name, value in first.limits.items()
            if all(each.limits.get(name) == value for each in objects)
        }
        words += [said for each in objects if dict(each.limits) != shared for said in limit_sentences(each.limits)]
        has_rest = all(each.rest == first.rest for each in objects) or all(is_never(each.rest) for each in objects)
        has_patterns = all(each.patterns == first.patterns for each in objects)
        if not (has_rest and has_patterns):
            message = "what other names may hold differs between the alternatives, and is left out"
            self._find(first.pointer, "additionalProperties", Severity.LOSSY, message)
        return Branch(
            kind="object",
            pointer=first.pointer,
            limits=shared,
            properties=properties,
            required=required,
            rest=first.rest if has_rest else None,
            patterns=first.patterns if has_patterns else (),
        )

    def _alternative_words(self, objects: Sequence[Branch], common: Sequence[str]) -> str:
        """Say what each alternative asks for: its tag, and what it requires that not all do."""
        said: list[str] = []
        differ_in_names = len({tuple(each.properties) for each in objects}) > 1
        for each in objects:
            tags = [
                f"`{self._names.shown(name)}` = {_json(value)}"
                for name, place in each.properties.items()
                if (value := self._only_choice(place)) is not None
            ]
            needs = [
                f"`{self._names.shown(name)}`"
                for name in each.required
                if name not in common and not self._is_tag(each, name)
            ]
            if not needs and differ_in_names and not tags:
                needs = [f"`{self._names.shown(name)}`" for name in each.properties if name not in common]
            part = list_words(needs, "and") if needs else "nothing more"
            what = f"{' and '.join(tags)} with {part}" if tags and needs else " and ".join(tags) or part
            said.append(f"{what} ({each.text.rstrip('.')})" if each.text else what)
        return f"Give {'; or '.join(dict.fromkeys(said))}"

    def _is_tag(self, each: Branch, name: str) -> bool:
        return name in each.properties and self._only_choice(each.properties[name]) is not None

    def _only_choice(self, place: Place) -> Any:
        branches = self._reader.node(place).branches
        choices = branches[0].choices if len(branches) == 1 else None
        return choices[0] if choices is not None and len(choices) == 1 else None

    # A value anywhere below it.

    def value(self, place: Place, at: str, *, optional: bool = False) -> JsonSchema | None:
        """Write what may stand at `place`, whose pointer is `at` where no schema is there; None where nothing can."""
        node = self._reader.node(place) if place else Node(branches=ALL, pointer=at)
        self._report(node.changes)
        if not node.branches:
            return None
        self._left -= 1
        key = _key(place)
        depth = self._around.get(key, 0)
        if depth > self._levels and key:
            self._holds_itself = True
            return self._stand_in(node, "recursion", "it holds itself; deeper levels take anything", optional=optional)
        if self._dialect.most_levels is not None and self._level >= self._dialect.most_levels:
            message = f"the provider takes {self._dialect.most_levels} levels"
            self._find("", "depth", Severity.REFUSED, message)
        if self._level >= MAX_DEPTH:
            return self._stand_in(
                node,
                "depth",
                f"it nests deeper than {MAX_DEPTH} levels; what is below takes anything",
                optional=optional,
            )
        if self._holds_itself and self._levels and self._left < MAX_NODES - MAX_UNROLLED_NODES:
            raise OverBudgetError
        spent = MAX_NODES - self._left
        if spent > MAX_NODES or self._text_left < 0 or (self._holds_itself and spent > 2 * MAX_UNROLLED_NODES):
            return self._stand_in(node, "size", _TOO_MANY_PARTS, optional=optional)
        self._around[key] = depth + 1
        self._level += 1
        try:
            return _in_order(self._node(node, optional=optional))
        finally:
            self._around[key] = depth
            self._level -= 1

    def _stand_in(self, node: Node, pattern: str, message: str, *, optional: bool) -> JsonSchema:
        """Write the types alone of what cannot be written out."""
        kinds = list(dict.fromkeys(each.kind for each in node.branches))
        self._find(node.pointer, pattern, Severity.NARROWED if "array" in kinds else Severity.LOSSY, message)
        bare = Node(branches=tuple(Branch(kind=kind, pointer=node.pointer) for kind in kinds), pointer=node.pointer)
        if bare.takes_anything:
            return self._any_value(bare, optional=optional)
        parts = [part for each in bare.branches if each.kind != "null" for part in self._parts(each)]
        return self._union(parts, bare, optional=optional)

    def _node(self, node: Node, *, optional: bool) -> JsonSchema:
        self._report_title(node)
        if node.takes_anything:
            found = self._any_value(node, optional=optional)
        else:
            branches = [
                each if each.pointer or not node.pointer else replace(each, pointer=node.pointer)
                for each in self._without_required_only(node)
                if each.kind != "null"
            ]
            if branches and not self._dialect.takes_beside_union:
                branches[0] = replace(branches[0], text=_before(node.description, branches[0].text))
                node = replace(node, description="")
            parts = [part for each in branches for part in self._parts(self._affordable(each))]
            found = self._union(parts, node, optional=optional)
        for keyword, value in node.extra.items():
            if keyword in self._dialect.keeps:
                found[keyword] = _copied(value)
        return found

    def _affordable(self, found: Branch) -> Branch:
        """Give an alternative, or its type alone where no part of it could be written any more."""
        if self._left >= 0:
            return found
        severity = Severity.NARROWED if found.kind == "array" else Severity.LOSSY
        self._find(found.pointer, "size", severity, _TOO_MANY_PARTS)
        return Branch(kind=found.kind, pointer=found.pointer)

    def _any_value(self, node: Node, *, optional: bool) -> JsonSchema:
        if self._dialect.takes_empty_schema:
            found: JsonSchema = {}
            text = with_sentences(node.description, node.words)
            text = self._with_rules(found, text, node.unsaid)
            return self._with_default(self._described(found, text), node)
        self._find(node.pointer, "any", Severity.NARROWED, f"any value is said as a union of all types; {_SHALLOW}")
        at = node.pointer
        parts = [part for kind in KINDS if kind != "null" for part in self._parts(Branch(kind=kind, pointer=at))]
        return self._union(parts, replace(node, branches=ALL), optional=optional)

    def _anything(self, levels: int) -> JsonSchema:
        """Write a schema of any value; arrays in it are typed for `levels` more levels."""
        if self._dialect.takes_empty_schema:
            return {}
        kinds = [kind for kind in KINDS if kind != "null" and (kind != "array" or levels > 0)]
        parts: list[JsonSchema] = []
        for kind in kinds:
            part: JsonSchema = {"type": self._type(kind)}
            if kind == "array":
                part["items"] = self._anything(levels - 1)
            if kind == "object":
                self._close_open_object(part)
            parts.append(part)
        self._add_null(parts, Null.NULLABLE if self._dialect.null is Null.NULLABLE else Null.BRANCH)
        return {"anyOf": parts}

    # Unions.

    def _union(self, parts: list[Part], node: Node, *, optional: bool) -> JsonSchema:
        null = self._null(node, has_others=bool(parts), optional=optional)
        rules = node.unsaid
        if not parts:
            return self._only_null(node)
        if len(parts) == 1 and null is not Null.BRANCH:
            schema, text = parts[0]
            if null is Null.NULLABLE:
                schema = {"type": schema.pop("type"), "nullable": True, **schema}
            text = with_sentences(_before(node.description, text), node.words)
            text = self._with_rules(schema, text, rules)
            return self._with_default(self._described(schema, text), node)
        text = with_sentences(node.description, node.words)
        beside: JsonSchema = {}
        if self._dialect.takes_beside_union:
            text = self._with_rules(beside, text, rules)
            found = self._distinct([self._described(*part) for part in parts])
            if self._dialect.takes_empty_schema and null is not None and _take_anything(found):
                return self._with_default(self._described(beside, text), node)
        else:
            text = with_sentences(text, self._said_rules(rules))
            told = [(schema, _before(text, own) if place == 0 else own) for place, (schema, own) in enumerate(parts)]
            found = self._distinct([self._described(*part) for part in told])
        if null is not None:
            self._add_null(found, null)
        if len(found) == 1:
            return self._with_default({**found[0], **beside}, node)
        if self._dialect.takes_beside_union:
            return self._with_default(self._described({"anyOf": found, **beside}, text), node)
        self._default_inside(found, node)
        return {"anyOf": found}

    def _add_null(self, found: list[JsonSchema], null: Null) -> None:
        if null is Null.NULLABLE:
            found[0] = {"type": found[0]["type"], "nullable": True, **found[0]}
        elif self._dialect.nests_null and len(found) > 1:
            found[0] = {"anyOf": [found[0], {"type": "null"}]}
        else:
            found.append({"type": "null"})

    def _distinct(self, parts: Sequence[JsonSchema]) -> list[JsonSchema]:
        found: list[JsonSchema] = []
        for each in parts:
            if each not in found:
                found.append(each)
        return found

    def _null(self, node: Node, *, has_others: bool, optional: bool) -> Null | None:
        """Decide how null is said; None where it is not."""
        takes = node.takes_null
        if self._dialect.closes_and_requires_all and optional:
            takes = True
        if not takes:
            return None
        if self._dialect.null is Null.ABSENT and has_others and optional:
            self._drop_null(node)
            return None
        if self._dialect.null is Null.NULLABLE:
            return Null.NULLABLE
        return Null.BRANCH if has_others else None

    def _drop_null(self, node: Node) -> None:
        if node.has_default and node.default is not None:
            message = f"null is not offered, and leaving it out means {_json(node.default)}"
            self._find(node.pointer, "null", Severity.NARROWED, message)
        else:
            self._find(node.pointer, "null", Severity.NOTE, "null is not offered: it is left out instead")

    def _only_null(self, node: Node) -> JsonSchema:
        text = with_sentences(node.description, node.words)
        if self._dialect.has_null_type:
            return self._described({"type": self._type("null")}, text)
        self._find(node.pointer, "null", Severity.LOSSY, "there is no type for null alone")
        return self._described({"type": self._type("string"), "nullable": True}, with_sentences(text, ["Must be null"]))

    def _with_default(self, schema: JsonSchema, node: Node) -> JsonSchema:
        if not node.has_default or node.default is None:
            return schema
        if not _may_hold(schema, node.default):
            self._find(node.pointer, "default", Severity.NOTE, _no_value(node.default))
            return schema
        if self._dialect.default:
            copied = _copied(node.default)
            if copied is None:
                self._find(node.pointer, "default", Severity.NOTE, "`default` nests too deep to be kept")
            else:
                schema["default"] = copied
            return schema
        self._find(node.pointer, "default", Severity.NOTE, "`default` is said in the description")
        text = with_sentences(schema.pop("description", ""), [f"Default: {_json(node.default)}"])
        return self._described(schema, text)

    def _default_inside(self, found: list[JsonSchema], node: Node) -> None:
        """Put the default into the alternative of its type: nothing may stand beside `anyOf`."""
        if not node.has_default or node.default is None:
            return
        of = {
            "bool": "boolean",
            "str": "string",
            "int": "integer",
            "float": "number",
            "list": "array",
            "dict": "object",
        }
        kind = of.get(type(node.default).__name__, "")
        fits = (self._type(kind), self._type("number")) if kind == "integer" else (self._type(kind),)
        for each in (one for part in found for one in part.get("anyOf", (part,))):
            if each.get("type") in fits and _could_hold(each, node.default):
                told = self._with_default(dict(each), node)
                each.clear()
                each.update(told)
                return
        self._find(node.pointer, "default", Severity.NOTE, _no_value(node.default))

    # One type.

    def _parts(self, found: Branch) -> Iterator[Part]:
        return ((_in_order(schema), text) for schema, text in self._of_one_type(found))

    def _of_one_type(self, found: Branch) -> Iterator[Part]:
        match found.kind:
            case "object":
                schema, text = self._object(found, found.text)
                yield schema, self._with_rules(schema, text, found.unsaid)
            case "array":
                yield self._array(found)
            case "string":
                yield from self._string(found)
            case "boolean":
                yield self._boolean(found)
            case "null":
                yield {"type": self._type("null")}, found.text
            case _:
                yield from self._number(found)

    def _string(self, found: Branch) -> Iterator[Part]:
        schema: JsonSchema = {"type": self._type("string")}
        choices = found.choices
        text = with_sentences(found.text, self._choice_texts(found))
        if choices is None:
            text = self._limited(schema, found, text)
            yield schema, self._with_rules(schema, text, found.unsaid)
            return
        limits = {name: value for name, value in found.limits.items() if name in {"pattern", "format"}}
        kept = [each for each in choices if each or self._dialect.takes_empty_choice]
        if kept:
            schema["enum"] = kept
            self._text_left -= sum(map(len, kept))
            text = self._limited(schema, found, text, limits)
            yield schema, self._with_rules(schema, text, found.unsaid)
        if len(kept) < len(choices):
            self._find(found.pointer, "empty-enum-member", Severity.NOTE, 'the choice "" is said as a pattern')
            empty: JsonSchema = {"type": self._type("string")}
            rule = Branch(kind="string", pointer=found.pointer, limits={"pattern": "^$"})
            yield empty, self._limited(empty, rule, "" if kept else text)

    def _choice_texts(self, found: Branch) -> list[str]:
        texts = [f"{_json(value)}: {text.rstrip('.')}" for value, text in found.choice_texts]
        return ["; ".join(texts)] if texts else []

    def _boolean(self, found: Branch) -> Part:
        schema: JsonSchema = {"type": self._type("boolean")}
        text = with_sentences(found.text, self._choice_texts(found))
        if found.choices is not None:
            if "boolean" in self._dialect.enumerates:
                schema["enum"] = list(found.choices)
            else:
                self._find(found.pointer, "boolean-enum", Severity.LOSSY, "which boolean is said in the description")
                text = with_sentences(text, [choice_words(found.choices)])
        return schema, self._with_rules(schema, text, found.unsaid)

    def _number(self, found: Branch) -> Iterator[Part]:
        if found.choices is None:
            schema: JsonSchema = {"type": self._type(found.kind)}
            rounded = inclusive(found)
            for keyword in sorted(found.limits.keys() - rounded.keys()):
                self._find(found.pointer, keyword, Severity.NOTE, f"`{keyword}` of an integer is said as the next one")
            text = self._limited(schema, found, found.text, rounded)
            yield schema, self._with_rules(schema, text, found.unsaid)
            return
        text = with_sentences(found.text, self._choice_texts(found))
        schema = {"type": self._type(found.kind)}
        choices = sorted(found.choices)
        if found.kind in self._dialect.enumerates:
            yield {**schema, "enum": list(found.choices)}, text
            return
        runs = _runs(choices) if found.kind == "integer" else [(each, each) for each in choices]
        if len(runs) == 1 or (self._dialect.splits_choices and len(runs) <= MAX_RUNS):
            self._find(found.pointer, "number-enum", Severity.NOTE, "the choices are said as limits")
            for place, (low, high) in enumerate(runs):
                part: JsonSchema = {"type": self._type(found.kind)}
                limits = Branch(kind=found.kind, pointer=found.pointer, limits={"minimum": low, "maximum": high})
                words = [count_words(low, high, "")] if self._dialect.repeats_limits else []
                yield part, self._limited(part, limits, with_sentences(text if place == 0 else "", words))
            return
        self._find(found.pointer, "number-enum", Severity.LOSSY, "the choices are said in the description")
        text = with_sentences(text, [choice_words(choices)])
        limits = Branch(kind=found.kind, pointer=found.pointer, limits={"minimum": choices[0], "maximum": choices[-1]})
        yield schema, self._limited(schema, limits, text)

    def _limited(self, schema: JsonSchema, found: Branch, text: str, limits: Mapping[str, Any] | None = None) -> str:
        """Write the limits that can be written into `schema`; give the text with those that cannot, or are repeated."""
        rules = self._spelled(found.limits if limits is None else limits, found)
        unsaid: dict[str, Any] = {}
        written: dict[str, Any] = {}
        for keyword, value in rules.items():
            why = self._why_unsaid(keyword, value)
            if not why:
                written[keyword] = value
                continue
            unsaid[keyword] = value
            self._find(found.pointer, keyword, Severity.LOSSY, why)
            if keyword in _INSTEAD:
                written.setdefault(_INSTEAD[keyword], value)
            elif value == 0 and keyword in self._dialect.zero_is_unset:
                written[keyword] = value
        schema |= {keyword: written[keyword] for keyword in LIMITS[found.kind] if keyword in written}
        text = with_sentences(text, limit_sentences(_not_yet_said(unsaid, text)))
        if self._dialect.repeats_limits:
            repeated = meant({keyword: value for keyword, value in written.items() if keyword not in unsaid})
            text = with_sentences(text, limit_sentences(_not_yet_said(repeated, text)))
        return text

    def _spelled(self, limits: Mapping[str, Any], found: Branch) -> Mapping[str, Any]:
        """Spell a pattern as those who compile it do; one that cannot be stays what it is."""
        pattern = limits.get("pattern")
        if pattern is None or not self._dialect.compiles_patterns or portable(pattern) in {None, pattern}:
            return limits
        message = f"the pattern `{_json(pattern)[1:-1]}` is spelled as ECMA 262 has it"
        self._find(found.pointer, "pattern", Severity.NOTE, message)
        return {**limits, "pattern": portable(pattern)}

    def _why_unsaid(self, keyword: str, value: Any) -> str:
        dialect = self._dialect
        if keyword not in dialect.limits:
            return f"`{keyword}` cannot be said here; the description says it"
        if keyword == "format" and dialect.formats is not None and value not in dialect.formats:
            return f"the format `{value}` is not known here; the description says it"
        if keyword == "pattern" and not dialect.look_around and _LOOKS_AROUND.search(value):
            return "a pattern cannot look around or back here; the description says it"
        if keyword == "pattern" and dialect.compiles_patterns and portable(value) is None:
            return "the pattern is none of ECMA 262, and clients fail at it; the description says it"
        if keyword in dialect.zero_is_unset and value == 0:
            return f"`{keyword}` of 0 is the same as none here; the description says it"
        largest = dialect.largest_count
        if largest is not None and isinstance(value, int) and not -largest - 1 <= value <= largest:
            return f"`{keyword}` is larger than 64 bits hold; the description says it"
        return ""

    # Arrays and objects.

    def _array(self, found: Branch) -> Part:
        schema: JsonSchema = {"type": self._type("array")}
        limits = dict(found.limits)
        text = found.text
        found = self._up_to_what_never_fits(found)
        if found.prefix:
            text = self._tuple(schema, found, limits, text)
        elif is_never(found.items):
            limits["maxItems"] = 0
            schema["items"] = self._anything(1)
        else:
            schema["items"] = self._items(found.items or ANYTHING, found)
        text = self._limited(schema, found, text, limits)
        return schema, self._with_rules(schema, text, found.unsaid)

    def _up_to_what_never_fits(self, found: Branch) -> Branch:
        """End a list before the first of its places that nothing fits: it can be no longer."""
        for number, place in enumerate((*found.prefix, found.items)):
            if not place or (node := self._reader.node(place)).branches:
                continue
            if not is_never(place):
                self._report(node.changes)
                message = "nothing fits it, so the list ends before it"
                self._find(node.pointer or place[0].pointer, "false-schema", Severity.NOTE, message)
            return replace(found, prefix=found.prefix[:number], items=(Source(False, place[0].pointer),))
        return found

    def _items(self, place: Place, found: Branch) -> JsonSchema:
        if place == ANYTHING:
            if not self._dialect.takes_empty_schema:
                self._find(
                    found.pointer, "items", Severity.NARROWED, f"items of any kind are said as a union; {_SHALLOW}"
                )
            return self._anything(1)
        items = self.value(place, found.pointer)
        return self._anything(1) if items is None else items

    def _tuple(self, schema: JsonSchema, found: Branch, limits: dict[str, Any], text: str) -> str:
        closed = is_never(found.items) or limits.get("maxItems", math.inf) <= len(found.prefix)
        if closed:
            limits["maxItems"] = min(limits.get("maxItems", len(found.prefix)), len(found.prefix))
        if self._dialect.tuples:
            schema["prefixItems"] = [self._items(each, found) for each in found.prefix]
            # Gemini and OpenAI ask for `items` on every array, and this is what it means.
            schema["items"] = self._items(found.items or ANYTHING, found) if not closed else self._anything(1)
            return text
        places = found.prefix if closed or not found.items else (*found.prefix, found.items)
        if not closed and not found.items:
            message = "items beyond those that are declared are taken to be like one of them"
            self._find(found.pointer, "tuple", Severity.NARROWED, message)
        self._find(found.pointer, "tuple", Severity.LOSSY, "the order of the items is said in the description")
        order = "; ".join(f"{place}. {self.brief(each)}" for place, each in enumerate(found.prefix, 1))
        more = "" if closed or found.items is None else f"; then {self.brief(found.items)}"
        schema["items"] = self._items(self._reader.either(places), found)
        return with_sentences(text, [f"Items in order: {order}{more}"])

    def _object(self, found: Branch, text: str) -> Part:
        schema: JsonSchema = {"type": self._type("object")}
        properties: dict[str, JsonSchema] = {}
        required: list[str] = []
        never: list[str] = []
        for name, place in self._declared(found).items():
            needed = name in found.required
            # Where properties are counted, one that is null is not as good as none.
            optional = not needed and ("minProperties" not in found.limits or self._dialect.closes_and_requires_all)
            is_declared = name in found.properties
            at = found.pointer + json_pointer(("properties", name) if is_declared else ("required",))
            value = self.value(place, at, optional=optional)
            if value is None:
                if not needed:
                    message = f"`{name}` can never be given; the description says so"
                    self._find(found.pointer, "false-schema", Severity.LOSSY, message)
                    if "not" not in self._dialect.conditions:
                        never.append(f"Do not give `{name}`")
                        continue
                    value = {"not": {}}
                else:
                    message = f"`{name}` is required, and nothing fits it"
                    self._find(found.pointer, "false-schema", Severity.LOSSY, message)
                    value = self._anything(1)
            shown = self._shown(name, found)
            properties[shown] = value
            if needed or self._dialect.closes_and_requires_all:
                required.append(shown)
            if needed and not place and name not in found.properties:
                self._find(
                    found.pointer, "undeclared-required", Severity.NOTE, f"`{name}` is required, and now declared"
                )
        ordered = (
            [self._names.shown(name) for name in found.required]
            if not self._dialect.closes_and_requires_all
            else required
        )
        if properties or (self._dialect.names_properties):
            schema["properties"] = properties
        if ordered or self._dialect.closes_and_requires_all:
            schema["required"] = ordered
        text = self._rest(schema, found, with_sentences(text, never))
        return schema, self._limited(schema, found, text)

    def _shown(self, name: str, found: Branch) -> str:
        shown = self._names.shown(name)
        at = found.pointer + json_pointer(("properties", name) if name in found.properties else ("required",))
        if shown != name:
            self._find(
                at, "property-name", Severity.NOTE, f"`{name}` is called `{shown}`: not every provider takes its name"
            )
        elif self._dialect.names is not None and not self._dialect.names.fullmatch(name):
            is_refused = self._level == 0 and not providers().anthropic_name.fullmatch(name)
            severity = Severity.REFUSED if is_refused else Severity.NOTE
            self._find(at, "property-name", severity, f"`{name}` is a name that not every provider takes")
        return shown

    def _declared(self, found: Branch) -> dict[str, Place]:
        """Give the properties with those that are required and named nowhere else."""
        missing = [name for name in found.required if name not in found.properties]
        return {**found.properties, **{name: _undeclared(found, name) for name in missing}}

    def _rest(self, schema: JsonSchema, found: Branch, text: str) -> str:
        """Say what properties there may be besides those that are named."""
        dialect = self._dialect
        patterns, rest = found.patterns, found.rest
        if dialect.closes_and_requires_all:
            return self._closed(schema, found, text)
        if patterns and "patternProperties" in dialect.conditions:
            schema["patternProperties"] = {
                pattern: False if (value := self.value(place, found.pointer)) is None else value
                for pattern, place in patterns
            }
        elif patterns:
            self._find(
                found.pointer, "patternProperties", Severity.LOSSY, "names by pattern are said in the description"
            )
            text = with_sentences(text, [f"Names matching `{name}`: {self.brief(place)}" for name, place in patterns])
        if not rest:
            return text
        if is_never(rest):
            if dialect.takes_closed and not (patterns and "patternProperties" not in schema):
                schema["additionalProperties"] = False
            else:
                self._find(
                    found.pointer,
                    "additionalProperties",
                    Severity.LOSSY,
                    "that no other properties may be given is left out",
                )
            return text
        if dialect.takes_rest and not (patterns and "patternProperties" not in schema):
            value = self.value(rest, found.pointer)
            if value != {}:
                schema["additionalProperties"] = False if value is None else value
            return text
        self._find(
            found.pointer, "additionalProperties", Severity.LOSSY, "values by other names are said in the description"
        )
        which = "Other names mapped" if found.properties else "Names mapped"
        return with_sentences(text, [f"{which} to values of type {self.brief(rest)}"])

    def _closed(self, schema: JsonSchema, found: Branch, text: str) -> str:
        schema["additionalProperties"] = False
        if is_never(found.rest) and not found.patterns:
            return text
        takes_no_arguments = self._level == 0 and found.rest is None and not found.limits
        if not (found.properties or takes_no_arguments) or found.rest is not None or found.patterns:
            self._find(found.pointer, "additionalProperties", Severity.NARROWED, _CLOSED)
        else:
            self._find(found.pointer, "additionalProperties", Severity.NOTE, "strict mode closes every object")
        return text

    def _close_open_object(self, part: JsonSchema) -> None:
        if self._dialect.names_properties:
            part["properties"] = {}
        if self._dialect.closes_and_requires_all:
            part |= {"required": [], "additionalProperties": False}

    def _without_required_only(self, node: Node) -> tuple[Branch, ...]:
        """Join alternatives that differ only in what they require: one flat object reads better, and words say it."""
        objects = [each for each in node.branches if each.kind == "object"]
        if not self._dialect.joins_requirements or len(objects) < 2:
            return node.branches
        first = objects[0]
        alike = all(
            (each.properties, each.rest, each.patterns, each.limits, each.unsaid, each.text)
            == (first.properties, first.rest, first.patterns, first.limits, first.unsaid, first.text)
            for each in objects[1:]
        )
        if not alike:
            return node.branches
        required = tuple(name for name in first.required if all(name in each.required for each in objects))
        words = self._alternative_words(objects, required)
        self._find(first.pointer, "required", Severity.LOSSY, "which properties go together is said in the description")
        rule = Unsaid({}, words, first.pointer)
        one = Branch(
            kind="object",
            pointer=first.pointer,
            properties=first.properties,
            required=required,
            rest=first.rest,
            patterns=first.patterns,
            limits=first.limits,
            unsaid=(*first.unsaid, rule),
            text=first.text,
        )
        return (one, *(each for each in node.branches if each.kind != "object"))

    # Words.

    def brief(self, place: Place, *, inside: bool = False) -> str:
        """Say in a few words what may stand at `place`."""
        node = self._reader.node(place)
        if node.takes_anything:
            return "anything"
        said = list(dict.fromkeys(self._brief_branch(each, inside=inside) for each in node.branches))
        words = list_words(said, "or") if said else "nothing"
        words = f"({words})" if inside and len(said) > 1 else words
        label = node.description if not inside and 0 < len(node.description) <= 60 else ""
        return f"{words} ({label.rstrip('.')})" if label else words

    def _brief_branch(self, found: Branch, *, inside: bool) -> str:
        if found.choices is not None:
            return list_words([_json(each) for each in found.choices[:12]], "or")
        if found.kind == "array" and found.items is not None and not inside:
            return f"array of {self.brief(found.items, inside=True)}"
        if found.kind == "object" and found.properties and not inside:
            names = [
                f"{self._names.shown(name)}{'' if name in found.required else '?'}: {self.brief(each, inside=True)}"
                for name, each in list(found.properties.items())[:12]
            ]
            return f"object with {', '.join(names)}"
        said = limit_sentences(meant(inclusive(found)) if found.kind in {"integer", "number"} else found.limits)
        return (
            f"{found.kind} ({'; '.join(each[:1].lower() + each[1:] for each in said)})"
            if said and not inside
            else found.kind
        )

    def _with_rules(self, schema: JsonSchema, text: str, rules: Sequence[Unsaid], *, at_root: bool = False) -> str:
        """Write rules as they are where the dialect takes them; give the text with the others."""
        left: list[Unsaid] = []
        for rule in rules:
            written = self._as_written(rule, schema, at_root=at_root)
            if written is None:
                left.append(rule)
            else:
                schema |= written
        return with_sentences(text, self._said_rules(left))

    def _said_rules(self, rules: Sequence[Unsaid]) -> list[str]:
        for rule in rules:
            keyword = next(iter(rule.keywords), "")
            if keyword:
                self._find(
                    rule.pointer, keyword, Severity.LOSSY, f"`{keyword}` cannot be said here; the description says it"
                )
        return [self._in_shown_names(rule.words) for rule in rules]

    def _in_shown_names(self, words: str) -> str:
        for shown, own in self._names.renamed.items():
            words = words.replace(f"`{own}`", f"`{shown}`")
        return words

    def _as_written(self, rule: Unsaid, schema: Mapping[str, Any], *, at_root: bool) -> JsonSchema | None:
        keyword = next(iter(rule.keywords), "")
        if keyword not in self._dialect.conditions or (at_root and keyword == "not"):
            return None
        written = self._reader.written_out(rule.keywords)
        if written is None or self._names.renamed:
            return None
        text = json_text(written)
        if text not in self._taken:
            self._taken[text] = self._takes_names(written) and _is_taken(written, self._target)
        if not self._taken[text]:
            return None
        self._text_left -= len(text)
        if keyword in schema:
            if not isinstance(schema[keyword], dict) or keyword not in {"dependentRequired", "dependentSchemas"}:
                return None
            return {keyword: {**schema[keyword], **written[keyword]}}
        return written

    def _takes_names(self, rule: JsonSchema) -> bool:
        """Whether the names that a rule speaks of may be sent; what is renamed elsewhere would be another one here."""
        names = self._dialect.names
        tables = [each["properties"] for each, _ in schemas(rule) if isinstance(each.get("properties"), dict)]
        return names is None or all(names.fullmatch(str(name)) for table in tables for name in table)

    def _described(self, schema: JsonSchema, text: str) -> JsonSchema:
        """Put the description where people look for it: behind the type."""
        self._text_left -= len(text)
        if not text:
            return schema
        head: JsonSchema = {keyword: schema[keyword] for keyword in ("type", "nullable") if keyword in schema}
        return {**head, "description": text, **{name: value for name, value in schema.items() if name not in head}}

    def _type(self, kind: str) -> str:
        return kind.upper() if self._dialect.upper_case_types else kind

    # Findings.

    def _report(self, findings: Sequence[Finding]) -> None:
        for each in findings:
            self._found.setdefault((each.pointer, each.pattern, each.message), each)

    def _report_title(self, node: Node) -> None:
        if node.title:
            self._find(node.pointer, "title", Severity.NOTE, "`title` is left out")

    def _find(self, pointer: str, pattern: str, severity: Severity, message: str) -> None:
        lossy = severity is not Severity.NOTE
        self._report([Finding(pointer=pointer, pattern=pattern, severity=severity, lossy=lossy, message=message)])


def _undeclared(found: Branch, name: str) -> Place:
    """Give what a name that no property bears may hold: what its patterns ask for, else what the rest may be."""
    tried = [(fits(pattern, name), place) for pattern, place in found.patterns]
    asked = [place for does, place in tried if does]
    if asked or any(does is None for does, _ in tried):
        # Where a pattern cannot be tried, nothing is said by it.
        return reduce(joined, asked, ANYTHING)
    return found.rest if found.rest is not None else ANYTHING


_CLOSED: Final = "strict mode takes no names but those declared, so what the others would hold cannot be given"
_TOO_MANY_PARTS: Final = f"it has more than {MAX_NODES} parts; what is beyond takes anything"
_SHALLOW: Final = "arrays in it hold arrays of arrays no deeper"
_LOOKS_AROUND: Final = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]|\(\?P=")
_INSTEAD: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def _is_taken(rule: JsonSchema, target: Target) -> bool:
    """Whether the provider takes a rule as it was written: it may hold another provider's spelling."""
    inside = {str(place): each for place, (each, _) in enumerate(schemas(rule)) if "type" in each}
    found = check({"type": "object", "properties": {**inside, "x": rule}}, target)
    return all(each.severity is not Severity.REFUSED for each in found)


_RULE_ORDER: Final = (
    "contentEncoding",
    "contentMediaType",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "not",
    "if",
    "then",
    "else",
)


def _in_order(schema: JsonSchema) -> JsonSchema:
    """Put rules that were written as they are behind the rest, whichever was met first."""
    rules = [keyword for keyword in _RULE_ORDER if keyword in schema]
    if not rules:
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword not in rules}
    return rest | {keyword: schema[keyword] for keyword in rules}


def _key(place: Place) -> tuple[int, ...]:
    return tuple(id(source.schema) for source in place)


def _before(first: str, second: str) -> str:
    """Give both texts, the first one first, and what they share once."""
    if not first or second.startswith(first):
        return second
    return first if not second or second in first else f"{sentence(first)} {second}"


def _runs(choices: Sequence[int]) -> list[tuple[int, int]]:
    """Give the runs of neighbours among sorted integers."""
    found: list[tuple[int, int]] = []
    for each in map(int, choices):
        if found and each == found[-1][1] + 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found


def _not_yet_said(limits: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Leave out the bounds that the text already says more exactly."""
    found = dict(limits)
    low, high = found.get("minimum"), found.get("maximum")
    if low is not None and f"One of {low}, " in text:
        return {name: value for name, value in found.items() if name not in {"minimum", "maximum"}}
    if low is not None and f"Must be greater than {low}." in text:
        del found["minimum"]
    if high is not None and f"Must be less than {high}." in text:
        del found["maximum"]
    return found


def _take_anything(parts: Sequence[JsonSchema]) -> bool:
    """Whether every value but null fits one of `parts`, as they would be read again."""
    bare = ({"type": "array", "items": {}}, {"type": "object"}, {"type": "object", "properties": {}})
    found = {each["type"] for each in parts if len(each) == 1 or each in bare}
    return found >= {kind for kind in KINDS if kind != "null"}


def _no_value(default: Any) -> str:
    return f"the default {_json(default)} is no value of it, and is left out"


def _may_hold(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value is of the one type that `schema` names, and among its choices."""
    kind = str(schema.get("type", "")).lower()
    of = kind_of(value)
    fits = not kind or of == kind or (of == "integer" and kind == "number")
    return fits and ("enum" not in schema or value in schema["enum"])


def _could_hold(schema: Mapping[str, Any], value: Any) -> bool:
    return "enum" not in schema or value in schema["enum"]


def _json(value: Any) -> str:
    if not is_small(value):
        return "a value that is too large to quote"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:80] + "..."


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return None
