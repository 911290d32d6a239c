"""Schemas that accept any value, for dialects without `{}`."""

from __future__ import annotations

from toolmason.schema.emit.context import EmitterContext, JsonSchema
from toolmason.schema.keywords import JSON_TYPES
from toolmason.schema.providers import NullStyle
from toolmason.schema.wording import join_words


def any_value(context: EmitterContext, levels: int) -> JsonSchema:
    """Return a schema that accepts any value; nested arrays are limited to `levels` more levels."""
    if context.dialect.allows_empty_schema:
        return {}
    parts = any_value_parts(context, levels)
    if context.dialect.null is not NullStyle.OMIT:
        add_null(context, parts)
    return {"anyOf": parts}


def any_value_parts(context: EmitterContext, levels: int) -> list[JsonSchema]:
    """Return the alternatives of `any_value` without null."""
    parts: list[JsonSchema] = []
    for json_type in JSON_TYPES:
        if json_type == "null" or (json_type == "array" and levels <= 0):
            continue
        part: JsonSchema = {"type": context.type_name(json_type)}
        if json_type == "array":
            part["items"] = any_value(context, levels - 1)
        if json_type == "object" and context.dialect.requires_properties:
            part["properties"] = {}
        if json_type == "object" and context.dialect.requires_required:
            part["required"] = []
        if json_type == "object" and context.dialect.strict_objects:
            part |= {"required": [], "additionalProperties": False}
        if json_type == "object" and context.dialect.closes_objects:
            part["additionalProperties"] = False
        parts.append(part)
    return parts


def excluded_values(context: EmitterContext) -> str:
    """Describe the values that the result of `any_value` rejects."""
    texts = ["null is omitted"] if context.dialect.null is NullStyle.OMIT else []
    texts += ["objects have no properties"] if context.dialect.strict_objects or context.dialect.closes_objects else []
    return join_words([*texts, "nested arrays are limited"], "and")


def add_null(context: EmitterContext, alternatives: list[JsonSchema]) -> None:
    """Make a non-empty list of alternatives nullable."""
    if context.dialect.null is NullStyle.NULLABLE:
        alternatives[0] = {"type": alternatives[0]["type"], "nullable": True, **alternatives[0]}
    else:
        alternatives.append({"type": "null"})
