"""The `[types]` of a manifest and the values (parameters, fields) that are built of them."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolmason_runtime.toml.positions import KeyPath

from toolmason.manifest.idioms import type_hint
from toolmason.manifest.tables import ToolTable, ValueTable
from toolmason.model.identifiers import MODELS_TAKEN, class_name, is_type_name
from toolmason.model.json_schema import RESULT_LEVELS, exact_value
from toolmason.model.tool import Tool
from toolmason.model.type_expression import PRIMITIVES, MalformedTypeError, names, parse, spell
from toolmason.model.types import ClassName, ListOf, MapOf, Named, ObjectType, Primitive, TypeRef, Value
from toolmason.resolve.context import Resolution
from toolmason.resolve.examples import SchemaChecker
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
"""Constraint in the manifest to keyword of JSON Schema, in the order they are written."""

_FITS = {
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
_HINTS = {("enum", "number"): "no model can hold it to that: use `minimum` and `maximum`, or a string"}
"""Constraint and type that go together in JSON Schema and not in the generated models -> what to do instead."""
_PAIRS = (("minimum", "maximum"), ("min_length", "max_length"), ("min_items", "max_items"))

PROPERTY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""What Anthropic and Vertex both take as a property name; a dash or a dot is questioned by lint."""


def object_types(run: Resolution) -> dict[str, ObjectType]:
    """Resolve `[types]`. A field with a mistake is reported and left out."""
    found: dict[str, ObjectType] = {}
    for name, table in run.tables.types.items():
        if not is_type_name(name):
            run.error("TM303", f"`{name}` cannot name a type", table.at, hint=_better_name(name), value=False)
        fields = values(run, table.fields)
        found[name] = ObjectType(name=ClassName(name), description=table.description, fields=fields, at=table.at)
    return found


def _better_name(name: str) -> str:
    if name in MODELS_TAKEN:
        return "generated code has a class of that name: choose another"
    better = class_name(name)
    example = better if is_type_name(better) and name not in PRIMITIVES else "FileRequest"
    return f"use a Python class name such as `{example}`"


def values(run: Resolution, written: Mapping[str, ValueTable]) -> tuple[Value, ...]:
    """Resolve parameters or fields. One with a mistake, now or in an earlier stage, is reported and left out."""
    typed = {name: table for name, table in written.items() if not table.is_uncertain("type")}
    refs = {name: ref for name, table in typed.items() if (ref := _type(run, table))}
    used = frozenset[str]().union(*(names(ref) for ref in refs.values()))
    for name in sorted(refs.keys() & used):
        message = f"`{name}` is a value and the type of a value in one class"
        run.error("TM306", message, written[name].at, hint="rename one", value=False)
    found = [(_value(run, name, written[name], ref), written[name].unread) for name, ref in refs.items()]
    return tuple(value for value, unread in found if value and not unread)


def has_gaps(run: Resolution, params: Sequence[Value]) -> bool:
    """Whether a type of the parameters, or one inside of it, lacks a field that has a mistake."""
    waiting = {name for each in params for name in names(each.type)}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        if name not in run.types or run.tables.types[name].is_uncertain("fields"):
            return True
        fields = run.types[name].fields
        if len(fields) < len(run.written("types", name, "fields")):
            return True
        waiting |= {inner for each in fields for inner in names(each.type)} - seen
    return False


def _type(run: Resolution, table: ValueTable) -> TypeRef | None:
    at = (*table.at, "type")
    try:
        ref = parse(table.type)
    except MalformedTypeError as error:
        run.error("TM303", str(error), at, hint=type_hint(table.type))
        return None
    for name in sorted(each for each in names(ref) if not run.is_known("types", each)):
        known = [*PRIMITIVES, *run.tables.types]
        is_misspelt = name.casefold() in (each.casefold() for each in known)
        run.unknown("TM302", "type", name, known, at, hint="" if is_misspelt else type_hint(name))
    return ref if names(ref) <= run.tables.types.keys() else None


def _value(run: Resolution, name: str, table: ValueTable, ref: TypeRef) -> Value | None:
    if not PROPERTY_NAME.fullmatch(name):
        hint = "use up to 64 letters, digits and underscores, not starting with a digit"
        run.error("TM316", f"`{name}` is a name that providers refuse", table.at, hint=hint, value=False)
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
        default=_as_typed(ref, table.default),
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
        if _shape(ref) not in _FITS[name] or (name, _shape(ref)) in _HINTS:
            hint = _HINTS.get((name, _shape(ref)), f"it goes with {' and '.join(_FITS[name])}")
            run.error("TM308", f"`{name}` does not apply to `{spell(ref)}`", at, hint=hint, value=False)
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
            run.error("TM318", f"`{low}` {lowest} is above `{high}` {highest}", (*table.at, low))
            return False
    return True


_PATTERN_PARTS = re.compile(r"\[(?:\\.|[^\]\\])*\]|(?P<python>\\[AZ]|\(\?(?:P[<=>]|[#>(aiLmsux-]))|\\.", re.DOTALL)
"""Character classes, escapes, and what `re` understands and ECMA 262 does not."""
_UNKNOWN_TO_PYTHON = {
    "(?<": "ECMA 262 has named groups, the server cannot check them: leave the name out, `(...)`",
    "\\p{": "ECMA 262 has `\\p{...}`, the server cannot check it: write the characters out, `[A-Za-z]`",
    "\\P{": "ECMA 262 has `\\P{...}`, the server cannot check it: write the characters out, `[^A-Za-z]`",
}


def _pattern_compiles(run: Resolution, table: ValueTable) -> bool:
    at = (*table.at, "pattern")
    for part in _PATTERN_PARTS.finditer(table.pattern):
        if python := part["python"]:
            message = f"`{table.pattern}` holds `{python}`, which is Python's alone"
            run.error("TM319", message, at, hint="patterns are ECMA 262, the dialect that clients read")
            return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(table.pattern)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, re.error) else "it is too large"
        hint = next((words for sign, words in _UNKNOWN_TO_PYTHON.items() if sign in table.pattern), "")
        run.error("TM319", f"`{table.pattern}` is no regular expression: {reason}", at, hint=hint)
        return False
    return True


def _choices_fit(run: Resolution, table: ValueTable, ref: TypeRef) -> bool:
    at = (*table.at, "enum")
    seen: set[str] = set()
    for place, choice in enumerate(table.enum):
        if _shape(ref) in _FITS["enum"] and not _is(choice, _shape(ref)):
            run.error("TM314", f"choice {_shown(choice)} is no {spell(ref)}", (*at, place))
            return False
        if choice == "":
            run.error("TM314", "an empty choice is refused by Gemini", (*at, place), hint="leave the value out instead")
            return False
        if _shown(choice) in seen:
            run.error("TM314", f"choice {_shown(choice)} stands twice", (*at, place))
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


def _as_typed(ref: TypeRef, value: Any) -> Any:
    """Write whole floats as the integers that they are meant to be: `1.0` is one in JSON, and none in Python."""
    match ref:
        case Primitive("integer") if isinstance(value, float) and value.is_integer():
            return int(value)
        case ListOf(inner) if isinstance(value, list):
            return [_as_typed(inner, each) for each in value]
        case MapOf(inner) if isinstance(value, dict):
            return {name: _as_typed(inner, each) for name, each in value.items()}
        case _:
            return value


def _object_of_a_type(ref: TypeRef, value: Any, at: KeyPath) -> KeyPath:
    """Say where an object of a type from `[types]` stands in `value`: in a class of Python no literal is one."""
    match ref:
        case Named() if isinstance(value, dict):
            return at
        case ListOf(inner) if isinstance(value, list):
            places = ((inner, each, (*at, place)) for place, each in enumerate(value))
        case MapOf(inner) if isinstance(value, dict):
            places = ((inner, each, (*at, name)) for name, each in value.items())
        case _:
            return ()
    return next((found for place in places if (found := _object_of_a_type(*place))), ())


def _without_names(ref: TypeRef) -> TypeRef:
    match ref:
        case ListOf(inner):
            return ListOf(_without_names(inner))
        case MapOf(inner):
            return MapOf(_without_names(inner))
        case Named():
            return Primitive("object")
        case Primitive():
            return ref


def _default_fits(run: Resolution, value: Value) -> bool:
    if not value.has_default:
        return True
    if at := _object_of_a_type(value.type, value.default, (*value.at, "default")):
        message = f"default of `{value.name}` holds an object of the type `{' and '.join(sorted(names(value.type)))}`"
        hint = "give the fields of the type their defaults, and leave this one out; an empty list or map may stand"
        run.error("TM309", message, at, hint=hint)
        return False
    if names(value.type):
        value = replace(value, type=_without_names(value.type))
    problems = SchemaChecker({}).problems(exact_value(value), value.default)
    for problem in problems:
        where = (*value.at, "default", *problem.path)
        run.error("TM309", f"default of `{value.name}` does not fit: {problem.message}", where, hint=problem.hint)
    return not problems


def is_recursive(run: Resolution, params: Sequence[Value]) -> bool:
    """Report a parameter whose type contains itself: no provider's schema can hold that without references."""
    for param in params:
        if cycle := _cycle(run, names(param.type), ()):
            message = f"parameter `{param.name}` has a recursive type: {' -> '.join(cycle)}"
            hint = "no provider takes references; give the nested part the type `object`, or flatten it"
            run.error("TM307", message, (*param.at, "type"), hint=hint)
            return True
    return False


MAX_TYPES = 8
"""How many types may stand inside each other. Providers refuse schemas beyond about ten levels."""


def is_too_large(run: Resolution, values: Sequence[Value], at: KeyPath, result: ObjectType | None = None) -> bool:
    """Report values whose types nest too deep, or are too much when written out: clients get no references.

    The fields of a `result` may be of its own type: such types are followed as often as they are written out.
    """
    left = MAX_NODES
    repeats = RESULT_LEVELS if result else 0
    waiting = [(each, Counter[str]([result.name] if result else [])) for each in values]
    while waiting:
        value, around = waiting.pop()
        left -= 1
        for name in names(value.type):
            if around[name] > repeats or name not in run.types:
                continue
            inside = around + Counter([name])
            if len(inside) > MAX_TYPES:
                message = f"more than {MAX_TYPES} types stand inside each other: {' -> '.join(inside)}"
                run.error("TM321", message, at, hint="flatten it, or give the innermost the type `object`")
                return True
            waiting += [(each, inside) for each in run.types[name].fields]
        if left < len(waiting):
            message = f"with its types written out, the schema has more than {MAX_NODES:,} values"
            run.error("TM321", message, at, hint="use a type fewer times, or give some values the type `object`")
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
