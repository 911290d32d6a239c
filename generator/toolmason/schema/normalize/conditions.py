"""Normalize `not`, `if`, dependent schemas, and `unevaluatedProperties` and `unevaluatedItems`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import TYPE_NAMES, VALUE_CHECKS
from toolmason.schema.normal_form import Branch, Node, OpaqueRule, Subschema, is_false_schema
from toolmason.schema.normalize.collector import FindingCollector
from toolmason.schema.normalize.context import Keywords, NormalizerContext
from toolmason.schema.normalize.predicates import must_be
from toolmason.schema.normalize.rule_text import condition_text, not_text, unstated_keywords
from toolmason.schema.normalize.type_branches import SEES_OTHER_ITEMS
from toolmason.schema.references import References

_PROPERTY_CONDITIONS: Final = ("if", "dependentSchemas", "dependencies", "then", "else")
CONDITION_KEYWORDS: Final = frozenset({"not", *_PROPERTY_CONDITIONS})
UNEVALUATED_KEYWORDS: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})


def with_conditions(context: NormalizerContext, node: Node, keywords: Keywords, collector: FindingCollector) -> Node:
    """Apply `not` and `if`, and declare the properties that occur only under a condition."""
    rules: list[OpaqueRule] = []
    if "not" in keywords:
        excluded = _excluded_types(keywords["not"])
        if excluded is None:
            plain = context.references.dereference_for_text(keywords["not"])
            text = not_text(plain)
            pointer = collector.pointer_to("not")
            rules.append(OpaqueRule({"not": keywords["not"]}, text, pointer, unstated_keywords(plain, text)))
        else:
            node = node._replace(branches=tuple(branch for branch in node.branches if branch.type not in excluded))
    if "if" in keywords and ("then" in keywords or "else" in keywords):
        rule = {keyword: keywords[keyword] for keyword in ("if", "then", "else") if keyword in keywords}
        plain = {keyword: context.references.dereference_for_text(schema) for keyword, schema in rule.items()}
        text = condition_text(plain, keywords.get("required", ()))
        unstated = tuple(keyword for schema in plain.values() for keyword in unstated_keywords(schema, text))
        rules.append(OpaqueRule(rule, text, collector.pointer_to("if"), unstated))
    branches = _declare_conditional_properties(context, node.branches, keywords, collector)
    return node._replace(branches=branches, opaque_rules=(*node.opaque_rules, *rules))


def _excluded_types(schema: Any) -> frozenset[str] | None:
    """Return the types that `not` excludes entirely; None if it does anything else."""
    if schema is True or schema in ({}, {"required": []}):
        return TYPE_NAMES
    if not isinstance(schema, dict) or schema.keys() != {"type"} or not VALUE_CHECKS["type"](schema["type"]):
        return frozenset() if schema is False else None
    types = frozenset([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
    if not types <= TYPE_NAMES or ("integer" in types and "number" not in types):
        return None
    return types | {"integer"} if "number" in types else types


def _declare_conditional_properties(
    context: NormalizerContext, branches: tuple[Branch, ...], keywords: Keywords, collector: FindingCollector
) -> tuple[Branch, ...]:
    """Add properties that occur only under `if` or `dependentSchemas`: a model cannot send undeclared ones."""
    conditional: dict[str, list[Subschema]] = {}
    for keyword in ("then", "else") if "if" in keywords else ():
        _collect_properties(context, keywords.get(keyword), collector.pointer_to(keyword), conditional)
    for keyword in ("dependentSchemas", "dependencies"):
        for name, schema in keywords.get(keyword, {}).items():
            _collect_properties(context, schema, collector.pointer_to(keyword, name), conditional)
    for name in conditional:
        if not any(branch.type == "object" and name in branch.properties for branch in branches):
            message = f"`{name}`, which occurs only under a condition, is declared for every call"
            keyword = next(keyword for keyword in _PROPERTY_CONDITIONS if keyword in keywords)
            collector.add(keyword, "condition", Severity.NARROWED, message)
    return tuple(_with_properties(context, branch, conditional) for branch in branches) if conditional else branches


def _collect_properties(
    context: NormalizerContext, schema: Any, pointer: str, properties: dict[str, list[Subschema]]
) -> None:
    if isinstance(schema, dict):
        for branch in context.normalize(Subschema(schema, pointer)).objects:
            for name, conjunction in branch.properties.items():
                properties.setdefault(name, []).extend(conjunction or (Subschema({}, pointer),))


def _with_properties(context: NormalizerContext, branch: Branch, conditional: Mapping[str, list[Subschema]]) -> Branch:
    is_closed = is_false_schema(branch.additional_properties) and not branch.pattern_properties
    if branch.type != "object" or is_closed:
        return branch
    added = {
        name: context.registry.any_of(subschemas)
        for name, subschemas in conditional.items()
        if name not in branch.properties
    }
    return branch._replace(properties={**branch.properties, **added})


def with_unevaluated(node: Node, keywords: Keywords, collector: FindingCollector, references: References) -> Node:
    """Apply `unevaluatedProperties` and `unevaluatedItems`."""
    properties = keywords.get("unevaluatedProperties")
    objects = node.objects
    # With several alternatives, a value may match two of them and have the properties of both.
    is_open = len(objects) == 1 and objects[0].additional_properties is None and not objects[0].pattern_properties
    if properties is False and is_open:
        false_schema = Subschema(False, collector.pointer_to("unevaluatedProperties"))
        closed = objects[0]._replace(additional_properties=(false_schema,))
        branches = tuple(closed if branch is objects[0] else branch for branch in node.branches)
        node, properties = node._replace(branches=branches), None
    items = keywords.get("unevaluatedItems")
    if SEES_OTHER_ITEMS.isdisjoint(keywords):
        items = None  # Already part of the array branch.
    rules = list(node.opaque_rules)
    for keyword, value, noun in (
        ("unevaluatedProperties", properties, "properties"),
        ("unevaluatedItems", items, "items"),
    ):
        if value is False or (isinstance(value, dict) and value):
            plain = references.dereference_for_text(value)
            text = must_be(f"Other {noun}", "must", plain) if value else f"No other {noun}"
            unstated = unstated_keywords(plain, text)
            rules.append(OpaqueRule({keyword: value}, text, collector.pointer_to(keyword), unstated))
    return node._replace(opaque_rules=tuple(rules))
