"""Arrays and tuples."""

from __future__ import annotations

import math
from typing import Any

from toolmason.schema.emit.any_value import any_value, excluded_values
from toolmason.schema.emit.context import ITEMS, EmitterContext, JsonSchema, Part
from toolmason.schema.emit.limits import with_limits
from toolmason.schema.emit.rules import with_rules
from toolmason.schema.emit.summary import summarize
from toolmason.schema.findings import Severity
from toolmason.schema.normal_form import ANY_VALUE, Branch, Conjunction, Subschema, is_false_schema
from toolmason.schema.wording import append_sentences


def emit_array(context: EmitterContext, branch: Branch) -> Part:
    """Return the schema of an array."""
    schema: JsonSchema = {"type": context.type_name("array")}
    limits = dict(branch.limits)
    text = branch.description
    branch = _end_before_impossible_item(context, branch)
    if branch.prefix_items:
        text = _with_prefix_items(context, schema, branch, limits, text)
    elif is_false_schema(branch.items):
        limits["maxItems"] = 0
        schema["items"] = any_value(context, 1)
    else:
        schema["items"] = _emit_items(context, branch.items or ANY_VALUE, branch)
    text = with_limits(context, schema, branch, text, limits)
    return schema, with_rules(context, schema, text, branch.opaque_rules)


def _end_before_impossible_item(context: EmitterContext, branch: Branch) -> Branch:
    """End a tuple before the first item for which no value is valid."""
    for index, item in enumerate((*branch.prefix_items, branch.items)):
        if not item or (node := context.normalizer.node(item)).branches:
            continue
        if not is_false_schema(item):
            context.report(node.findings)
            message = "no value is valid here, so the array ends before this item"
            context.find(node.pointer or item[0].pointer, "false-schema", Severity.NOTE, message)
        false_schema = Subschema(False, item[0].pointer)
        return branch._replace(prefix_items=branch.prefix_items[:index], items=(false_schema,))
    return branch


def _emit_items(context: EmitterContext, item: Conjunction, branch: Branch) -> JsonSchema:
    if item == ANY_VALUE:
        if not context.dialect.allows_empty_schema:
            message = f"items of any type are written as a union; {excluded_values(context)}"
            context.find(branch.pointer, "items", Severity.NARROWED, message)
        return any_value(context, 1)
    context.path.append(ITEMS)
    schema = context.emit(item, branch.pointer)
    context.path.pop()
    return any_value(context, 1) if schema is None else schema


def _with_prefix_items(
    context: EmitterContext, schema: JsonSchema, branch: Branch, limits: dict[str, Any], text: str
) -> str:
    length = len(branch.prefix_items)
    is_closed = is_false_schema(branch.items) or limits.get("maxItems", math.inf) <= length
    if is_closed:
        limits["maxItems"] = min(limits.get("maxItems", length), length)
    if context.dialect.accepts("prefixItems"):
        schema["prefixItems"] = [_emit_items(context, item, branch) for item in branch.prefix_items]
        # Gemini and OpenAI require `items` on every array.
        rest = any_value(context, 1) if is_closed else _emit_items(context, branch.items or ANY_VALUE, branch)
        schema["items"] = rest
        return text
    items = branch.prefix_items if is_closed else (*branch.prefix_items, branch.items or ANY_VALUE)
    context.find(branch.pointer, "tuple", Severity.LOSSY, "the order of the items is moved to the description")
    order = "; ".join(f"{number}. {summarize(context, item)}" for number, item in enumerate(branch.prefix_items, 1))
    rest_text = "" if is_closed or branch.items is None else f"; then {summarize(context, branch.items)}"
    schema["items"] = _without_special_cases(_emit_items(context, context.normalizer.registry.union(items), branch))
    return append_sentences(text, [f"Items in order: {order}{rest_text}"])


def _without_special_cases(items: JsonSchema) -> JsonSchema:
    """Drop alternatives that another one includes, such as an enum beside `string`; the order of the items has them."""
    types = {part["type"] for part in items.get("anyOf", ()) if len(part) == 1}
    if not types:
        return items
    kept = {"items", "nullable", "properties"}
    parts = [part for part in items["anyOf"] if len(part) == 1 or part.get("type") not in types or part.keys() & kept]
    if len(parts) > 1:
        return {**items, "anyOf": parts}
    siblings = {keyword: value for keyword, value in items.items() if keyword != "anyOf"}
    return {**parts[0], **siblings}
