"""The declared members of a tool's result, so that the others are left out where a large answer is parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.apis.document import Fields
from toolmason_runtime.shared.specs.request import HttpTool

if TYPE_CHECKING:
    from pydantic import BaseModel

_MAX_DEPTH: Final = 8
"""Levels of declared objects; everything below is kept."""


def fields_of(tool: HttpTool, model: type[BaseModel] | None) -> Fields:
    """Return the members that the model of a tool's result declares, under their names in JSON."""
    if model is None:
        return None
    schema = model.model_json_schema()
    fields = _fields(schema, schema.get("$defs", {}), 0)
    # The model of a list has it as a member, and `has_more` beside it.
    return fields["items"] if fields and tool.returns_list else fields


def _fields(schema: dict[str, Any], definitions: dict[str, Any], level: int) -> Fields:
    if level > _MAX_DEPTH:
        return None
    if "$ref" in schema:
        return _fields(definitions[schema["$ref"].rpartition("/")[2]], definitions, level + 1)
    branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in schema.get(key, ())]
    if branches:
        return _merged([_fields(branch, definitions, level + 1) for branch in branches])
    kind = schema.get("type")
    if kind == "array":
        return _fields(schema.get("items", {}), definitions, level + 1)
    if kind == "object" and schema.get("properties") and schema.get("additionalProperties", False) is False:
        return {name: _fields(member, definitions, level + 1) for name, member in schema["properties"].items()}
    return {} if kind in ("string", "integer", "number", "boolean", "null") else None


def _merged(branches: list[Fields]) -> Fields:
    """Return the members of all branches; a branch that keeps everything decides."""
    merged: dict[str, Any] = {}
    for branch in branches:
        if branch is None:
            return None
        for name, fields in branch.items():
            merged[name] = _merged([merged[name], fields]) if name in merged else fields
    return merged
