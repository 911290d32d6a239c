"""Convert JSON Schemas of any server to the types of a client. A schema that says nothing clear is any value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from toolmason.render.typed_clients.names import Names, pascal
from toolmason.render.typed_clients.types import (
    ANY,
    NULL,
    AliasType,
    Choice,
    Declared,
    Field,
    ListOf,
    MapOf,
    Named,
    ObjectType,
    Scalar,
    Type,
    union,
)

MAX_DEPTH: Final = 60
"""Levels of a schema; deeper parts are any value."""
MAX_CHOICES: Final = 200
"""Values of an enumeration; one with more is the type of its values."""
_OBJECT_KEYWORDS: Final = ("properties", "patternProperties", "additionalProperties", "required", "propertyNames")
_ARRAY_KEYWORDS: Final = ("items", "prefixItems", "contains", "minItems", "maxItems")
_SHAPES: Final = frozenset({"$ref", "allOf", "anyOf", "const", "enum", "oneOf", "type", *_OBJECT_KEYWORDS[:3], "items"})
"""Keywords that say something about a type."""
_ANNOTATIONS: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
MAX_WORK: Final = 3_000
"""Schemas of one tool, counted as often as they are reached: alternatives that contain themselves multiply."""
_MAX_REFERENCES: Final = 50
_MAX_MERGED: Final = 8
"""Levels of `allOf`, `anyOf` and `oneOf` inside each other, at most, that are merged: they may contain themselves."""

Schema = Mapping[str, Any]


class Module:
    """The declared types of one module of a client. Equal types of several tools are declared once."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._names = Names(reserved)
        self._declared: dict[str, Declared | None] = {}
        self._known: dict[str, str] = {}
        """Identity of a schema -> name of its type."""

    @property
    def declared(self) -> tuple[Declared, ...]:
        """The types in the order in which they were first used."""
        return tuple(each for each in self._declared.values() if each is not None)

    def name_for(self, identity: str, wanted: str, context: str) -> tuple[str, bool]:
        """Return the name of the type of a schema, and whether it is new."""
        if identity in self._known:
            return self._known[identity], False
        name = self._names.take(wanted, prefix=context)
        self._known[identity] = name
        self._declared[name] = None
        return name, True

    def declare(self, declared: Declared) -> None:
        """Add a type whose name `name_for` has returned."""
        self._declared[declared.name] = declared

    def forget(self, identity: str) -> None:
        """Remove a name that is not used."""
        name = self._known.pop(identity)
        del self._declared[name]
        self._names.release(name)


class Converter:
    """Converts the schemas of one tool. `root` contains the targets of references."""

    def __init__(self, module: Module, root: Any, context: str, root_name: str = "") -> None:
        self._module = module
        self._root = root
        self._context = context
        self._root_name = root_name or context
        self._work = 0
        self._identities: dict[tuple[str, int], tuple[Any, str]] = {}
        """The schema, kept so that its id stays unique, and its identity, by name and id."""
        self._open: dict[str, bool] = {}
        """Targets that are being converted -> whether they refer to themselves."""

    def convert(self, schema: Any, name: str, depth: int = 0) -> Type:
        """Return the type of `schema`; an object without a name of its own is called `name`."""
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._is_too_much():
            return ANY
        if "$ref" in schema:
            return self._reference(schema, name, depth)
        if "const" in schema:
            return _choice([schema["const"]])
        if isinstance(schema.get("enum"), list):
            return _with_null(_choice(schema["enum"]), schema)
        if isinstance(schema.get("allOf"), list) and schema["allOf"]:
            return self._all_of(schema, name, depth)
        for keyword in ("anyOf", "oneOf"):
            members = schema.get(keyword)
            if isinstance(members, list) and any(self._has_shape(member) for member in members):
                base = {key: value for key, value in schema.items() if key not in {keyword, *_ANNOTATIONS}}
                merged = [self._merged(base, member) for member in members]
                return _with_null(union([*self._members(merged, name, depth)]), schema)
        return _with_null(self._by_type(schema, name, depth), schema)

    def _is_too_much(self) -> bool:
        self._work += 1
        return self._work > MAX_WORK

    def _members(self, members: list[Any], name: str, depth: int) -> Iterator[Type]:
        objects = sum(self._is_object(member) for member in members)
        for number, member in enumerate(members, 1):
            own = name if objects < 2 else f"{name}{_variant(member, number)}"
            yield self.convert(member, own, depth + 1)

    def _has_shape(self, schema: Any) -> bool:
        return isinstance(schema, Mapping) and not _SHAPES.isdisjoint(schema)

    def _is_object(self, schema: Any) -> bool:
        return isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping)

    def _by_type(self, schema: Schema, name: str, depth: int) -> Type:
        kind = schema.get("type")
        if isinstance(kind, list):
            return union([self._by_type({**schema, "type": each}, name, depth) for each in kind])
        if kind is None:
            kind = _implied(schema)
        match kind:
            case "string" | "integer" | "number" | "boolean" | "null":
                return Scalar(kind)
            case "array":
                return ListOf(self._items(schema, name, depth))
            case "object":
                return self._object(schema, name, depth)
        return ANY

    def _items(self, schema: Schema, name: str, depth: int) -> Type:
        prefix, items = schema.get("prefixItems"), schema.get("items")
        if isinstance(items, list):  # before draft 2020-12
            prefix, items = items, schema.get("additionalItems", False)
        if isinstance(prefix, list) and prefix:
            rest = [items] if isinstance(items, Mapping) else [] if items is False else [True]
            return union([self.convert(each, f"{name}Item", depth + 1) for each in (*prefix, *rest)])
        return self.convert(items, f"{name}Item", depth + 1)

    def _object(self, schema: Schema, name: str, depth: int) -> Type:
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and properties:
            own, is_new = self._module.name_for(self._identity(name, schema), name, self._context)
            if is_new:
                self._module.declare(self.object_type(schema, own, depth))
            return Named(own)
        values = schema.get("additionalProperties")
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping) and patterns:
            parts = [self.convert(each, f"{name}Value", depth + 1) for each in patterns.values()]
            if values is not False:
                parts.append(self.convert(values, f"{name}Value", depth + 1))
            return MapOf(union(parts))
        return MapOf(self.convert(values, f"{name}Value", depth + 1))

    def object_type(self, schema: Schema, name: str, depth: int = 0) -> ObjectType:
        """Return the declaration of an object with properties."""
        return ObjectType(
            name=name,
            description=_text(schema),
            fields=tuple(self.fields(schema, name, depth)),
            is_open=schema.get("additionalProperties") not in (None, False),
        )

    def fields(self, schema: Schema, name: str, depth: int = 0) -> Iterator[Field]:
        """Return the fields of an object, the required ones first."""
        properties: Mapping[str, Any] = schema["properties"]
        listed = schema.get("required")
        required = {key for key in listed if isinstance(key, str)} if isinstance(listed, list) else set()
        for key in sorted(properties, key=lambda key: key not in required):
            part = properties[key]
            facts: Mapping[str, Any] = part if isinstance(part, Mapping) else {}
            yield Field(
                key=key,
                type=self.convert(part, f"{name}{pascal(key)}", depth + 1),
                required=key in required,
                description=_text(facts),
                default=facts.get("default"),
                has_default="default" in facts,
            )

    def _reference(self, schema: Schema, name: str, depth: int) -> Type:
        others = {key: value for key, value in schema.items() if key != "$ref" and key not in _ANNOTATIONS}
        if not _SHAPES.isdisjoint(others):
            return self.convert(self._merged(others, self.resolve(schema)), name, depth + 1)
        pointer = schema["$ref"]
        target = self._target(pointer)
        if target is None:
            return ANY
        own = self._reference_name(pointer) or name
        identity = self._identity(own, target)
        if pointer in self._open:
            self._open[pointer] = True
            return Named(self._module.name_for(identity, own, self._context)[0])
        self._open[pointer] = False
        if self._is_object(target) and _SHAPES.isdisjoint({*target} - {"properties", "type", "additionalProperties"}):
            # The same object has one name, however it is reached.
            own_name, is_new = self._module.name_for(identity, own, self._context)
            if is_new:
                self._module.declare(self.object_type(target, own_name, depth + 1))
            del self._open[pointer]
            return _with_null(Named(own_name), target)
        found = self.convert(target, own, depth + 1)
        if not self._open.pop(pointer):
            return found
        alias = self._module.name_for(identity, own, self._context)[0]
        if found == Named(alias) or found == ANY:  # a reference to nothing but itself
            found = ANY
        self._module.declare(AliasType(name=alias, description=_text(target), type=found))
        return Named(alias)

    def _reference_name(self, pointer: str) -> str:
        """Return the name of a type by its place: that of a definition, or the same as if it were written here."""
        steps = pointer.removeprefix("#").split("/")[1:]
        if len(steps) > 1 and steps[-2] in {"$defs", "definitions", "schemas"}:
            return pascal(unquote(steps[-1]))
        return self._root_name + "".join(
            "Item" if step == "items" else pascal(unquote(step)) for step in steps if step != "properties"
        )

    def resolve(self, schema: Any) -> Any:
        """Return a schema without references at its top; `true` if they lead nowhere."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                return schema
            others = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._target(schema["$ref"])
            schema = {**target, **others} if isinstance(target, Mapping) else target if target is not None else True
        return True

    def _target(self, pointer: Any) -> Any:
        """Return what a JSON Pointer in this document leads to; None for another reference."""
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            return None
        target: Any = self._root
        for step in pointer[2:].split("/") if pointer != "#" else ():
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping):
                target = target.get(key)
            elif isinstance(target, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(target):
                target = target[int(key)]
            else:
                return None
        return target if isinstance(target, Mapping | bool) else None

    def _all_of(self, schema: Schema, name: str, depth: int) -> Type:
        members = [member for member in schema["allOf"] if self._has_shape(member)]
        base = {key: value for key, value in schema.items() if key != "allOf"}
        if len(members) == 1 and _SHAPES.isdisjoint(base):
            return _with_null(self.convert(members[0], name, depth + 1), base)
        merged: Any = base
        for member in members:
            merged = self._merged(merged, member)
        return self.convert(merged, name, depth + 1)

    def _merged(self, base: Any, other: Any, level: int = 0) -> Any:
        """Return the keywords of two schemas that both apply; properties and required names are united."""
        if not isinstance(base, Mapping) or not set(base) - _ANNOTATIONS:
            return other
        if self._is_too_much():
            return base
        other = self.resolve(other)
        if not isinstance(other, Mapping):
            return base
        if isinstance(other.get("allOf"), list) and level < _MAX_MERGED:
            rest: Any = {key: value for key, value in other.items() if key != "allOf"}
            for member in other["allOf"]:
                rest = self._merged(rest, member, level + 1) if rest else self.resolve(member)
            other = rest if isinstance(rest, Mapping) else {}
        merged = {**base, **{key: value for key, value in other.items() if key not in _ANNOTATIONS}}
        for keyword in ("properties", "patternProperties"):
            parts = [each[keyword] for each in (base, other) if isinstance(each.get(keyword), Mapping)]
            if len(parts) > 1:
                merged[keyword] = {**parts[0], **parts[1]}
        names = [each["required"] for each in (base, other) if isinstance(each.get("required"), list)]
        if len(names) > 1:
            merged["required"] = [*names[0], *names[1]]
        return merged

    def merged_object(self, schema: Any, level: int = 0) -> Schema:
        """Return the arguments of a tool as one object: those of all alternatives, required if all require them."""
        schema = self.resolve(schema)
        if not isinstance(schema, Mapping) or level > _MAX_MERGED or self._is_too_much():
            return {"properties": {}}
        if isinstance(schema.get("allOf"), list):
            base: Any = {key: value for key, value in schema.items() if key != "allOf"}
            for member in schema["allOf"]:
                base = self._merged(base, member)
            schema = base if isinstance(base, Mapping) else {}
        merged = dict(schema)
        properties = dict(schema["properties"]) if isinstance(schema.get("properties"), Mapping) else {}
        required = [*schema["required"]] if isinstance(schema.get("required"), list) else []
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                branches = [self.merged_object(member, level + 1) for member in schema[keyword]]
                for branch in branches:
                    for key, part in branch["properties"].items():
                        same = [each["properties"][key] for each in branches if key in each["properties"]]
                        fallback = {"anyOf": same} if any(each != part for each in same) else part
                        properties.setdefault(key, fallback)
                in_all = [key for key in branches[0].get("required", ()) if _in_all(key, branches)]
                required += in_all
        return {**merged, "properties": properties, "required": required}

    def _identity(self, name: str, schema: Any) -> str:
        """Return what makes a type the same as one of another tool: its name, and its schema with all references."""
        known = self._identities.get((name, id(schema)))
        if known is not None:
            return known[1]
        targets: dict[str, Any] = {}
        pending: list[Any] = [schema]
        while pending:
            for pointer in _references(pending.pop()):
                if pointer not in targets:
                    targets[pointer] = self._target(pointer)
                    pending.append(targets[pointer])
        identity = json.dumps([name, schema, targets], sort_keys=True, default=str)
        self._identities[name, id(schema)] = (schema, identity)
        return identity


def _in_all(key: object, branches: list[Schema]) -> bool:
    return all(key in branch.get("required", ()) for branch in branches)


def _references(node: Any) -> Iterator[str]:
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            if isinstance(each.get("$ref"), str):
                yield each["$ref"]
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)


def _variant(schema: Any, number: int) -> str:
    """Return what distinguishes the name of one of several objects: its title or the constant of a field."""
    properties: Mapping[str, Any] = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    for part in properties.values():
        if isinstance(part, Mapping):
            values = part.get("enum") if isinstance(part.get("enum"), list) else [part.get("const")]
            if values and len(values) == 1 and isinstance(values[0], str) and (found := pascal(values[0])):
                return found
    return str(number)


def _implied(schema: Schema) -> str:
    if any(keyword in schema for keyword in _OBJECT_KEYWORDS):
        return "object"
    return "array" if any(keyword in schema for keyword in _ARRAY_KEYWORDS) else ""


def _choice(values: list[Any]) -> Type:
    plain = [value for value in values if isinstance(value, str | int | bool)]
    members: list[Type] = [NULL] if None in values else []
    if any(value is not None and not isinstance(value, str | int | bool) for value in values):
        return ANY if any(isinstance(value, dict | list) for value in values) else union([Scalar("number"), *members])
    if len(plain) > MAX_CHOICES:
        kinds: dict[type, Type] = {str: Scalar("string"), bool: Scalar("boolean"), int: Scalar("integer")}
        return union([*(kinds[type(value)] for value in plain), *members])
    if plain:
        unique = {(type(value), value): value for value in plain}
        members.append(Choice(tuple(unique.values())))
    return union(members)


def _with_null(found: Type, schema: Schema) -> Type:
    """Add null where OpenAPI 3.0 or the list of types says so."""
    kind = schema.get("type")
    is_listed = isinstance(kind, list) and "null" in kind and "enum" not in schema
    return union([found, NULL]) if schema.get("nullable") is True or is_listed else found


def _text(schema: Schema) -> str:
    text = schema.get("description")
    return text.strip() if isinstance(text, str) else ""
