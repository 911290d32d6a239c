"""Unions, nullable values and defaults."""

from __future__ import annotations

from collections.abc import Sequence

from toolmason.schema.emit.any_value import add_null
from toolmason.schema.emit.context import EmitterContext, JsonSchema, Part, Position
from toolmason.schema.emit.rules import rule_sentences, with_rules
from toolmason.schema.emit.values import accepts_value, copy_value, quote_value
from toolmason.schema.findings import Severity
from toolmason.schema.keywords import JSON_TYPES
from toolmason.schema.normal_form import Node
from toolmason.schema.providers import NullStyle
from toolmason.schema.wording import append_sentences, join_descriptions


def emit_union(context: EmitterContext, parts: Sequence[Part], node: Node, position: Position) -> JsonSchema:
    """Return the schema of a union; `parts` are its types without null."""
    if not parts:
        return _emit_null(context, node)
    null = context.dialect.null if _accepts_null(context, node, position) else None
    if null is NullStyle.OMIT:
        node, null = _without_null(context, node, position), None
    if len(parts) == 1 and null is not NullStyle.UNION:
        schema, text = parts[0]
        if null is NullStyle.NULLABLE:
            schema = {"type": schema.pop("type"), "nullable": True, **schema}
        text = append_sentences(join_descriptions(node.description, text), node.sentences)
        text = with_rules(context, schema, text, node.opaque_rules)
        return with_default(context, context.describe(schema, text), node)
    text = append_sentences(node.description, node.sentences)
    siblings: JsonSchema = {}
    if context.dialect.allows_keywords_beside_any_of:
        text = with_rules(context, siblings, text, node.opaque_rules)
        schemas = _distinct([context.describe(*part) for part in parts])
        if context.dialect.allows_empty_schema and null is not None and _accept_any_value(schemas):
            return with_default(context, context.describe(siblings, text), node)
    else:
        text = append_sentences(text, rule_sentences(context, node.opaque_rules))
        (first, first_text), *others = parts
        described = [(first, join_descriptions(text, first_text)), *others]
        schemas = _distinct([context.describe(*part) for part in described])
    if null is not None:
        add_null(context, schemas)
    if len(schemas) == 1:
        return with_default(context, {**schemas[0], **siblings}, node)
    if context.dialect.allows_keywords_beside_any_of:
        return with_default(context, context.describe({"anyOf": schemas, **siblings}, text), node)
    _add_default_to_alternative(context, schemas, node)
    return {"anyOf": schemas}


def _distinct(schemas: Sequence[JsonSchema]) -> list[JsonSchema]:
    distinct: list[JsonSchema] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    return distinct


def _accept_any_value(schemas: Sequence[JsonSchema]) -> bool:
    """Return whether the emitted schemas accept every value except null."""
    unconstrained = ({"type": "array", "items": {}}, {"type": "object"}, {"type": "object", "properties": {}})
    types = {schema.get("type") for schema in schemas if len(schema) == 1 or schema in unconstrained}
    return types >= set(JSON_TYPES) - {"null"}


def _accepts_null(context: EmitterContext, node: Node, position: Position) -> bool:
    """Return whether null is accepted; strict mode has null for an omitted property."""
    return node.accepts_null or (context.dialect.strict_objects and position is Position.OPTIONAL)


def _without_null(context: EmitterContext, node: Node, position: Position) -> Node:
    """Report that null is omitted. If the value cannot be omitted instead, add "May be null" to its description."""
    if position is not Position.OPTIONAL:
        if node.accepts_any_value:
            return node  # reported by the finding `any`
        message = "null is no longer accepted; moved to the description"
        context.find(node.pointer, "null", Severity.NARROWED, message)
        return node._replace(sentences=(*node.sentences, "May be null"))
    if node.has_default and node.default is not None:
        message = f"null is no longer accepted; omitting the value means {quote_value(node.default)}"
        context.find(node.pointer, "null", Severity.NARROWED, message)
    else:
        context.find(node.pointer, "null", Severity.NOTE, "null is no longer accepted; omit the value instead")
    return node


def _emit_null(context: EmitterContext, node: Node) -> JsonSchema:
    text = append_sentences(node.description, node.sentences)
    if context.dialect.has_null_type:
        return context.describe({"type": context.type_name("null")}, text)
    is_omitted = context.dialect.null is NullStyle.OMIT
    severity = Severity.NARROWED if is_omitted else Severity.LOSSY
    context.find(node.pointer, "null", severity, "the type null is not supported; moved to the description")
    text = append_sentences(text, ["Must be null"])
    schema: JsonSchema = {"type": context.type_name("string")}
    return context.describe(schema if is_omitted else {**schema, "nullable": True}, text)


def with_default(context: EmitterContext, schema: JsonSchema, node: Node) -> JsonSchema:
    """Add the default to a schema or its description if it is valid."""
    if not node.has_default or node.default is None:
        return schema
    if not accepts_value(schema, node.default):
        _report_invalid_default(context, node)
        return schema
    if context.dialect.accepts("default"):
        if (default := copy_value(node.default)) is None:
            context.find(node.pointer, "default", Severity.NOTE, "`default` is nested too deep and omitted")
        else:
            schema["default"] = default
        return schema
    context.find(node.pointer, "default", Severity.NOTE, "`default` is moved to the description")
    description = schema.pop("description", "")
    context.char_count -= len(description)
    return context.describe(schema, append_sentences(description, [f"Default: {quote_value(node.default)}"]))


def _add_default_to_alternative(context: EmitterContext, schemas: list[JsonSchema], node: Node) -> None:
    """Add the default to the alternative of its type, because `anyOf` must not have siblings."""
    if not node.has_default or node.default is None:
        return
    for schema in (alternative for part in schemas for alternative in part.get("anyOf", (part,))):
        if accepts_value(schema, node.default):
            described = with_default(context, dict(schema), node)
            schema.clear()
            schema.update(described)
            return
    _report_invalid_default(context, node)


def _report_invalid_default(context: EmitterContext, node: Node) -> None:
    message = f"the default {quote_value(node.default)} is invalid and omitted"
    context.find(node.pointer, "default", Severity.NOTE, message)
