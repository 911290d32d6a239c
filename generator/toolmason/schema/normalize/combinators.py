"""Normalize `allOf`, `anyOf` and `oneOf`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolmason.schema.findings import Severity, finding
from toolmason.schema.intersection import (
    exceeds_pair_limit,
    intersect_branches,
    join_rules,
    merge_branches,
    without_duplicates,
)
from toolmason.schema.normal_form import ALL_TYPES, Branch, Node, OpaqueRule, Subschema
from toolmason.schema.normalize.collector import FindingCollector
from toolmason.schema.normalize.context import Keywords, NormalizerContext
from toolmason.schema.normalize.overlap import alternatives_overlap
from toolmason.schema.normalize.rule_text import exactly_one_text
from toolmason.schema.wording import EXACTLY_ONE, append_sentences


def with_combinators(context: NormalizerContext, node: Node, keywords: Keywords, collector: FindingCollector) -> Node:
    """Intersect `node` with the schemas of the combinators."""
    if "allOf" in keywords:
        schemas = enumerate(keywords["allOf"])
        parts = [
            context.normalize(Subschema(schema, collector.pointer_to("allOf", index))) for index, schema in schemas
        ]
        node = _intersect_all([node, *_of_shared_types(node.branches, parts)])
        collector.note("allOf", "the schemas of `allOf` are merged")
    for keyword in ("anyOf", "oneOf"):
        if keyword in keywords:
            node = _with_alternatives(context, node, keywords[keyword], keyword, collector)
    return node


def _of_shared_types(branches: Sequence[Branch], parts: Sequence[Node]) -> list[Node]:
    """Return the parts without branches of types that `branches` lacks; unions within one type stay whole."""
    types = {branch.type for branch in branches}
    if types & {"integer", "number"}:
        types |= {"integer", "number"}
    return [
        part
        if part.branches is ALL_TYPES or _share_types(part.branches)
        else part._replace(branches=tuple([branch for branch in part.branches if branch.type in types]))
        for part in parts
    ]


def _intersect_all(nodes: Sequence[Node]) -> Node:
    """Return the intersection of one or more nodes.

    The halves come first: the first node grows with each one, so that one after the other takes quadratic time.
    """
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    return intersect_nodes(_intersect_all(nodes[:middle]), _intersect_all(nodes[middle:]))


def intersect_nodes(left: Node, right: Node) -> Node:
    """Return the node of the values that both accept; the annotations of `left` win."""
    if _share_types(left.branches) and _share_types(right.branches):
        left, right = _without_vague_rules(left), _without_vague_rules(right)
    restricted = _intersect_union(left, right.branches)
    return restricted._replace(
        description=left.description or right.description,
        title=left.title or right.title,
        sentences=without_duplicates(left.sentences, right.sentences),
        default=left.default if left.has_default else right.default,
        has_default=left.has_default or right.has_default,
        opaque_rules=join_rules(left.opaque_rules, right.opaque_rules),
        annotations={**right.annotations, **left.annotations},
        findings=tuple(dict.fromkeys((*restricted.findings, *right.findings))),
    )


def _intersect_union(node: Node, branches: Sequence[Branch]) -> Node:
    if exceeds_pair_limit(node.branches, branches):
        message = "the intersection of two unions has too many pairs of alternatives; only the first union is kept"
        node = node._replace(findings=(*node.findings, finding(node.pointer, "allOf", Severity.LOSSY, message)))
    return node._replace(branches=intersect_branches(node.branches, branches))


def _share_types(branches: Sequence[Branch]) -> bool:
    return len({branch.type for branch in branches}) < len(branches)


def _count_enums(branches: Sequence[Branch]) -> int:
    return sum(branch.enum is not None for branch in branches)


def _without_vague_rules(node: Node) -> Node:
    """Remove the sentences about the alternatives of `oneOf`, which are combined with those of another union."""
    rules = tuple(rule._replace(text="") if rule.text == EXACTLY_ONE else rule for rule in node.opaque_rules)
    return node._replace(opaque_rules=rules)


def _with_alternatives(
    context: NormalizerContext, node: Node, schemas: Sequence[Any], keyword: str, collector: FindingCollector
) -> Node:
    alternatives = [
        context.normalize_alternative(Subschema(schema, collector.pointer_to(keyword, index)))
        for index, schema in enumerate(schemas)
    ]
    collector.extend(list(dict.fromkeys(finding for part in alternatives for finding in part.findings)))
    alternatives, node = _with_lifted_rules(alternatives, node)
    has_titles = sum(any(branch.type != "null" for branch in part.branches) for part in alternatives) > 1
    groups = [tuple(_described_branches(part, collector, has_titles=has_titles)) for part in alternatives]
    branches = merge_branches(branch for group in groups for branch in group)
    if keyword == "oneOf" and len(groups) > 1:
        collector.note("oneOf", "`oneOf` is written as `anyOf`")
        if alternatives_overlap(groups, context.node):
            text = exactly_one_text(schemas)
            has_merged_enums = _count_enums(branches) < sum(map(_count_enums, groups))
            if text == EXACTLY_ONE and (has_merged_enums or any(map(_share_types, groups))):
                text = ""
            rule = OpaqueRule({keyword: schemas}, text, collector.pointer_to(keyword))
            node = node._replace(opaque_rules=(*node.opaque_rules, rule))
    if _share_types(node.branches) and _share_types(branches):
        node = _without_vague_rules(node)
    defaults = [part.default for part in alternatives if part.has_default]
    if len(defaults) == 1 and not node.has_default:
        node = node._replace(default=defaults[0], has_default=True)
    return _intersect_union(node, branches)


def _with_lifted_rules(alternatives: list[Node], node: Node) -> tuple[list[Node], Node]:
    """Move rules about the alternatives of a nested `oneOf` to the union, which has these alternatives as well."""
    if not any(rule.text == EXACTLY_ONE for part in alternatives for rule in part.opaque_rules):
        return alternatives, node
    types = [{branch.type for branch in part.branches} for part in alternatives]
    if sum(map(len, types)) > len(frozenset().union(*types)):
        alternatives = [_without_vague_rules(part) for part in alternatives]
    vague = {EXACTLY_ONE, ""}
    rules = [rule for part in alternatives for rule in part.opaque_rules if rule.text in vague]
    alternatives = [
        part._replace(opaque_rules=tuple(rule for rule in part.opaque_rules if rule.text not in vague))
        for part in alternatives
    ]
    return alternatives, node._replace(opaque_rules=(*node.opaque_rules, *rules))


def _described_branches(node: Node, collector: FindingCollector, *, has_titles: bool) -> Iterator[Branch]:
    """Yield the branches of an alternative, each with its rules and its description, or its title with `has_titles`."""
    text = node.description or (node.title if has_titles and len(node.branches) == 1 else "")
    if not (text or node.sentences or node.opaque_rules or any(branch.opaque_rules for branch in node.branches)):
        yield from node.branches
        return
    for branch in node.branches:
        is_known = not branch.description or branch.description in text
        description = text if is_known else f"{text} {branch.description}".strip()
        description = append_sentences(description, node.sentences)
        opaque_rules = branch.opaque_rules + node.opaque_rules
        if opaque_rules and branch.enum is not None:
            # Enums are merged with their descriptions, but without rules.
            for keyword in (keyword for rule in opaque_rules for keyword in rule.unstated):
                message = f"`{keyword}` does not fit into the description and is omitted"
                collector.add_at(branch.pointer, keyword, Severity.LOSSY, message)
            description, opaque_rules = append_sentences(description, [rule.text for rule in opaque_rules]), ()
            collector.add_at(
                branch.pointer, "enum", Severity.LOSSY, "a rule about enum values is moved to the description"
            )
        yield branch._replace(description=description, opaque_rules=opaque_rules)
