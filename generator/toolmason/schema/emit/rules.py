"""Opaque rules: emitted verbatim if the target accepts them, otherwise described in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.check import check
from toolmason.schema.emit.context import EmitterContext, JsonSchema
from toolmason.schema.findings import Severity
from toolmason.schema.keywords import json_text
from toolmason.schema.normal_form import OpaqueRule
from toolmason.schema.walk import walk
from toolmason.schema.wording import append_sentences

_RULE_ORDER: Final = (
    *("contentEncoding", "contentMediaType", "contains", "minContains", "maxContains", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "not", "if", "then", "else"),
)
_RULE_KEYWORDS: Final = frozenset(_RULE_ORDER)


def sort_rules(schema: JsonSchema) -> JsonSchema:
    """Move verbatim rules behind the other keywords, in a fixed order."""
    if _RULE_KEYWORDS.isdisjoint(schema):
        return schema
    for keyword in _RULE_ORDER:
        if keyword in schema:
            schema[keyword] = schema.pop(keyword)
    return schema


def with_rules(
    context: EmitterContext, schema: JsonSchema, text: str, rules: Sequence[OpaqueRule], *, at_root: bool = False
) -> str:
    """Add the rules that the target accepts to `schema`; return the description with all other rules."""
    if not rules:
        return text
    described: list[OpaqueRule] = []
    for rule in rules:
        keywords = _verbatim(context, rule, schema, at_root=at_root)
        if keywords is None:
            described.append(rule)
        else:
            schema |= keywords
    sort_rules(schema)
    return append_sentences(text, rule_sentences(context, described))


def rule_sentences(context: EmitterContext, rules: Sequence[OpaqueRule]) -> list[str]:
    """Return the sentences of rules that the dialect cannot express, and report them."""
    for rule in rules:
        for keyword in list(rule.keywords)[:1]:
            message = (
                f"`{keyword}` is not supported here{'; moved to the description' if rule.text else ' and omitted'}"
            )
            context.find(rule.pointer, keyword, Severity.LOSSY, message)
    report_unstated(context, rules)
    return [context.names.in_text(rule.text) for rule in rules]


def report_unstated(context: EmitterContext, rules: Sequence[OpaqueRule]) -> None:
    """Report the keywords that the sentences of `rules` do not state."""
    for rule in rules:
        for keyword in rule.unstated:
            message = f"`{keyword}` does not fit into the description and is omitted"
            context.find(rule.schema_pointer, keyword, Severity.LOSSY, message)


def _verbatim(
    context: EmitterContext, rule: OpaqueRule, schema: Mapping[str, Any], *, at_root: bool
) -> JsonSchema | None:
    """Return the keywords to add to `schema`; None if the target does not accept the rule."""
    keyword = next(iter(rule.keywords), "")
    if keyword not in _RULE_KEYWORDS or not context.dialect.accepts(keyword) or (at_root and keyword == "not"):
        return None
    keywords = context.normalizer.references.dereference(rule.keywords)
    if keywords is None or context.names.renamed:
        return None
    text = json_text(keywords)
    if text not in context.accepted_rules:
        context.accepted_rules[text] = _accepts_names(context, keywords) and _is_accepted(context, keywords)
    if not context.accepted_rules[text]:
        return None
    context.char_count += len(text)
    if keyword not in schema:
        return keywords
    if not isinstance(schema[keyword], dict) or keyword not in {"dependentRequired", "dependentSchemas"}:
        return None
    return {keyword: {**schema[keyword], **keywords[keyword]}}


def _accepts_names(context: EmitterContext, rule: JsonSchema) -> bool:
    """Return whether the target accepts all property names in a rule, which cannot be renamed."""
    pattern = context.dialect.property_names
    tables = [part["properties"] for part, _ in walk(rule) if isinstance(part.get("properties"), dict)]
    return pattern is None or all(pattern.fullmatch(str(name)) for table in tables for name in table)


def _is_accepted(context: EmitterContext, rule: JsonSchema) -> bool:
    """Return whether the target accepts an original rule, which may contain keywords of another provider."""
    typed = {str(index): part for index, (part, _) in enumerate(walk(rule)) if "type" in part}
    findings = check({"type": "object", "properties": {**typed, "x": rule}}, context.target)
    return all(finding.severity is not Severity.REFUSED for finding in findings)
