"""From what a handler returned to what goes over the wire.

A structured result goes twice, as structure and as text: some clients show a model only the one, some only the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolmason_runtime.protocol.content import Reply, blocks
from toolmason_runtime.protocol.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.protocol.validation import validator

WireResult = dict[str, Any]
"""A `CallToolResult` of the MCP schema."""


class ResultError(Exception):
    """A handler returned what its tool does not promise: a mistake in the server."""


class ResultWriter:
    """Writes the results of one tool. `schema` is what they must fit, or None if it promises no structure."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self._schema = schema
        self._validator = None if schema is None else validator(schema)

    def wire(self, result: Any) -> WireResult:
        """Give `result` as MCP sends it.

        Raises:
            ResultError: it is not what the tool promises.
        """
        if isinstance(result, Reply):
            if self._schema is not None and not result.is_error:
                raise ResultError("a reply without structure from a tool with an output schema")
            reply: WireResult = {"content": blocks(result.content)}
            if result.structure is not None:
                reply["structuredContent"] = dict(result.structure)
            return reply | {"isError": True} if result.is_error else reply
        if self._schema is None:
            return {"content": blocks(result)}
        return self._structured(result, self._schema)

    def _structured(self, result: Any, schema: Mapping[str, Any]) -> WireResult:
        value = _without_nulls(_dumped(result), schema)
        try:
            with time_limit():
                errors = [] if self._validator is None else list(self._validator.iter_errors(value))
        except PatternTimeoutError as error:
            raise ResultError(f"a value of the result {error}") from error
        if errors:
            said = "; ".join(f"{error.json_path}: {error.message}"[:300] for error in errors[:3])
            raise ResultError(f"the result does not fit the output schema: {said}")
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return {"content": [{"type": "text", "text": text}], "structuredContent": value}


def _dumped(result: Any) -> Any:
    if isinstance(result, Mapping):
        return dict(result)
    if not hasattr(result, "model_dump"):
        raise ResultError(f"{type(result).__name__} where a structured result was promised")
    return result.model_dump(mode="json", by_alias=True)


def _without_nulls(value: Any, schema: Any) -> Any:
    """Leave out members that are None where the schema does not allow null: absent and None are the same there."""
    known = schema if isinstance(schema, dict) else {}
    if isinstance(value, list):
        return [_without_nulls(item, known.get("items")) for item in value]
    if not isinstance(value, dict):
        return value
    members, rest = known.get("properties", {}), known.get("additionalProperties")
    return {
        name: _without_nulls(inner, members.get(name, rest))
        for name, inner in value.items()
        if inner is not None or _allows_null(members.get(name, rest))
    }


def _allows_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_allows_null(branch) for branch in schema[keyword])
    kinds = schema.get("type", "null")
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) and None in schema.get("enum", [None])


def encodable(value: Any) -> Any:
    """Give `value` with lone surrogates replaced, as file names hold them: UTF-8 cannot carry them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        return {encodable(name): encodable(inner) for name, inner in value.items()}
    return value
