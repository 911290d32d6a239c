"""Merge alternatives of type object into one object, with a sentence about each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolmason.schema.emit.context import CLOSED, EmitterContext
from toolmason.schema.emit.rules import report_unstated
from toolmason.schema.emit.values import quote_value
from toolmason.schema.findings import Severity
from toolmason.schema.normal_form import Branch, Conjunction, Node, OpaqueRule, is_false_schema
from toolmason.schema.wording import join_words, limit_sentences


def merge_root_objects(
    context: EmitterContext, objects: Sequence[Branch], rules: Sequence[OpaqueRule]
) -> tuple[Branch, list[str]]:
    """Merge the alternatives of a root, which providers reject. Return the object and its sentences.

    `rules` apply to all alternatives.
    """
    first = objects[0]
    names = list(dict.fromkeys(name for branch in objects for name in branch.properties))
    # An alternative without the name accepts any value for it, but the merged object has the other one's schema.
    narrows = any(
        name not in branch.properties and not is_false_schema(branch.additional_properties)
        for branch in objects
        for name in names
    )
    severity = Severity.NARROWED if narrows else Severity.LOSSY
    message = "alternatives at the root are merged and described"
    context.find(first.pointer, "root-union", severity, message)
    properties = {
        name: context.normalizer.registry.union(
            [branch.properties[name] for branch in objects if name in branch.properties]
        )
        for name in names
    }
    required = _common_required(objects)
    if context.dialect.strict_objects and any(not {*names, *required}.issuperset(each.required) for each in objects):
        context.find(first.pointer, "additionalProperties", Severity.NARROWED, CLOSED)
    limits = {
        name: value
        for name, value in first.limits.items()
        if all(branch.limits.get(name) == value for branch in objects)
    }
    sentences = [_alternatives_text(context, objects, required, is_exclusive=_is_exclusive(rules))]
    for branch in objects:
        report_unstated(context, branch.opaque_rules)
        sentences += [rule.text for rule in branch.opaque_rules]
    sentences += [
        text for branch in objects if dict(branch.limits) != limits for text in limit_sentences(branch.limits)
    ]
    has_additional = all(branch.additional_properties == first.additional_properties for branch in objects) or all(
        is_false_schema(branch.additional_properties) for branch in objects
    )
    has_patterns = all(branch.pattern_properties == first.pattern_properties for branch in objects)
    if not (is_shared := has_additional and has_patterns):
        _report_other_properties(context, objects)
    merged = Branch(
        type="object",
        pointer=first.pointer,
        limits=limits,
        properties=properties,
        required=required,
        additional_properties=first.additional_properties if is_shared else None,
        pattern_properties=first.pattern_properties if is_shared else (),
    )
    return merged, sentences


def _report_other_properties(context: EmitterContext, objects: Sequence[Branch]) -> None:
    """Report the rules for other properties, which differ between the alternatives."""
    for branch in objects:
        rules = {"additionalProperties": branch.additional_properties, "patternProperties": branch.pattern_properties}
        for keyword, rule in rules.items():
            if rule:
                message = f"`{keyword}` differs between the alternatives and is omitted"
                context.find(branch.pointer, keyword, Severity.LOSSY, message)


def merge_required_alternatives(context: EmitterContext, node: Node) -> tuple[Branch, ...]:
    """Return the branches with objects that differ only in `required` merged into one with a sentence."""
    if not context.dialect.merges_required_alternatives or len(node.branches) < 2:
        return node.branches
    objects = node.objects
    if len(objects) < 2:
        return node.branches
    first = objects[0]
    if any(branch._replace(required=(), pointer="") != first._replace(required=(), pointer="") for branch in objects):
        return node.branches
    required = _common_required(objects)
    text = _alternatives_text(context, objects, required, is_exclusive=_is_exclusive(node.opaque_rules))
    message = "alternatives that differ in `required` are merged and described"
    context.find(first.pointer, "required", Severity.LOSSY, message)
    rules = (*first.opaque_rules, OpaqueRule({}, text, first.pointer))
    merged = first._replace(required=required, opaque_rules=rules)
    return (merged, *(branch for branch in node.branches if branch.type != "object"))


def _common_required(objects: Sequence[Branch]) -> tuple[str, ...]:
    return tuple(name for name in objects[0].required if all(name in branch.required for branch in objects))


def _alternatives_text(
    context: EmitterContext, objects: Sequence[Branch], common: Sequence[str], *, is_exclusive: bool
) -> str:
    """Describe each alternative: its tag, and the required properties beyond `common`."""
    has_different_names = len({tuple(branch.properties) for branch in objects}) > 1
    needed_names = [[name for name in branch.required if name not in common] for branch in objects]
    has_more = any(branch.description or _has_tag(context, branch) for branch in objects)
    if all(len(names) == 1 for names in needed_names) and not has_more:
        may_combine = not has_different_names or not any(
            is_false_schema(each.additional_properties) for each in objects
        )
        names = [f"`{context.names.name_for(name)}`" for (name,) in needed_names]
        text = f"Give {join_words(list(dict.fromkeys(names)), 'or')}"
        return f"{text} (at least one)" if may_combine and not is_exclusive else text
    alternatives: list[str] = []
    for branch in objects:
        tags = {
            name: value
            for name, conjunction in branch.properties.items()
            if (value := _only_value(context, conjunction)) is not None
        }
        needed = [name for name in branch.required if name not in common and name not in tags]
        if not needed and not tags and has_different_names:
            needed = [name for name in branch.properties if name not in common]
        tag_text = " and ".join(f"`{context.names.name_for(name)}` = {quote_value(tag)}" for name, tag in tags.items())
        names = [f"`{context.names.name_for(name)}`" for name in needed]
        text = join_words(names, "and") if names else "nothing more"
        if tags:
            text = f"{tag_text} with {text}" if names else tag_text
        alternatives.append(f"{text} ({branch.description.rstrip('.')})" if branch.description else text)
    return f"Give {'; or '.join(dict.fromkeys(alternatives))}"


def _is_exclusive(rules: Sequence[OpaqueRule]) -> bool:
    """Return whether `oneOf` is among the rules, so that a value must fit exactly one alternative."""
    return any("oneOf" in rule.keywords for rule in rules)


def _has_tag(context: EmitterContext, branch: Branch) -> bool:
    return any(_only_value(context, conjunction) is not None for conjunction in branch.properties.values())


def _only_value(context: EmitterContext, conjunction: Conjunction) -> Any:
    """Return the value of an enum of one value; None otherwise."""
    branches = context.normalizer.node(conjunction).branches
    enum = branches[0].enum if len(branches) == 1 else None
    return enum[0] if enum is not None and len(enum) == 1 else None
