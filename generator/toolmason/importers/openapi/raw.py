"""`input_schema` of a tool whose body `params` cannot express: unions of several kinds, and types inside themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason.importers.design.texts import value_description
from toolmason.importers.openapi.document import OpenApi, UnresolvedError, items, text
from toolmason.importers.openapi.values import is_portable_pattern
from toolmason.resolve.raw_schema import read_raw_schema
from toolmason.resolve.raw_schema_error import RawSchemaError

MAX_CHARACTERS: Final = 8_000
"""Maximum length of an `input_schema` as JSON; a longer one is imported as `params`."""
MAX_UNLIMITED: Final = 100_000
"""The same for an import without a budget."""

_COPIED: Final = (
    *("type", "title", "format", "enum", "const", "minimum", "maximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required"),
)
_SCHEMAS: Final = ("items", "additionalProperties", "not")
_LISTS: Final = ("allOf", "oneOf", "anyOf", "prefixItems")
_COMPONENTS: Final = "#/components/schemas/"


class _TooComplexError(ValueError):
    """The schema cannot be converted."""


@dataclass(slots=True)
class RawSchema:
    """Converts schemas of a document to JSON Schema 2020-12, with its components in `$defs`."""

    document: OpenApi
    max_characters: int = MAX_CHARACTERS
    _definitions: dict[str, Any] = field(default_factory=dict)
    _parts: int = 0

    def convert(self, properties: Mapping[str, Any], required: list[str]) -> dict[str, Any] | None:
        """Return a schema for arguments; None if it is too large or invalid in a manifest."""
        try:
            converted = {name: self._schema(schema, 0) for name, schema in properties.items()}
        except (_TooComplexError, UnresolvedError):
            return None
        schema: dict[str, Any] = {"type": "object", "properties": converted, "additionalProperties": False}
        schema |= {"required": required} if required else {}
        schema |= {"$defs": self._definitions} if self._definitions else {}
        if len(json.dumps(schema, ensure_ascii=False)) > self.max_characters:
            return None
        try:
            read_raw_schema(schema, Path())
        except RawSchemaError:
            return None
        return schema

    def _schema(self, schema: Any, level: int) -> Any:
        if isinstance(schema, bool) or not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        self._parts += 1
        if level > 24 or len(self._definitions) > 60 or self._parts > self.max_characters:
            raise _TooComplexError
        if "$ref" in schema:
            return self._reference(schema, level)
        node = {key: schema[key] for key in _COPIED if key in schema}
        if words := value_description(text(schema.get("description"))):
            node["description"] = words
        if pattern := text(schema.get("pattern")):
            node |= {"pattern": pattern} if is_portable_pattern(pattern) else {}
        for key in _SCHEMAS:
            if key in schema:
                node[key] = self._schema(schema[key], level + 1)
        for key in _LISTS:
            if parts := items(schema.get(key)):
                node[key] = [self._schema(part, level + 1) for part in parts]
        if isinstance(schema.get("properties"), Mapping):
            node["properties"] = {
                name: self._schema(part, level + 1)
                for name, part in schema["properties"].items()
                if not (isinstance(part, Mapping) and part.get("readOnly") is True)
            }
            node["required"] = [name for name in items(schema.get("required")) if text(name) in node["properties"]]
        if not node.get("required"):
            node.pop("required", None)
        _add_bounds(node, schema)
        return _with_null(node) if schema.get("nullable") is True else _without_null_choice(node)

    def _reference(self, schema: Mapping[str, Any], level: int) -> dict[str, Any]:
        reference = schema["$ref"]
        target = self.document.target(reference)
        name = reference.removeprefix(_COMPONENTS)
        if name == reference or "/" in name:
            if level > 12:
                raise _TooComplexError
            return dict(self._schema(target, level + 4))
        if name not in self._definitions:
            self._definitions[name] = {}
            self._definitions[name] = self._schema(target, 0)
        node: dict[str, Any] = {"$ref": f"#/$defs/{name}"}
        if words := value_description(text(schema.get("description"))):
            node["description"] = words
        return node


def _add_bounds(node: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Add exclusive bounds, which OpenAPI 3.0 marks with a boolean."""
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(key) is True and bound in node:
            node[key] = node.pop(bound)
        elif isinstance(schema.get(key), int | float) and not isinstance(schema.get(key), bool):
            node[key] = schema[key]


def _with_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also accepts null, which TOML cannot list in an enum."""
    node = _without_null_choice(node)
    return {"anyOf": [node, {"type": "null"}]} if node else node


def _without_null_choice(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("enum"), list) and None in node["enum"]:
        node["enum"] = [choice for choice in node["enum"] if choice is not None]
    if "const" in node and node["const"] is None:
        del node["const"]
        node["type"] = "null"
    return node
