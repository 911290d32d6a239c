"""Convert a schema to its normal form, node by node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from toolmason.schema.findings import Severity, finding
from toolmason.schema.intersection import merge_branches
from toolmason.schema.keywords import JSON_TYPES, MAX_SAFE_INTEGER, JsonType
from toolmason.schema.mistakes import enum_of_items
from toolmason.schema.normal_form import ALL_TYPES, SCALARS, Branch, Conjunction, Node, Subschema, identity_key
from toolmason.schema.normalize.annotations import with_annotations
from toolmason.schema.normalize.collector import FindingCollector, quote
from toolmason.schema.normalize.combinators import intersect_nodes, with_combinators
from toolmason.schema.normalize.conditions import (
    CONDITION_KEYWORDS,
    UNEVALUATED_KEYWORDS,
    with_conditions,
    with_unevaluated,
)
from toolmason.schema.normalize.context import (
    MAX_DEPTH,
    MAX_NORMALIZED_SCHEMAS,
    Keywords,
    NormalizerContext,
    SchemaRegistry,
)
from toolmason.schema.normalize.enums import with_enum, with_enum_of_items
from toolmason.schema.normalize.type_branches import type_branches
from toolmason.schema.normalize.valid_keywords import valid_keywords
from toolmason.schema.references import References, UnresolvedReferenceError

_BOUNDS: Final[tuple[str, ...]] = ("minimum", "maximum")
_PLAIN_KEYWORDS: Final = frozenset({"type", "description", "title", "default", "enum", *_BOUNDS})
_SCALARS: Final[Mapping[str, JsonType]] = {name: name for name in JSON_TYPES if name in SCALARS}
_NOT_TYPE_KEYWORDS: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "const", "enum", "nullable"}
    | CONDITION_KEYWORDS
    | UNEVALUATED_KEYWORDS
)
"""Keywords that need more than `type_branches`."""


class Normalizer(NormalizerContext):
    """Builds the normal form of one schema, node by node on demand, with a cache. The schema is never modified."""

    def __init__(self, root: Any) -> None:
        self.root: Conjunction = (Subschema(root, ""),)
        self.references = References(root)
        self.registry = SchemaRegistry()
        self._nodes: dict[Hashable, Node] = {}
        self._object_nodes: dict[int, Node] = {}
        self._depth = 0
        self._item_depth = 0
        self._remaining = MAX_NORMALIZED_SCHEMAS
        self._active_targets: list[int] = []
        """Ids of the `$ref` targets that are being normalized."""
        self._cycles = 0
        """Number of references that were cut because their target was active."""
        self._union_depth = 0
        self._is_cut = False
        """Whether a limit has cut a node."""

    @property
    def is_reusable(self) -> bool:
        """Whether each node is independent of those that were requested before it.

        A node that a limit or a self-reference has cut depends on the path that led to it first.
        """
        return not (self._is_cut or self._cycles or self.references.is_exhausted)

    def node(self, conjunction: Conjunction) -> Node:
        """Return the normal form of the intersection of subschemas."""
        key = identity_key(conjunction)
        node = self._nodes.get(key)
        if node is None:
            # An array that requires itself as an item finds the unpruned node here.
            self._nodes[key] = node = self._intersection(conjunction)
            if any(["minItems" in branch.limits for branch in node.branches]):  # noqa: C419  a list is faster
                self._nodes[key] = node = self._without_impossible_arrays(node)
        return node

    def _intersection(self, conjunction: Conjunction) -> Node:
        if not conjunction:
            return Node(branches=ALL_TYPES)
        node = self.normalize(conjunction[0])
        if len(conjunction) == 1:
            return node
        for subschema in conjunction[1:]:
            node = intersect_nodes(node, self.normalize(subschema))
        return node._replace(branches=merge_branches(node.branches))

    def _without_impossible_arrays(self, node: Node) -> Node:
        """Drop arrays that require an item for which no value is valid."""
        if self._item_depth >= MAX_DEPTH:
            self._is_cut = True
            return node
        self._item_depth += 1
        branches = tuple(branch for branch in node.branches if not self._has_impossible_item(branch))
        self._item_depth -= 1
        return node if len(branches) == len(node.branches) else node._replace(branches=branches)

    def _has_impossible_item(self, branch: Branch) -> bool:
        count = min(branch.limits.get("minItems", 0), len(branch.prefix_items) + 1)
        required = (*branch.prefix_items, branch.items)[: int(count)]
        return any(item and not self.node(item).branches for item in required)

    def normalize(self, subschema: Subschema) -> Node:
        """Return the normal form of one subschema."""
        schema, pointer = subschema
        if isinstance(schema, bool) or schema == {}:
            return Node(branches=() if schema is False else ALL_TYPES, pointer=pointer)
        if not isinstance(schema, dict):
            return _unconstrained(pointer, "malformed", f"`{quote(schema)}` is not a schema")
        if id(schema) in self._object_nodes:
            return self._object_nodes[id(schema)]
        pointer = self.registry.first_pointer(schema, pointer)
        self._remaining -= 1
        if self._depth > MAX_DEPTH or self._remaining < 0:
            self._is_cut = True
            return _unconstrained(pointer, "depth", "references and combinators nest too deep; the schema is ignored")
        cycles = self._cycles
        self._depth += 1
        node = self._normalize_object(schema, pointer)
        self._depth -= 1
        # A node with a cut reference is incomplete: it depends on the path that led here.
        if self._cycles == cycles:
            self._object_nodes[id(schema)] = node
        return node

    def normalize_alternative(self, subschema: Subschema) -> Node:
        """Return the normal form of an alternative of a union, in which a self-reference adds nothing."""
        self._union_depth += 1
        node = self.normalize(subschema)
        self._union_depth -= 1
        return node

    def _normalize_object(self, schema: dict[str, Any], pointer: str) -> Node:
        if schema.keys() <= _PLAIN_KEYWORDS and (plain := _plain_node(schema, pointer)):
            return plain
        is_synthetic = self.registry.is_synthetic(schema)
        collector = FindingCollector(pointer, is_synthetic=is_synthetic)
        keywords: Keywords = schema if is_synthetic else valid_keywords(schema, collector)
        if "enum" in keywords and (values := enum_of_items(keywords)):
            keywords = with_enum_of_items(self, keywords, values, collector)
        node = Node(branches=type_branches(self, keywords, collector), pointer=pointer)
        if not _NOT_TYPE_KEYWORDS.isdisjoint(keywords):
            node = self._apply_other_keywords(node, keywords, collector)
        return with_annotations(node, keywords, collector)

    def _apply_other_keywords(self, node: Node, keywords: Keywords, collector: FindingCollector) -> Node:
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in keywords:
                ref = "#" if keyword == "$recursiveRef" else keywords[keyword]
                node = self._with_reference(node, ref, keyword, collector)
        node = with_combinators(self, node, keywords, collector)
        if "const" in keywords or "enum" in keywords:
            node = with_enum(self, node, keywords, collector)
        if keywords.get("nullable") is True and not node.accepts_null:
            null = Branch(type="null", pointer=collector.pointer)
            node = node._replace(branches=(*node.branches, null))
            collector.note("nullable", "`nullable` of OpenAPI is written as a union")
        if not CONDITION_KEYWORDS.isdisjoint(keywords):
            node = with_conditions(self, node, keywords, collector)
        if not UNEVALUATED_KEYWORDS.isdisjoint(keywords):
            node = with_unevaluated(node, keywords, collector, self.references)
        branches = merge_branches(node.branches)
        return node if branches is node.branches else node._replace(branches=branches)

    def _with_reference(self, node: Node, ref: str, keyword: str, collector: FindingCollector) -> Node:
        try:
            schema, pointer = self.references.target(ref, collector.pointer)
        except UnresolvedReferenceError as error:
            collector.add(keyword, error.pattern, Severity.REFUSED, str(error))
            return node
        if id(schema) in self._active_targets:
            self._cycles += 1
            if self._union_depth:
                collector.note(keyword, f"`{ref}` refers to itself and adds no alternative", pattern="$ref")
                return node._replace(branches=())
            collector.add(keyword, "$ref", Severity.REFUSED, f"`{ref}` refers to itself and adds no constraint")
            return node
        self._active_targets.append(id(schema))
        target = self.normalize(Subschema(schema, pointer))
        self._active_targets.pop()
        collector.note(keyword, f"`{ref}` is inlined", pattern="$ref")
        return intersect_nodes(node._replace(description="", title=""), target)


def _plain_node(schema: dict[str, Any], pointer: str) -> Node | None:
    """Return the node of a scalar with texts, a default, and bounds or an enum; None for any other schema.

    Most real schemas have this form. The node equals that of `Normalizer`.
    """
    name, description, title = schema.get("type"), schema.get("description", ""), schema.get("title", "")
    json_type = _SCALARS.get(name) if isinstance(name, str) else None
    if json_type is None or not isinstance(description, str) or not isinstance(title, str):
        return None
    default = schema.get("default")
    if default is not None and not isinstance(default, str | bool) and not _is_small_integer(default):
        return None
    branch = Branch(type=json_type, pointer=pointer)
    if "enum" in schema:
        values = schema["enum"]
        if json_type != "string" or len(schema.keys() & _BOUNDS) or not _are_distinct_texts(values):
            return None
        branch = Branch(type=json_type, pointer=pointer, enum=tuple(values))
    elif limits := {keyword: schema[keyword] for keyword in _BOUNDS if keyword in schema}:
        bounds = list(limits.values())
        if not branch.is_numeric or not all(map(_is_small_integer, bounds)) or bounds[0] > bounds[-1]:
            return None
        branch = Branch(type=json_type, pointer=pointer, limits=limits)
    return Node(
        branches=(branch,),
        pointer=pointer,
        description=description.strip(),
        title=title,
        default=default,
        has_default="default" in schema,
    )


def _is_small_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER


def _are_distinct_texts(values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(value, str) for value in values)
        and len({*values}) == len(values)
    )


def _unconstrained(pointer: str, pattern: str, message: str) -> Node:
    return Node(branches=ALL_TYPES, pointer=pointer, findings=(finding(pointer, pattern, Severity.REFUSED, message),))
