"""Values and types of a manifest from schemas: `[types]` from the components and from objects inside of them."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections import ChainMap
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from toolmason.importers.design.texts import value_description
from toolmason.importers.openapi.document import OpenApi, table, text
from toolmason.importers.openapi.losses import Losses
from toolmason.importers.openapi.shapes import Record, Shape, Shapes
from toolmason.model.identifiers import class_name, is_type_name
from toolmason.model.type_expression import PRIMITIVES, names, parse
from toolmason.resolve.types import PROPERTY_NAME

MAX_TYPES: Final = 20_000
"""Maximum number of types of one document."""
MAX_SIZE: Final = 250
"""Maximum number of values of one type with its inner types; larger inner types become `object`."""
MAX_OPEN: Final = 60
"""Types inside of each other while they are created. `MAX_LEVELS` shrinks them later."""
MAX_LEVELS: Final = 6
"""Maximum nesting of types."""
MAX_ARRAYS: Final = 4
"""Maximum nesting of arrays and maps."""
_FORMATS: Final = frozenset(
    {"date-time", "date", "time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "byte", "binary", "duration"}
)
"""Formats of strings that are imported; others only name a program's own type."""
_UNCHECKED: Final = ("not", "if", "patternProperties", "propertyNames", "dependentRequired", "multipleOf", "contains")
_PYTHON_ONLY: Final = re.compile(r"\\[AZpPz]|\(\?(?:P[<=>]|[#>(aiLmsux-])|\(\?<[^=!]")

Value = dict[str, Any]
"""The keys of a parameter or field: `type`, constraints and `nullable`."""


@dataclass(slots=True)
class Types:
    """The types that values use, created when they are first used."""

    document: OpenApi
    losses: Losses
    reserved: AbstractSet[str]
    """Names of classes that tools need."""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    shapes: Shapes = field(init=False)
    _components: dict[str, str] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _names: dict[str, str] = field(init=False)
    _fixed_names: dict[str, Any] = field(init=False)
    """Names of components and those that tools need."""
    _unnamed: int = 0
    """Number of objects without a name in the current component or tool."""

    def __post_init__(self) -> None:
        self.shapes = Shapes(self.document)
        components = list(table(self.document.components.get("schemas")))
        # A class cannot have a field with the name of the field's type.
        fields = _same_named(self.document.data, frozenset(components))
        self._names = component_names(components, {*self.reserved, *fields})
        self._fixed_names = dict.fromkeys((*self._names.values(), *self.reserved))

    def value(self, shape: Shape, record: Record, where: str, *, name: str) -> Value:
        """Return the type and constraints of a shape. `name` is the name for an object without one."""
        value: Value = {"type": self._type(shape, record, where, name=name, level=0)}
        value |= _constraints(shape, value["type"], record, where)
        if shape.nullable:
            value["nullable"] = True
        return value

    def field_value(self, schema: Any, shape: Shape, value: Value, *, required: bool) -> Value:
        """Add description and `required` to a value."""
        description = text(shape.data.get("description")) or text(table(schema).get("description"))
        entry: Value = {"type": value["type"]}
        if words := value_description(description, *_facts(shape)):
            entry["description"] = words
        if not required:
            entry["required"] = False
        return entry | {key: item for key, item in value.items() if key != "type"}

    def _type(self, shape: Shape, record: Record, where: str, *, name: str, level: int) -> str:
        match shape.type:
            case "array":
                return self._array(shape, record, where, name=name, level=level)
            case "object":
                return self._object(shape, record, where, name=name, level=level)
            case "string*":
                record("any", f"{where}: sent as a string")
                return "string"
            case "":
                record("any", f"{where}: sent as an object")
                return "object"
            case kind:
                return kind

    def _array(self, shape: Shape, record: Record, where: str, *, name: str, level: int) -> str:
        if level >= MAX_ARRAYS:
            record("large", where)
            return "object"
        inner = self.shapes.reduce(shape.data.get("items", {}), record, where)
        if not inner.type:
            record("any", f"{where}: items are sent as strings")
            return "string[]"
        if lost := sorted(inner.data.keys() & {"enum", "pattern", "minimum", "maximum", "minLength", "maxLength"}):
            record("constraint", f"{where}: {', '.join(lost)} of its items")
        return f"{self._type(inner, record, where, name=_singular(name), level=level + 1)}[]"

    def _object(self, shape: Shape, record: Record, where: str, *, name: str, level: int) -> str:
        extra = shape.data.get("additionalProperties")
        if shape.properties:
            if extra and extra is not True:
                record("open", where)
            return self._named(shape, record, where, name=name)
        if isinstance(extra, Mapping) and extra and level < MAX_ARRAYS:
            inner = self.shapes.reduce(extra, record, where)
            if inner.type:
                return f"map<{self._type(inner, record, where, name=_singular(name), level=level + 1)}>"
        return "object"

    def _named(self, shape: Shape, record: Record, where: str, *, name: str) -> str:
        if shape.component:
            name = self._names[shape.component]
            if name in self._open:
                record("recursive", f"{where}: {name}")
                return "object"
            if name not in self.tables and len(self._open) >= MAX_OPEN:
                record("large", where)
                return "object"
            if name not in self.tables:
                outer, self._unnamed = self._unnamed, 0
                self._add(name, shape)
                self._unnamed = outer
            return name
        self._unnamed = self._unnamed + 1 if self._open else 1
        # A reference to another part than a component can lead to itself without an end.
        if len(self._open) > MAX_LEVELS * 2 or len(self.tables) >= MAX_TYPES or self._unnamed > MAX_SIZE:
            record("large", where)
            return "object"
        taken = ChainMap(self.tables, self._fixed_names, dict.fromkeys(self._open))
        name = free_name(type_name(name), taken)
        self._add(name, shape)
        return name

    def _add(self, name: str, shape: Shape) -> None:
        """Add the type of an object; it has the losses of its fields."""

        def record(kind: str, detail: str) -> None:
            self.losses.add(kind, name, detail)

        self._open.append(name)
        fields: dict[str, Any] = {}
        for key, schema in shape.members.items():
            where = f"{name}.{key}"
            if not PROPERTY_NAME.fullmatch(key):
                record("name", where)
                continue
            inner = self.shapes.reduce(schema, record, where)
            if inner.data.get("readOnly") is True:
                continue
            value = self.value(inner, record, where, name=f"{name}_{key}")
            if key in names(parse(value["type"])):
                record("name", where)
                continue
            fields[key] = self.field_value(schema, inner, value, required=key in shape.required)
        self._open.pop()
        own = (
            table(table(self.document.components.get("schemas")).get(shape.component))
            if shape.component
            else shape.data
        )
        description = value_description(text(own.get("description")))
        self.tables[name] = {**({"description": description} if description else {}), "fields": fields}

    def shrink(self, tools: Mapping[str, Mapping[str, Value]]) -> None:
        """Replace inner types by `object` until nothing exceeds `MAX_SIZE` values and `MAX_LEVELS` levels.

        `tools` are the parameters of each tool by its operation.
        """
        sizes = _Sizes(self.tables)
        for name in list(self.tables):
            sizes.measure(name, self.losses)
        for about, params in tools.items():
            sizes.limit(params, about, self.losses)

    def reached(self, expressions: list[str]) -> dict[str, None]:
        """Return the types that type expressions use, directly or through others."""
        reached: dict[str, None] = {}
        pending = [name for expression in expressions for name in names(parse(expression))]
        while pending:
            name = pending.pop()
            if name not in reached and name in self.tables:
                reached[name] = None
                fields = self.tables[name]["fields"].values()
                pending += [inner for value in fields for inner in names(parse(value["type"]))]
        return reached


@dataclass(slots=True)
class _Sizes:
    """The number of values and levels of each type, which no longer contains itself."""

    tables: Mapping[str, dict[str, Any]]
    known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def measure(self, name: str, losses: Losses) -> tuple[int, int]:
        if name not in self.known:
            # A type never contains itself: `Types` replaces it by `object`. This guards against a cycle all the same.
            self.known[name] = (1, 1)
            fields = self.tables[name]["fields"]
            for value in fields.values():
                for inner in names(parse(value["type"])):
                    self.measure(inner, losses)
            self.known[name] = self.limit(fields, name, losses)
        return self.known[name]

    def limit(self, fields: Mapping[str, Value], about: str, losses: Losses) -> tuple[int, int]:
        """Replace the largest inner types by `object` until the limits are kept, and return size and levels."""
        inner = {key: self._inner(value["type"]) for key, value in fields.items()}
        while inner:
            size = sum(size + 1 for size, _ in inner.values())
            levels = 1 + max(level for _, level in inner.values())
            if size <= MAX_SIZE and levels <= MAX_LEVELS:
                return size, levels
            rank = 1 if levels > MAX_LEVELS else 0
            key = max(inner, key=lambda name: (inner[name][rank], inner[name][0]))
            if inner[key] == (0, 0):
                return size, levels
            losses.add("large", about, key)
            kind = next(iter(names(parse(fields[key]["type"]))))
            fields[key]["type"] = fields[key]["type"].replace(kind, "object")
            inner[key] = (0, 0)
        return 0, 1

    def _inner(self, expression: str) -> tuple[int, int]:
        return next((self.known.get(name) or (1, 1) for name in names(parse(expression))), (0, 0))


def _same_named(data: Any, components: AbstractSet[str]) -> set[str]:
    """Return the components that are the types of properties or parameters with the same name."""
    found: set[str] = set()
    pending = [data]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, Mapping):
            pending += part.values()
            found |= {
                name
                for name, schema in table(part.get("properties")).items()
                if name in components and f'"#/components/schemas/{name}"' in json.dumps(schema, default=str)
            }
    return found


def component_names(components: list[str], reserved: AbstractSet[str]) -> dict[str, str]:
    """Return a name for each component: the shortest unique end, so that `io.k8s.api.core.v1.Pod` becomes `Pod`."""
    parts = {name: [part for part in name.split(".") if part] or [name] for name in components}
    short: dict[str, list[str]] = {}
    for name in components:
        short.setdefault(type_name(parts[name][-1]), []).append(name)
    chosen: dict[str, str] = {}
    for key, owners in short.items():
        for name in owners:
            wanted = key if len(owners) == 1 else type_name(" ".join(parts[name][-3:]))
            chosen[name] = wanted
    taken = set(reserved)
    for name in components:
        chosen[name] = free_name(chosen[name], taken)
        taken.add(chosen[name])
    return chosen


def type_name(text: str) -> str:
    """Return a name of a type for any text."""
    name = class_name(re.sub(r"[^A-Za-z0-9]+", "_", text))
    name = class_name(name.replace("_", ""))
    return name if is_type_name(name) and name not in PRIMITIVES else class_name(f"Api{name}")


def free_name(name: str, taken: Container[str]) -> str:
    """Append a number to a name of a type if it is taken."""
    return name if name not in taken else next(f"{name}{end}" for end in count(2) if f"{name}{end}" not in taken)


def _singular(name: str) -> str:
    return f"{name}_item"


def _facts(shape: Shape) -> list[str]:
    """Return the default of a value as a sentence: the API has it already, so it is not sent."""
    default = shape.data.get("default")
    if default in (None, "", [], {}):
        return []
    shown = json.dumps(default, ensure_ascii=False) if not isinstance(default, str) else f"`{default}`"
    return [f"Default: {shown}"] if len(shown) <= 80 else []


def _constraints(shape: Shape, kind: str, record: Record, where: str) -> Value:
    data = shape.data
    value: Value = {}
    if lost := [key for key in _UNCHECKED if key in data]:
        record("constraint", f"{where}: {', '.join(lost)}")
    if kind in ("string", "integer") and shape.type == kind:
        value |= _enum(data, kind, record, where)
    if kind == "string" and shape.type == "string":
        value |= _string_constraints(data, record, where)
    elif kind in ("integer", "number"):
        value |= _bounds(data, kind)
    elif kind.endswith("[]"):
        value |= _counts(data, "minItems", "maxItems", "items")
        if data.get("uniqueItems") is True:
            value["unique_items"] = True
    return value


def _enum(data: Mapping[str, Any], kind: str, record: Record, where: str) -> Value:
    choices = data.get("enum")
    if not isinstance(choices, list) or not choices:
        return {}
    valid = str if kind == "string" else int
    usable = [choice for choice in dict.fromkeys(map(_hashable, choices)) if isinstance(choice, valid) and choice != ""]
    usable = [choice for choice in usable if not isinstance(choice, bool)]
    if len(usable) < len(choices):
        record("constraint", f"{where}: some choices of its enum")
    return {"enum": usable} if usable else {}


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)


def _string_constraints(data: Mapping[str, Any], record: Record, where: str) -> Value:
    value = _counts(data, "minLength", "maxLength", "length")
    if pattern := text(data.get("pattern")):
        if is_portable_pattern(pattern):
            value["pattern"] = pattern
        else:
            record("constraint", f"{where}: pattern")
    if text(data.get("format")) in _FORMATS:
        value["format"] = data["format"]
    return value


def is_portable_pattern(pattern: str) -> bool:
    """Return whether the server can check a pattern as the document means it."""
    if _PYTHON_ONLY.search(pattern) or not pattern.isprintable():
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, MemoryError):
        return False
    return True


def _counts(data: Mapping[str, Any], low: str, high: str, name: str) -> Value:
    value: Value = {}
    for key, source in ((f"min_{name}", low), (f"max_{name}", high)):
        limit = data.get(source)
        if isinstance(limit, int) and not isinstance(limit, bool) and 0 <= limit < 2**31 and (limit or source == high):
            value[key] = limit
    if value.get(f"min_{name}", 0) > value.get(f"max_{name}", math.inf):
        return {}
    return value


def _bounds(data: Mapping[str, Any], kind: str) -> Value:
    value: Value = {}
    for key, exclusive, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        limit, outside = data.get(key), data.get(exclusive)
        is_outside = outside is True
        if isinstance(outside, int | float) and not isinstance(outside, bool):
            limit, is_outside = outside, True
        if not isinstance(limit, int | float) or isinstance(limit, bool) or not math.isfinite(limit):
            continue
        if kind == "integer":
            limit = (
                (math.ceil(limit) if step > 0 else math.floor(limit)) if not float(limit).is_integer() else int(limit)
            )
            limit += step if is_outside else 0
        if abs(limit) < 2**53:
            value[key] = limit
    if value.get("minimum", -math.inf) > value.get("maximum", math.inf):
        return {}
    return value
