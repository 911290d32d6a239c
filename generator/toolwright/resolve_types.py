"""The `[types]` of a manifest and the values (parameters, fields) that are built of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolwright.compile_schema import exact_value
from toolwright.model import ClassName, ListOf, ObjectType, Primitive, Tool, TypeRef, Value
from toolwright.resolution import Resolution
from toolwright.schema_check import SchemaChecker
from toolwright.tables import ToolTable, ValueTable
from toolwright.type_expression import PRIMITIVES, MalformedTypeError, names, parse, spell

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
"""Constraint in the manifest to keyword of JSON Schema, in the order they are written."""

_FITS = {
    "enum": ("string", "integer", "number"),
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
_PAIRS = (("minimum", "maximum"), ("min_length", "max_length"), ("min_items", "max_items"))

PROPERTY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""What Anthropic and Vertex both take as a property name; a dash or a dot is questioned by lint."""


def object_types(run: Resolution) -> dict[str, ObjectType]:
    """Resolve `[types]`. A field with a mistake is reported and left out."""
    found: dict[str, ObjectType] = {}
    for name, table in run.tables.types.items():
        if not name.isidentifier() or not name.isascii() or name in PRIMITIVES:
            message = f"`{name}` cannot name a type"
            run.error("TW303", message, table.at, hint="use a Python class name such as `FileRequest`", value=False)
        fields = values(run, table.fields)
        found[name] = ObjectType(name=ClassName(name), description=table.description, fields=fields, at=table.at)
    return found


def values(run: Resolution, written: Mapping[str, ValueTable]) -> tuple[Value, ...]:
    """Resolve parameters or fields. One with a mistake is reported and left out."""
    found = ((name, table, _type(run, table)) for name, table in written.items())
    return tuple(value for name, table, ref in found if ref and (value := _value(run, name, table, ref)))


def _type(run: Resolution, table: ValueTable) -> TypeRef | None:
    at = (*table.at, "type")
    try:
        ref = parse(table.type)
    except MalformedTypeError as error:
        run.error("TW303", str(error), at)
        return None
    for name in sorted(names(ref) - run.written("types").keys()):
        run.unknown("TW302", "type", name, [*PRIMITIVES, *run.tables.types], at)
    return ref if names(ref) <= run.tables.types.keys() else None


def _value(run: Resolution, name: str, table: ValueTable, ref: TypeRef) -> Value | None:
    if not PROPERTY_NAME.fullmatch(name):
        hint = "use up to 64 letters, digits and underscores, not starting with a digit"
        run.error("TW316", f"`{name}` is a name that providers refuse", table.at, hint=hint, value=False)
        return None
    constraints = _constraints(run, table, ref)
    if constraints is None:
        return None
    has_default = table.default is not None
    value = Value(
        name=name,
        type=ref,
        description=table.description.strip(),
        required=table.required if table.required is not None else not has_default,
        nullable=table.nullable,
        has_default=has_default,
        default=table.default,
        constraints=constraints,
        at=table.at,
    )
    return value if _default_fits(run, value) else None


def _shape(ref: TypeRef) -> str:
    match ref:
        case Primitive(kind):
            return kind
        case ListOf():
            return "array"
        case _:
            return "object"


def _constraints(run: Resolution, table: ValueTable, ref: TypeRef) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    good = True
    for name, keyword in KEYWORDS.items():
        rule = getattr(table, name)
        if rule in (None, "", (), False) and not (rule == 0 and rule is not False):
            continue
        at = (*table.at, name)
        if _shape(ref) not in _FITS[name]:
            hint = f"it goes with {' and '.join(_FITS[name])}"
            run.error("TW308", f"`{name}` does not apply to `{spell(ref)}`", at, hint=hint, value=False)
            good = False
            continue
        found[keyword] = list(rule) if name == "enum" else rule
    good = _ordered(run, table) and good
    good = _pattern_compiles(run, table) and good
    good = _choices_fit(run, table, ref) and good
    return found if good else None


def _ordered(run: Resolution, table: ValueTable) -> bool:
    for low, high in _PAIRS:
        lowest, highest = getattr(table, low), getattr(table, high)
        if lowest is not None and highest is not None and lowest > highest:
            run.error("TW318", f"`{low}` {lowest} is above `{high}` {highest}", (*table.at, low))
            return False
    return True


def _pattern_compiles(run: Resolution, table: ValueTable) -> bool:
    try:
        re.compile(table.pattern)
    except re.error as error:
        run.error("TW319", f"`{table.pattern}` is no regular expression: {error.msg}", (*table.at, "pattern"))
        return False
    return True


def _choices_fit(run: Resolution, table: ValueTable, ref: TypeRef) -> bool:
    at = (*table.at, "enum")
    seen: set[str] = set()
    for place, choice in enumerate(table.enum):
        if _shape(ref) in _FITS["enum"] and not _is(choice, _shape(ref)):
            run.error("TW314", f"choice {_shown(choice)} is no {spell(ref)}", (*at, place))
            return False
        if choice == "":
            run.error("TW314", "an empty choice is refused by Gemini", (*at, place), hint="leave the value out instead")
            return False
        if _shown(choice) in seen:
            run.error("TW314", f"choice {_shown(choice)} stands twice", (*at, place))
            return False
        seen.add(_shown(choice))
    return True


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False, default=str)}`"


def _default_fits(run: Resolution, value: Value) -> bool:
    if not value.has_default or names(value.type):
        return True

    problems = SchemaChecker({}).problems(exact_value(value), value.default)
    for problem in problems:
        where = (*value.at, "default", *problem.path)
        run.error("TW309", f"default of `{value.name}` does not fit: {problem.message}", where, hint=problem.hint)
    return not problems


def is_recursive(run: Resolution, params: Sequence[Value]) -> bool:
    """Report a parameter whose type contains itself: no provider's schema can hold that without references."""
    for param in params:
        if cycle := _cycle(run, names(param.type), ()):
            message = f"parameter `{param.name}` has a recursive type: {' -> '.join(cycle)}"
            hint = "no provider takes references; give the nested part the type `object`, or flatten it"
            run.error("TW307", message, (*param.at, "type"), hint=hint)
            return True
    return False


def _cycle(run: Resolution, mentioned: Iterable[str], trail: tuple[str, ...]) -> tuple[str, ...]:
    for name in sorted(mentioned):
        if name in trail:
            return (*trail[trail.index(name) :], name)
        fields = run.types[name].fields if name in run.types else ()
        for each in fields:
            if cycle := _cycle(run, names(each.type), (*trail, name)):
                return cycle
    return ()


def used_types(
    tables: Iterable[ToolTable], tools: Sequence[Tool], types: Mapping[str, ObjectType]
) -> tuple[ObjectType, ...]:
    """Give the types that `tools` need, those they reach through others included, as the manifest orders them."""
    waiting = [table.returns for table in tables if table.returns]
    waiting += [name for tool in tools for param in tool.params for name in names(param.type)]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [inner for each in types[name].fields for inner in names(each.type)]
    return tuple(each for name, each in types.items() if name in reached)
