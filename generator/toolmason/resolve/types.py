"""The `[types]` of a manifest, and the parameters and fields that use them."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.manifest.idioms import type_hint
from toolmason.manifest.tables import ParamTable, TypeTable, ValueTable
from toolmason.model.identifiers import RESERVED_MODEL_NAMES, class_name, is_type_name
from toolmason.model.json_schema import MAX_RECURSION, definitions, property_schema
from toolmason.model.tool import Tool
from toolmason.model.type_expression import PRIMITIVES, MalformedTypeError, format_type, names, parse
from toolmason.model.types import (
    ArrayType,
    ClassName,
    DeclaredType,
    EnumType,
    MapType,
    NamedType,
    ObjectType,
    PrimitiveType,
    Property,
    TypeRef,
    UnionType,
)
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.examples import SchemaChecker
from toolmason.resolve.unions import has_uncertain_kind, inner_names, union_type
from toolmason.schema.emit import MAX_NODES

KEYWORDS = {
    "enum": "enum",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
    "min_items": "minItems",
    "max_items": "maxItems",
    "unique_items": "uniqueItems",
}
"""Keyword of JSON Schema for each constraint of the manifest, in output order."""

_APPLICABLE_TYPES = {
    "enum": ("string", "integer"),
    "minimum": ("integer", "number"),
    "maximum": ("integer", "number"),
    "min_length": ("string",),
    "max_length": ("string",),
    "pattern": ("string",),
    "format": ("string",),
    "min_items": ("array",),
    "max_items": ("array",),
    "unique_items": ("array",),
}
_UNSUPPORTED_HINTS = {
    ("enum", "number"): "generated models cannot enforce `enum` on numbers; use `minimum` and `maximum`, or a string"
}
"""Hints for constraints that JSON Schema allows on a type and generated models cannot enforce."""
_BOUND_PAIRS = (("minimum", "maximum"), ("min_length", "max_length"), ("min_items", "max_items"))

PROPERTY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""A property name that Anthropic and Vertex AI accept, such as `max_items`. Lint warns of a dash or a dot."""


def resolve_types(context: ResolveContext) -> None:
    """Resolve `[types]` to the types of `context`. Invalid fields and members are reported and left out."""
    tables = context.tables.types
    for name, table in tables.items():
        if not is_type_name(name):
            context.error("TM303", f"`{name}` cannot name a type", table.at, hint=_better_name(name), value=False)
    # Defaults of fields are checked with the enumerations, members of unions with the fields.
    enums = {name: _enum_type(context, name, table) for name, table in tables.items() if table.enum}
    context.types |= enums
    objects = {
        name: ObjectType(
            name=ClassName(name), description=table.description, fields=values(context, table.fields), at=table.at
        )
        for name, table in tables.items()
        if not (table.enum or table.one_of)
    }
    unions = {name: union_type(context, name, table, objects) for name, table in tables.items() if table.one_of}
    resolved = {**enums, **objects, **unions}
    context.types = {name: resolved[name] for name in tables}


def _enum_type(context: ResolveContext, name: str, table: TypeTable) -> EnumType:
    _check_enum(context, table, PrimitiveType("string"))
    return EnumType(name=ClassName(name), description=table.description.strip(), choices=table.enum, at=table.at)


def _better_name(name: str) -> str:
    if name in RESERVED_MODEL_NAMES:
        return "choose another name: generated code has a class of this name"
    better = class_name(name)
    example = better if is_type_name(better) and name not in PRIMITIVES else "FileRequest"
    return f"use a Python class name such as `{example}`"


def values(context: ResolveContext, tables: Mapping[str, ValueTable]) -> tuple[Property, ...]:
    """Resolve parameters or fields. Invalid ones are left out, and reported unless an earlier stage did."""
    typed = {name: table for name, table in tables.items() if not table.is_uncertain("type")}
    refs = {name: ref for name, table in typed.items() if (ref := _type(context, table))}
    type_names = frozenset[str]().union(*(names(ref) for ref in refs.values()))
    for name in sorted(refs.keys() & type_names):
        message = f"`{name}` is both a field and the type of a field in one class"
        context.error("TM306", message, tables[name].at, hint="rename one", value=False)
    resolved = [(_value(context, name, tables[name], ref), tables[name].unread) for name, ref in refs.items()]
    return tuple(value for value, unread in resolved if value and not unread)


def has_gaps(context: ResolveContext, params: Sequence[Property]) -> bool:
    """Return whether a type that the parameters reach lacks an invalid field."""
    pending = {name for param in params for name in names(param.type)}
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        seen.add(name)
        if name not in context.types or has_uncertain_kind(context, name):
            return True
        declared = context.types[name]
        if len(declared.fields) < len(context.raw_table("types", name, "fields")):
            return True
        if isinstance(declared, UnionType) and len(declared.members) < len(context.tables.types[name].one_of):
            return True
        pending |= inner_names(declared) - seen
    return False


def _type(context: ResolveContext, table: ValueTable) -> TypeRef | None:
    at = (*table.at, "type")
    try:
        ref = parse(table.type)
    except MalformedTypeError as error:
        context.error("TM303", str(error), at, hint=type_hint(table.type))
        return None
    for name in sorted(name for name in names(ref) if not context.is_known("types", name)):
        known = [*PRIMITIVES, *context.tables.types]
        is_misspelt = name.casefold() in (item.casefold() for item in known)
        context.report_unknown("TM302", "type", name, known, at, hint="" if is_misspelt else type_hint(name))
    return ref if names(ref) <= context.tables.types.keys() else None


def _value(context: ResolveContext, name: str, table: ValueTable, ref: TypeRef) -> Property | None:
    if not PROPERTY_NAME.fullmatch(name):
        hint = "use up to 64 letters, digits and underscores, not starting with a digit"
        context.error("TM316", f"providers reject the name `{name}`", table.at, hint=hint, value=False)
        return None
    constraints = _constraints(context, table, ref)
    if constraints is None:
        return None
    has_default = table.default is not None
    value = Property(
        name=name,
        type=ref,
        description=_description(table),
        required=table.required if table.required is not None else not has_default,
        nullable=table.nullable,
        has_default=has_default,
        default=_normalize_integers(ref, table.default),
        constraints=constraints,
        at=table.at,
    )
    return value if _check_default(context, value) else None


def _description(table: ValueTable) -> str:
    """Return the description for models, with the deprecation of a parameter."""
    description = table.description.strip()
    deprecation = table.deprecated if isinstance(table, ParamTable) else None
    if deprecation is None:
        return description
    until = f", works until {deprecation.until}" if deprecation.until else ""
    instead = f": use `{deprecation.replaced_by}`" if deprecation.replaced_by else ""
    sentences = [description, f"Deprecated since {deprecation.since}{until}{instead}", deprecation.message.strip()]
    return " ".join(f"{text.removesuffix('.')}." for text in sentences if text)


def _json_type(ref: TypeRef) -> str:
    match ref:
        case PrimitiveType(kind):
            return kind
        case ArrayType():
            return "array"
        case _:
            return "object"


def _constraints(context: ResolveContext, table: ValueTable, ref: TypeRef) -> dict[str, Any] | None:
    constraints: dict[str, Any] = {}
    is_valid = True
    for name, keyword in KEYWORDS.items():
        rule = getattr(table, name)
        if rule is None or rule is False or rule in ("", ()):
            continue
        at = (*table.at, name)
        kind = _json_type(ref)
        if kind not in _APPLICABLE_TYPES[name] or (name, kind) in _UNSUPPORTED_HINTS:
            applicable = f"it applies to {' and '.join(_APPLICABLE_TYPES[name])}"
            hint = _UNSUPPORTED_HINTS.get((name, kind), applicable)
            context.error("TM308", f"`{name}` does not apply to `{format_type(ref)}`", at, hint=hint, value=False)
            is_valid = False
            continue
        constraints[keyword] = list(rule) if name == "enum" else rule
    if is_valid and not constraints:
        return constraints
    checks = (_check_bounds(context, table), _check_pattern(context, table), _check_enum(context, table, ref))
    return constraints if is_valid and all(checks) else None


def _check_bounds(context: ResolveContext, table: ValueTable) -> bool:
    for low, high in _BOUND_PAIRS:
        lowest, highest = getattr(table, low), getattr(table, high)
        if lowest is not None and highest is not None and lowest > highest:
            context.error("TM318", f"`{low}` {lowest} is above `{high}` {highest}", (*table.at, low))
            return False
    return True


_PATTERN_PARTS = re.compile(
    r"\[(?:\\.?|[^\]\\])*+(?:\]|\Z)|(?P<python>\\[AZ]|\(\?(?:P[<=>]|[#>(aiLmsux-]))|\\.", re.DOTALL
)
"""Character classes, escapes, and the constructs of `re` that ECMA 262 lacks: `\\A`, `(?P<name>`, `(?#comment)`."""
_UNCHECKED_HINTS = {
    "(?<": "the server cannot check named groups; remove the name, `(...)`",
    "\\p{": "the server cannot check `\\p{...}`; list the characters, `[A-Za-z]`",
    "\\P{": "the server cannot check `\\P{...}`; list the characters, `[^A-Za-z]`",
}


def _check_pattern(context: ResolveContext, table: ValueTable) -> bool:
    if not table.pattern:
        return True
    at = (*table.at, "pattern")
    for part in _PATTERN_PARTS.finditer(table.pattern):
        if python := part["python"]:
            message = f"`{table.pattern}` contains `{python}`, which only Python supports"
            context.error("TM319", message, at, hint="use the dialect of clients, ECMA 262")
            return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(table.pattern)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, re.error) else "it is too large"
        hint = next((text for sign, text in _UNCHECKED_HINTS.items() if sign in table.pattern), "")
        context.error("TM319", f"`{table.pattern}` is not a regular expression: {reason}", at, hint=hint)
        return False
    return True


def _check_enum(context: ResolveContext, table: ValueTable | TypeTable, ref: TypeRef) -> bool:
    at = (*table.at, "enum")
    seen: set[str] = set()
    for index, choice in enumerate(table.enum):
        text = f"`{json.dumps(choice, ensure_ascii=False, default=str)}`"
        if _json_type(ref) in _APPLICABLE_TYPES["enum"] and not _has_type(choice, _json_type(ref)):
            context.error("TM314", f"choice {text} is not of type {format_type(ref)}", (*at, index))
            return False
        if choice == "":
            context.error("TM314", "Gemini rejects an empty choice", (*at, index), hint="make the parameter optional")
            return False
        if text in seen:
            context.error("TM314", f"duplicate choice {text}", (*at, index))
            return False
        seen.add(text)
    return True


def _has_type(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _normalize_integers(ref: TypeRef, value: Any) -> Any:
    """Convert floats such as `1.0` to integers, as JSON does, where the type is `integer`."""
    match ref:
        case PrimitiveType("integer") if isinstance(value, float) and value.is_integer():
            return int(value)
        case ArrayType(inner) if isinstance(value, list):
            return [_normalize_integers(inner, item) for item in value]
        case MapType(inner) if isinstance(value, dict):
            return {name: _normalize_integers(inner, item) for name, item in value.items()}
        case _:
            return value


def _find_typed_object(ref: TypeRef, value: Any, at: KeyPath) -> KeyPath:
    """Return the key path of an object of a type from `[types]` in `value`, else (). Python has no literal for it."""
    match ref:
        case NamedType() if isinstance(value, dict):
            return at
        case ArrayType(inner) if isinstance(value, list):
            items = ((inner, item, (*at, index)) for index, item in enumerate(value))
        case MapType(inner) if isinstance(value, dict):
            items = ((inner, item, (*at, name)) for name, item in value.items())
        case _:
            return ()
    return next((path for item in items if (path := _find_typed_object(*item))), ())


def _with_names_as(ref: TypeRef, replacements: Mapping[str, TypeRef]) -> TypeRef:
    """Return `ref` with some named types replaced."""
    match ref:
        case ArrayType(inner):
            return ArrayType(_with_names_as(inner, replacements))
        case MapType(inner):
            return MapType(_with_names_as(inner, replacements))
        case NamedType(name):
            return replacements.get(name, ref)
        case PrimitiveType():
            return ref


def _has_literal(ref: TypeRef) -> bool:
    """Return whether a generated model can contain a default of an enumeration's type."""
    return isinstance(ref.item if isinstance(ref, ArrayType) else ref, NamedType)


def _enums(context: ResolveContext, ref: TypeRef) -> dict[str, EnumType]:
    """Return the enumerations that a type refers to directly."""
    declared = {name: context.types.get(name) for name in names(ref)}
    return {name: item for name, item in declared.items() if isinstance(item, EnumType)}


def with_plain_enums(context: ResolveContext, value: Property) -> Property:
    """Return a parameter with named enumerations replaced by strings, as command lines and requests contain them."""
    enums = _enums(context, value.type)
    if not enums:
        return value
    constraints = dict(value.constraints)
    if isinstance(value.type, NamedType):
        constraints["enum"] = list(enums[value.type.name].choices)
    plain = _with_names_as(value.type, dict.fromkeys(enums, PrimitiveType("string")))
    return replace(value, type=plain, constraints=constraints)


def _check_default(context: ResolveContext, value: Property) -> bool:
    if not value.has_default or any(has_uncertain_kind(context, name) for name in names(value.type)):
        return True
    if at := _find_typed_object(value.type, value.default, (*value.at, "default")):
        message = (
            f"default of `{value.name}` contains an object of the type `{' and '.join(sorted(names(value.type)))}`"
        )
        hint = "set defaults on the fields of the type and remove this one; an empty list or map is allowed"
        context.error("TM309", message, at, hint=hint)
        return False
    enums = _enums(context, value.type)
    if enums and value.default and not _has_literal(value.type):
        message = f"default of `{value.name}` contains values of `{', '.join(sorted(enums))}`"
        hint = "only a value or an array of them can be a default"
        context.error("TM309", message, (*value.at, "default"), hint=hint)
        return False
    if objects := dict.fromkeys(names(value.type) - enums.keys(), PrimitiveType("object")):
        value = replace(value, type=_with_names_as(value.type, objects))
    problems = SchemaChecker(definitions(tuple(enums.values()))).find_problems(property_schema(value), value.default)
    for problem in problems:
        at = (*value.at, "default", *problem.path)
        context.error("TM309", f"default of `{value.name}` is invalid: {problem.message}", at, hint=problem.hint)
    return not problems


MAX_TYPE_DEPTH = 8
"""Maximum nesting depth of types. Providers reject schemas beyond about ten levels."""


def report_large_types(
    context: ResolveContext, values: Sequence[Property], at: KeyPath, result: ObjectType | None = None
) -> bool:
    """Report types that nest too deep or are too large without references, and return True.

    Clients get no references. A `result` may contain itself: it is expanded as often as its schema expands it. So may a
    parameter: the fewer copies fit, the fewer are sent.
    """
    if result is None and len(values) < MAX_NODES and not any(names(value.type) for value in values):
        return False
    left = MAX_NODES
    repeats = MAX_RECURSION if result else 0
    pending = [(value.type, Counter[str]([result.name] if result else [])) for value in values]
    while pending:
        ref, enclosing = pending.pop()
        left -= 1
        for name in names(ref):
            if enclosing[name] > repeats or name not in context.types:
                continue
            path = enclosing + Counter([name])
            if len(path) > MAX_TYPE_DEPTH:
                message = f"types nest more than {MAX_TYPE_DEPTH} levels deep: {' -> '.join(path)}"
                context.error("TM321", message, at, hint="flatten them, or use `object` for the innermost")
                return True
            pending += [(inner, path) for inner in context.types[name].references]
        if left < len(pending):
            message = f"with its types expanded, the schema has more than {MAX_NODES:,} values"
            context.error("TM321", message, at, hint="use types less often, or use `object` for some values")
            return True
    return False


def reachable_types(tools: Sequence[Tool], types: Mapping[str, DeclaredType]) -> tuple[DeclaredType, ...]:
    """Return the types that `tools` use, directly or through other types, in the order of the manifest."""
    pending: list[str] = [tool.result_class for tool in tools if tool.result_class]
    pending += [name for tool in tools for param in tool.params for name in names(param.type)]
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += inner_names(types[name])
    return tuple(declared for name, declared in types.items() if name in reached)
