"""Strings, numbers and booleans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolmason.schema.emit.context import EmitterContext, JsonSchema, Part
from toolmason.schema.emit.limits import with_limits
from toolmason.schema.emit.rules import with_rules
from toolmason.schema.emit.values import quote_value
from toolmason.schema.findings import Severity
from toolmason.schema.normal_form import Branch, to_inclusive_bounds
from toolmason.schema.wording import append_sentences, enum_text, range_text

MAX_RANGES: Final = 12
"""Maximum ranges of integers that become alternatives."""


def emit_string(context: EmitterContext, branch: Branch) -> Iterator[Part]:
    """Yield the parts of a string; `""` in an enum can become a part of its own."""
    schema: JsonSchema = {"type": context.type_name("string")}
    text = _enum_description(branch)
    if branch.enum is None:
        text = with_limits(context, schema, branch, text)
        yield schema, with_rules(context, schema, text, branch.opaque_rules)
        return
    enum = [value for value in branch.enum if value or context.dialect.allows_empty_enum_value]
    if enum:
        schema["enum"] = enum
        context.char_count += sum(map(len, enum))
        limits = {name: value for name, value in branch.limits.items() if name in {"pattern", "format"}}
        text = with_limits(context, schema, branch, text, limits)
        yield schema, with_rules(context, schema, text, branch.opaque_rules)
    if len(enum) < len(branch.enum):
        message = 'the enum value "" is written as a pattern'
        context.find(branch.pointer, "empty-enum-member", Severity.NOTE, message)
        empty: JsonSchema = {"type": context.type_name("string")}
        rule = Branch(type="string", pointer=branch.pointer, limits={"pattern": "^$"})
        yield empty, with_limits(context, empty, rule, "" if enum else text)


def emit_boolean(context: EmitterContext, branch: Branch) -> Part:
    """Return the schema of a boolean."""
    schema: JsonSchema = {"type": context.type_name("boolean")}
    text = _enum_description(branch)
    if branch.enum is not None and "boolean" in context.dialect.enum_types:
        schema["enum"] = list(branch.enum)
    elif branch.enum is not None:
        context.find(branch.pointer, "boolean-enum", Severity.LOSSY, "the boolean is stated in the description")
        text = append_sentences(text, [enum_text(branch.enum)])
    return schema, with_rules(context, schema, text, branch.opaque_rules)


def emit_number(context: EmitterContext, branch: Branch) -> Iterator[Part]:
    """Yield the parts of a number; without enum support, one for each range of values."""
    schema: JsonSchema = {"type": context.type_name(branch.type)}
    if branch.enum is None:
        bounds = to_inclusive_bounds(branch)
        for keyword in sorted(branch.limits.keys() - bounds.keys()):
            message = f"`{keyword}` of an integer is written as an inclusive bound"
            context.find(branch.pointer, keyword, Severity.NOTE, message)
        text = with_limits(context, schema, branch, branch.description, bounds)
        yield schema, with_rules(context, schema, text, branch.opaque_rules)
        return
    text = _enum_description(branch)
    if branch.type in context.dialect.enum_types:
        yield {**schema, "enum": list(branch.enum_values)}, text
        return
    values = sorted(branch.enum_values)
    ranges = _ranges(values) if branch.type == "integer" else [(value, value) for value in values]
    if len(ranges) == 1 or (context.dialect.splits_integer_enums and len(ranges) <= MAX_RANGES):
        context.find(branch.pointer, "number-enum", Severity.NOTE, "the enum is written as limits")
        for index, (low, high) in enumerate(ranges):
            sentences = [range_text(low, high, "")] if context.repeats_limits else []
            yield _emit_range(context, branch, low, high, append_sentences("" if index else text, sentences))
        return
    context.find(branch.pointer, "number-enum", Severity.LOSSY, "the enum is moved to the description")
    yield _emit_range(context, branch, values[0], values[-1], append_sentences(text, [enum_text(values)]))


def _emit_range(context: EmitterContext, branch: Branch, low: float, high: float, text: str) -> Part:
    schema: JsonSchema = {"type": context.type_name(branch.type)}
    bounds = Branch(type=branch.type, pointer=branch.pointer, limits={"minimum": low, "maximum": high})
    return schema, with_limits(context, schema, bounds, text)


def _ranges(values: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive integers in sorted `values`: `[1, 2, 5]` -> `[(1, 2), (5, 5)]`."""
    ranges: list[tuple[int, int]] = []
    for value in map(int, values):
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], value)
        else:
            ranges.append((value, value))
    return ranges


def _enum_description(branch: Branch) -> str:
    """Return the description with those of single enum values."""
    texts = [f"{quote_value(value)}: {text.rstrip('.')}" for value, text in branch.enum_descriptions]
    return append_sentences(branch.description, ["; ".join(texts)] if texts else [])
