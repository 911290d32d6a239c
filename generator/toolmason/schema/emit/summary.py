"""Descriptions of schemas that the target cannot express: `array of integer`, `object (name: string)`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate
from math import inf
from typing import Final

from toolmason.schema.emit.context import MAX_DEPTH, EmitterContext
from toolmason.schema.emit.declared import declared_properties, property_pointer
from toolmason.schema.findings import Severity
from toolmason.schema.normal_form import (
    ANY_VALUE,
    Branch,
    Conjunction,
    Node,
    OpaqueRule,
    identity_key,
    is_false_schema,
    to_inclusive_bounds,
)
from toolmason.schema.wording import (
    join_words,
    limit_sentences,
    lower_first,
    states_pattern,
    with_details,
    without_sentinel_bounds,
)

MAX_SUMMARY: Final = 2_000
"""Maximum characters of a summary; details are omitted until it fits."""
_MAX_SUMMARIZED: Final = 300
"""Maximum schemas in a summary."""
_OMITTED: Final = "..."
_MESSAGES: Final = {
    "recursion": "recursive schema; the description states it once",
    "depth": f"the description states at most {MAX_DEPTH} levels of the schema",
    "size": f"the description states at most {_MAX_SUMMARIZED} parts of the schema",
}


class _Detail(IntEnum):
    """Content of a summary; each member includes the smaller ones."""

    NAMES = 0
    """Names without types; those of optional properties only as far as they fit."""
    TYPES = 1
    FIRST_VALUES = 2
    ENUMS = 3
    LIMITS = 4
    DESCRIPTIONS = 5


_MAX_CUT_ENUM: Final = {_Detail.NAMES: 200, _Detail.TYPES: 200, _Detail.FIRST_VALUES: 1_000}
"""Maximum characters of the values of an enum; further values are omitted."""


def summarize(context: EmitterContext, conjunction: Conjunction) -> str:
    """Describe all rules of a schema. In a text that is too long, replace details by `...` and report them."""
    for detail in sorted(_Detail, reverse=True):
        summary = _Summary(context, detail)
        text = summary.value(conjunction)
        if len(text) <= MAX_SUMMARY and summary.remaining >= 0:
            break
    summary.report()
    if len(text) <= MAX_SUMMARY:
        return text
    pointer = conjunction[0].pointer if conjunction else ""
    context.find(pointer, "size", Severity.LOSSY, f"the description states only {MAX_SUMMARY} characters of the schema")
    return text[:MAX_SUMMARY] + _OMITTED


class _Summary:
    """Describes one schema with one level of detail, and collects the omitted rules."""

    def __init__(self, context: EmitterContext, detail: _Detail) -> None:
        self._context = context
        self._detail = detail
        self.remaining = _MAX_SUMMARIZED
        self._remaining_names = MAX_SUMMARY // 2
        self._active: set[Hashable] = set()
        self._omitted: list[tuple[str, str, str]] = []
        self._nodes: list[Node] = []

    def report(self) -> None:
        """Report every omitted rule, and the losses of the described schemas."""
        for node in self._nodes:
            for item in node.findings:
                if item.severity is not Severity.NOTE:
                    self._context.find(item.pointer, item.pattern, Severity.LOSSY, item.message)
        for pointer, keyword, message in self._omitted:
            severity = Severity.NOTE if keyword == "description" else Severity.LOSSY
            self._context.find(pointer, keyword, severity, message)

    def value(self, conjunction: Conjunction, *, is_item: bool = False) -> str:
        """Describe the accepted values; `is_item` puts alternatives in parentheses."""
        node = self._context.normalizer.node(conjunction)
        self._nodes.append(node)
        key = identity_key(conjunction)
        self.remaining -= 1
        if key and (limit := self._exceeded_limit(key)):
            self._omit(node.pointer, limit)
            types = list(dict.fromkeys(branch.type for branch in node.branches))
            return f"{types[0]} ({_OMITTED})" if len(types) == 1 else _OMITTED
        self._active.add(key)
        text = self._node(node, is_item=is_item)
        self._active.discard(key)
        return text

    def _exceeded_limit(self, key: Hashable) -> str:
        if key in self._active:
            return "recursion"
        if self.remaining < 0:
            return "size"
        return "depth" if len(self._active) >= MAX_DEPTH else ""

    def _node(self, node: Node, *, is_item: bool) -> str:
        details = list(self._details(node.pointer, node.opaque_rules, node.description, node.sentences))
        if node.accepts_any_value:
            return with_details("anything", details)
        branches = [branch if branch.pointer else branch._replace(pointer=node.pointer) for branch in node.branches]
        if len(branches) == 1:
            return self._branch(branches[0], details)
        types = list(dict.fromkeys(self._branch(branch, []) for branch in branches))
        text = join_words(types, "or") if types else "nothing"
        return with_details(f"({text})" if len(types) > 1 and (is_item or details) else text, details)

    def _branch(self, branch: Branch, node_details: Sequence[str]) -> str:
        """Describe the values of one type; `node_details` apply to all types of the value."""
        own_details = [*self._limits(branch), *self._details(branch.pointer, branch.opaque_rules, branch.description)]
        details = list(dict.fromkeys([*own_details, *node_details]))
        if branch.enum is not None:
            return with_details(self._enum(branch), [*self._enum_descriptions(branch), *details])
        if branch.type == "object":
            properties = ", ".join(self._properties(branch))
            return with_details(branch.type, [properties, *details] if properties else details)
        return with_details(self._array(branch) if branch.type == "array" else branch.type, details)

    def _details(
        self, pointer: str, rules: Sequence[OpaqueRule], description: str, sentences: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yield the rules and texts of a value."""
        for rule in rules:
            is_stated = self._detail >= _Detail.LIMITS and bool(rule.text)
            if is_stated:
                yield lower_first(self._context.names.in_text(rule.text))
            for keyword in rule.unstated if is_stated else rule.keywords:
                self._omit(rule.schema_pointer, keyword)
        if self._detail >= _Detail.DESCRIPTIONS:
            yield from (text.rstrip(".") for text in (description, *map(lower_first, sentences)) if text)
        elif description:
            self._omit(pointer, "description")

    def _limits(self, branch: Branch) -> Iterator[str]:
        if branch.enum is not None:
            limits = {name: value for name, value in branch.limits.items() if name in {"pattern", "format"}}
        else:
            bounds = to_inclusive_bounds(branch) if branch.is_numeric else branch.limits
            limits = without_sentinel_bounds(bounds)
            for keyword in [keyword for keyword in bounds if keyword not in limits]:
                message = f"`{keyword}` is omitted from the description: integers beyond it are not exact in JSON"
                self._context.find(branch.pointer, keyword, Severity.NOTE, message)
        if self._detail < _Detail.LIMITS:
            for keyword in limits:
                self._omit(branch.pointer, keyword)
            return
        yield from map(lower_first, limit_sentences(limits))
        if "pattern" in limits and not states_pattern(limits):
            self._omit(branch.pointer, "pattern")
            yield _OMITTED

    def _enum(self, branch: Branch) -> str:
        quoted = [json.dumps(value, ensure_ascii=False) for value in branch.enum_values]
        max_length = _MAX_CUT_ENUM.get(self._detail, inf)
        if sum(map(len, quoted)) <= max_length:
            return join_words(quoted, "or")
        self._omit(branch.pointer, "enum")
        lengths = zip(quoted, accumulate(map(len, quoted)), strict=True)
        return ", ".join([*(value for value, length in lengths if length <= max_length), _OMITTED])

    def _enum_descriptions(self, branch: Branch) -> Iterator[str]:
        if self._detail >= _Detail.DESCRIPTIONS:
            for value, text in branch.enum_descriptions:
                yield f"{json.dumps(value, ensure_ascii=False)}: {text.rstrip('.')}"
        elif branch.enum_descriptions:
            self._omit(branch.pointer, "description")

    def _array(self, branch: Branch) -> str:
        if branch.prefix_items:
            items = [f"{number}. {self.value(item)}" for number, item in enumerate(branch.prefix_items, 1)]
            rest = "no other" if is_false_schema(branch.items) else f"then {self.value(branch.items or ANY_VALUE)}"
            return f"array ({'; '.join([*items, rest])})"
        if branch.items is None:
            return "array"
        return (
            "array without items"
            if is_false_schema(branch.items)
            else f"array of {self.value(branch.items, is_item=True)}"
        )

    def _properties(self, branch: Branch) -> Iterator[str]:
        """Yield the declared properties, and the rules for other names."""
        properties = declared_properties(branch)
        if self._detail < _Detail.TYPES:
            yield from self._names(branch, properties)
            return
        for name, conjunction in properties.items():
            mark = "" if name in branch.required else "?"
            yield f"{self._context.names.name_for(name)}{mark}: {self.value(conjunction)}"
        for pattern, conjunction in branch.pattern_properties:
            if not states_pattern({"pattern": pattern}):
                self._omit(branch.pointer, "patternProperties")
            yield f"{lower_first(matching_names(pattern))}: {self.value(conjunction)}"
        additional = branch.additional_properties
        if additional:
            subject = "other names" if properties or branch.pattern_properties else "names"
            is_closed = is_false_schema(additional)
            yield f"no {subject}" if is_closed else f"{subject} mapped to {self.value(additional, is_item=True)}"

    def _names(self, branch: Branch, properties: Mapping[str, Conjunction]) -> Iterator[str]:
        """Yield the names of the required properties, then those of the others, as far as they fit."""
        for keyword, is_present in (
            ("patternProperties", branch.pattern_properties),
            ("additionalProperties", branch.additional_properties),
        ):
            if is_present:
                self._omit(branch.pointer, keyword)
        names = list(dict.fromkeys([*branch.required, *properties]))
        for name in names:
            self._remaining_names -= len(name) + 3
            if self._remaining_names >= 0:
                yield self._context.names.name_for(name) + ("" if name in branch.required else "?")
            message = f"the rules of `{name}` do not fit into the description and are omitted"
            self._omitted.append((property_pointer(branch, name), "properties", message))
        if names:
            yield _OMITTED

    def _omit(self, pointer: str, keyword: str) -> None:
        message = f"`{keyword}` does not fit into the description and is omitted"
        self._omitted.append((pointer, keyword, _MESSAGES.get(keyword, message)))


def matching_names(pattern: str) -> str:
    """Return the subject of a sentence about the names that match `pattern`."""
    return f"Names matching `{pattern}`" if states_pattern({"pattern": pattern}) else "Names of a certain form"
