"""Convert JSON Schema, as pydantic writes it, to the parameters, fields and types of a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason.importers.names import one_line
from toolmason.model.identifiers import class_name, is_type_name
from toolmason.model.type_expression import names as type_names
from toolmason.model.type_expression import parse
from toolmason.resolve.types import PROPERTY_NAME

_CONSTRAINTS: Final = {
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
}
_IGNORED: Final = frozenset({"title", "description", "default", "examples", "type", "$ref", "$defs"})
_FORMATS: Final = frozenset({"date-time", "date", "time", "uuid", "uri", "email"})
"""Formats that are kept. The others, such as `path`, add nothing for a model."""
_MAX_DEPTH: Final = 6


class NoFormError(Exception):
    """A schema has no form as `params`. The message is the reason."""


@dataclass(slots=True)
class Types:
    """The types of a manifest, collected from the schemas of several functions. No type has a `reserved` name."""

    reserved: frozenset[str] = frozenset()
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, table: dict[str, Any]) -> str:
        """Add a type and return its name; one with the same fields is shared, another gets a number."""
        wanted: str = class_name(name)
        if wanted in self.reserved or not is_type_name(wanted):
            wanted += "Value"
        number = 1
        unique = wanted
        while unique in self.tables and self.tables[unique] != table:
            number += 1
            unique = f"{wanted}{number}"
        self.tables[unique] = table
        return unique

    def keep_only(self, tools: Iterable[Mapping[str, Any]]) -> None:
        """Remove the types that no tool uses."""
        pending: list[str] = []
        for tool in tools:
            pending += [entry["type"] for entry in tool.get("params", {}).values()]
            pending += [tool["returns"]] if "returns" in tool else []
        used = set[str]()
        while pending:
            for name in type_names(parse(pending.pop())):
                if name in self.tables and name not in used:
                    used.add(name)
                    pending += [value["type"] for value in self.tables[name].get("fields", {}).values()]
        self.tables = {name: table for name, table in self.tables.items() if name in used}


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """Reads the schemas of one function."""

    definitions: Mapping[str, Mapping[str, Any]]
    types: Types

    def fields(self, schema: Mapping[str, Any], depth: int = 0) -> dict[str, dict[str, Any]]:
        """Return the parameters or fields of an object.

        Raises:
            NoFormError: one has no form in a manifest.
        """
        required = schema.get("required", ())
        if invalid := [name for name in schema.get("properties", {}) if not PROPERTY_NAME.fullmatch(name)]:
            raise NoFormError(f"providers reject the name `{invalid[0]}`")
        properties = schema.get("properties", {})
        return {
            name: self._field(value, is_required=name in required, depth=depth) for name, value in properties.items()
        }

    def type_of(self, schema: Mapping[str, Any], depth: int = 0) -> tuple[str, dict[str, Any]]:
        """Return a type expression and the constraints for a value of it.

        Raises:
            NoFormError: the schema has no form in a manifest.
        """
        if depth > _MAX_DEPTH:
            raise NoFormError("it refers to itself, or nests too deeply")
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            definition = self.definitions[name]
            if definition.get("properties"):
                return self._named(name, definition, depth), {}
            kind, constraints = self.type_of(definition, depth + 1)
            if constraints.keys() == {"enum"}:
                return self.types.add(name, {"type": kind, **_description(definition), **constraints}), {}
            return kind, constraints
        match schema:
            case {"anyOf": _} | {"oneOf": _} | {"allOf": _} | {"prefixItems": _}:
                raise NoFormError("a value has several possible types")
            case {"const": value}:
                return _enum([value])
            case {"enum": values}:
                return _enum(values)
            case {"type": "array", "items": items}:
                inner, constraints = self.type_of(items, depth + 1)
                if constraints:
                    raise NoFormError("the items of an array have constraints")
                return f"{inner}[]", _constraints(schema, "items")
            case {"type": "object", "properties": properties} if properties:
                return self._named(schema.get("title", "Value"), schema, depth), {}
            case {"type": "object"}:
                return self._map(schema, depth), {}
            case {"type": "string" | "integer" | "number" | "boolean" as kind}:
                return kind, _constraints(schema)
        raise NoFormError("a value has any type")

    def _field(self, schema: Mapping[str, Any], *, is_required: bool, depth: int) -> dict[str, Any]:
        table: dict[str, Any] = {}
        inner, is_nullable = _without_null(schema)
        kind, constraints = self.type_of(inner, depth)
        description = schema.get("description") or (inner.get("description") if "$ref" not in inner else "")
        table["type"] = kind
        if description:
            table["description"] = one_line(description)
        table |= constraints
        if is_required:
            return table | ({"nullable": True} if is_nullable else {})
        default = schema.get("default")
        return table | ({"default": default} if _is_simple(default) else {"required": False})

    def _named(self, name: str, schema: Mapping[str, Any], depth: int) -> str:
        return self.types.add(name, {**_description(schema), "fields": self.fields(schema, depth + 1)})

    def _map(self, schema: Mapping[str, Any], depth: int) -> str:
        values = schema.get("additionalProperties", True)
        if not isinstance(values, dict) or not values:
            return "object"
        inner, constraints = self.type_of(values, depth + 1)
        if constraints:
            raise NoFormError("the values of a map have constraints")
        return f"map<{inner}>"


def _description(schema: Mapping[str, Any]) -> dict[str, str]:
    return {"description": one_line(schema["description"])} if schema.get("description") else {}


def _without_null(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the schema of `X | None` without null, and whether it had null."""
    options = schema.get("anyOf", [])
    others = [option for option in options if option != {"type": "null"}]
    if len(others) == 1 and len(options) == 2:
        return others[0], True
    return schema, False


def _enum(values: list[Any]) -> tuple[str, dict[str, Any]]:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return "string", {"enum": values}
    if kinds == {int}:
        return "integer", {"enum": values}
    raise NoFormError("an enumeration has other values than texts or whole numbers")


def _constraints(schema: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the constraints of a value.

    Raises:
        NoFormError: one has no form in a manifest.
    """
    constraints = {_CONSTRAINTS[name]: value for name, value in schema.items() if name in _CONSTRAINTS}
    if schema.get("format") in _FORMATS:
        constraints["format"] = schema["format"]
    if schema.get("type") == "integer":
        constraints |= {"minimum": schema["exclusiveMinimum"] + 1} if "exclusiveMinimum" in schema else {}
        constraints |= {"maximum": schema["exclusiveMaximum"] - 1} if "exclusiveMaximum" in schema else {}
        known = (*known, "exclusiveMinimum", "exclusiveMaximum")
    if unknown := schema.keys() - _CONSTRAINTS.keys() - _IGNORED - {"format", *known}:
        raise NoFormError(f"it uses {', '.join(sorted(unknown))}")
    return constraints


def _is_simple(default: Any) -> bool:
    """Return whether a default is shown to models: a scalar. The function applies the others itself."""
    return isinstance(default, str | int | float | bool) and default != ""
