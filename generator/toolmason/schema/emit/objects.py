"""Objects and their properties."""

from __future__ import annotations

from toolmason.schema.emit.any_value import any_value
from toolmason.schema.emit.context import CLOSED, ITEMS, EmitterContext, JsonSchema, Part, Position
from toolmason.schema.emit.declared import declared_properties, property_pointer
from toolmason.schema.emit.limits import with_limits
from toolmason.schema.emit.summary import matching_names, summarize
from toolmason.schema.findings import Severity
from toolmason.schema.normal_form import Branch, Conjunction, is_false_schema
from toolmason.schema.providers import providers
from toolmason.schema.wording import append_sentences, states_pattern


def emit_object(context: EmitterContext, branch: Branch, text: str) -> Part:
    """Return the schema of an object; `text` is its description."""
    schema: JsonSchema = {"type": context.type_name("object")}
    properties: dict[str, JsonSchema] = {}
    forbidden: list[str] = []
    for name, conjunction in declared_properties(branch).items():
        value = _emit_property(context, branch, name, conjunction)
        if value is None:
            forbidden.append(f"Do not give `{name}`")
            continue
        if context.dialect.adds_null_defaults and name not in branch.required and _is_inside_argument(context):
            value.setdefault("default", None)
        properties[_accepted_name(context, branch, name)] = value
        if name in branch.required and name not in branch.properties and not conjunction:
            message = f"the required property `{name}` had no declaration"
            context.find(branch.pointer, "undeclared-required", Severity.NOTE, message)
    if context.dialect.strict_objects:
        required = list(properties)
    else:
        required = [context.names.name_for(name) for name in branch.required]
    if properties or context.dialect.requires_properties:
        schema["properties"] = properties
    if required or context.dialect.strict_objects or context.dialect.requires_required:
        schema["required"] = required
    if not properties and context.dialect.opens_empty_objects:
        schema["additionalProperties"] = True
    text = _with_other_properties(context, schema, branch, append_sentences(text, forbidden))
    return schema, with_limits(context, schema, branch, text)


def _emit_property(context: EmitterContext, branch: Branch, name: str, conjunction: Conjunction) -> JsonSchema | None:
    """Return the schema of a property; None if the description must forbid it."""
    is_required = name in branch.required
    # With `minProperties`, a property whose value is null still counts, unlike an omitted one.
    is_counted = "minProperties" in branch.limits and not context.dialect.strict_objects
    pointer = "" if conjunction else property_pointer(branch, name)
    position = Position.REQUIRED if is_required or is_counted else Position.OPTIONAL
    context.path.append(name)
    value = context.emit(conjunction, pointer, position)
    context.path.pop()
    if value is not None:
        return value
    if is_required:
        message = f"the required property `{name}` has no valid value"
        context.find(branch.pointer, "false-schema", Severity.LOSSY, message)
        return any_value(context, 1)
    message = f"`{name}` has no valid value; moved to the description"
    context.find(branch.pointer, "false-schema", Severity.LOSSY, message)
    has_false_schema = context.dialect.accepts("not") and context.dialect.allows_empty_schema
    return {"not": {}} if has_false_schema else None


def _is_inside_argument(context: EmitterContext) -> bool:
    """Return whether the properties are those of an argument, not of an item of a list or of a deeper object."""
    return context.level == 1 and ITEMS not in context.path


def _accepted_name(context: EmitterContext, branch: Branch, name: str) -> str:
    accepted = context.names.name_for(name)
    pattern = context.dialect.property_names
    if accepted != name:
        message = f"`{name}` is renamed to `{accepted}`, because not every provider accepts the name"
        context.find(property_pointer(branch, name), "property-name", Severity.NOTE, message)
    elif pattern is not None and not pattern.fullmatch(name):
        is_refused = context.level == 0 and not providers().anthropic_name.fullmatch(name)
        severity = Severity.REFUSED if is_refused else Severity.NOTE
        message = f"not every provider accepts the name `{name}`"
        context.find(property_pointer(branch, name), "property-name", severity, message)
    return accepted


def _with_other_properties(context: EmitterContext, schema: JsonSchema, branch: Branch, text: str) -> str:
    """Add `patternProperties` and `additionalProperties` to `schema`, or return the description with their rules."""
    dialect, additional = context.dialect, branch.additional_properties
    if dialect.strict_objects or dialect.closes_objects:
        schema["additionalProperties"] = False
        _report_closed(context, branch)
        return text
    is_complete = True
    if branch.pattern_properties and dialect.accepts("patternProperties"):
        schema["patternProperties"] = {
            pattern: _or_false(context.emit(conjunction, branch.pointer))
            for pattern, conjunction in branch.pattern_properties
        }
    elif branch.pattern_properties:
        is_complete = False
        message = "`patternProperties` is moved to the description"
        context.find(branch.pointer, "patternProperties", Severity.LOSSY, message)
        if not all(states_pattern({"pattern": pattern}) for pattern, _ in branch.pattern_properties):
            message = "a pattern of `patternProperties` is too long for the description and omitted"
            context.find(branch.pointer, "patternProperties", Severity.LOSSY, message)
        sentences = [
            f"{matching_names(pattern)}: {summarize(context, conjunction)}"
            for pattern, conjunction in branch.pattern_properties
        ]
        text = append_sentences(text, sentences)
    if not additional:
        return text
    if is_false_schema(additional):
        if dialect.accepts("additionalProperties") and is_complete:
            schema["additionalProperties"] = False
        else:
            message = "`additionalProperties: false` is not supported here and omitted"
            # An empty list of names says nothing, except that a tool has no arguments.
            names_are_listed = bool(branch.properties) or context.level == 0
            context.find(branch.pointer, "additionalProperties", Severity.LOSSY, message, opens_object=names_are_listed)
        return text
    if dialect.accepts("additionalProperties") and is_complete:
        value = context.emit(additional, branch.pointer)
        if value != {}:
            schema["additionalProperties"] = _or_false(value)
        return text
    message = "the schema of `additionalProperties` is moved to the description"
    context.find(branch.pointer, "additionalProperties", Severity.LOSSY, message)
    subject = "Other names mapped" if branch.properties else "Names mapped"
    return append_sentences(text, [f"{subject} to {summarize(context, additional)}"])


def _or_false(schema: JsonSchema | None) -> JsonSchema | bool:
    return False if schema is None else schema


def _report_closed(context: EmitterContext, branch: Branch) -> None:
    """Report that strict mode closes an object."""
    additional, has_patterns = branch.additional_properties, bool(branch.pattern_properties)
    if is_false_schema(additional) and not has_patterns:
        return
    has_no_arguments = context.level == 0 and additional is None and not branch.limits
    if has_patterns:
        message = f"`patternProperties` is omitted: {CLOSED}"
        context.find(branch.pointer, "patternProperties", Severity.NARROWED, message)
    if additional and not is_false_schema(additional):
        message = f"`additionalProperties` is omitted: {CLOSED}"
        context.find(branch.pointer, "additionalProperties", Severity.NARROWED, message)
    elif has_patterns:
        return
    elif not (branch.properties or has_no_arguments) or additional is not None:
        context.find(branch.pointer, "additionalProperties", Severity.NARROWED, CLOSED)
    else:
        context.find(branch.pointer, "additionalProperties", Severity.NOTE, "strict mode closes every object")
