"""Convert the return value of a handler to a tool result on the wire.

A structured result is sent as `structuredContent` and as text, because some clients show the model only one of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolmason_runtime.shared.values.flat_arguments import flat_check
from toolmason_runtime.shared.values.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.wire.content import Noted, Reply, blocks
from toolmason_runtime.wire.parts import PART_CHARS, is_large, joined_json

if TYPE_CHECKING:
    from toolmason_runtime.shared.values.validation import Validator

WireResult = dict[str, Any]
"""A `CallToolResult` of the MCP schema."""


class ResultError(Exception):
    """A handler returned a value that its output schema does not allow: a bug in the server."""


class ResultWriter:
    """Converts the results of one tool. `schema` is its output schema, or None for content without structure.

    The content of a tool that `is_foreign` comes from a program or another machine, and is neutralised.
    """

    def __init__(self, schema: Mapping[str, Any] | None, *, is_foreign: bool = False) -> None:
        self._schema = schema
        self._is_foreign = is_foreign
        self._flat_check = flat_check(schema) if schema is not None else None

    def prepare(self) -> None:
        """Import and compile what `to_wire` needs for valid results."""
        if self._schema is not None and self._flat_check is None:
            _ = self._validator

    @cached_property
    def _validator(self) -> Validator:
        from toolmason_runtime.shared.values.validation import validator

        return validator(self._schema or {})

    def to_wire(self, result: Any) -> WireResult:
        """Return the MCP wire form of `result`.

        Raises:
            ResultError: the output schema does not allow it.
        """
        wire = self._to_wire(result)
        if not self._is_foreign:
            return wire
        from toolmason_runtime.wire.foreign import neutral_result

        return neutral_result(wire)

    def _to_wire(self, result: Any) -> WireResult:
        if isinstance(result, Noted):
            noted = self._to_wire(result.result)
            return noted | {"content": [*noted["content"], *blocks(result.note)]}
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
        value = _without_nulls(_dump(result), schema)
        # A flat check leaves out members that are null.
        if self._flat_check is None or not isinstance(value, dict) or self._flat_check(value) != value:
            self._check(value)
        if self._is_foreign:
            from toolmason_runtime.shared.visible_text import visible_value

            value = visible_value(value)
        # In parts, so that the event loop goes on while this runs in a thread.
        text = joined_json(value) if is_large(value) else compact_json(value, allow_nan=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": value}

    def _check(self, value: Any) -> None:
        """Check a value against the output schema.

        Raises:
            ResultError: the schema does not allow it.
        """
        try:
            with time_limit():
                errors = list(self._validator.iter_errors(value))
        except PatternTimeoutError as error:
            raise ResultError(f"a value of the result {error}") from error
        if errors:
            problems = "; ".join(f"{error.json_path}: {error.message}"[:300] for error in errors[:3])
            raise ResultError(f"the result does not fit the output schema: {problems}")


def compact_json(value: Any, *, allow_nan: bool = True) -> str:
    """Return `value` as JSON without spaces. Raises ValueError for NaN and infinity unless `allow_nan`."""
    return json.dumps(value, ensure_ascii=False, allow_nan=allow_nan, separators=(",", ":"))


def _dump(result: Any) -> Any:
    if isinstance(result, Mapping):
        return dict(result)
    if not hasattr(result, "model_dump"):
        raise ResultError(f"a structured result is required, not {type(result).__name__}")
    return result.model_dump(mode="json", by_alias=True)


def _without_nulls(value: Any, schema: Any) -> Any:
    """Remove members that are None where the schema does not allow null: absent and None are the same there."""
    if not isinstance(value, dict | list):
        return value
    rules = _member(value, schema) if isinstance(schema, dict) else {}
    if isinstance(value, list):
        return [_without_nulls(item, rules.get("items")) for item in value]
    members, rest = rules.get("properties", {}), rules.get("additionalProperties")
    return {
        name: _without_nulls(member, members.get(name, rest))
        for name, member in value.items()
        if member is not None or _allows_null(members.get(name, rest))
    }


def _member(value: dict[str, Any] | list[Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the first member of a union that has the kind and the fixed values of `value`; `schema` if it is none."""
    for branch in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        member = _member(value, branch) if isinstance(branch, dict) else {}
        if isinstance(value, list):
            fits = member.get("type") == "array"
        else:
            rules = member.get("properties", {}).items()
            fits = member.get("type") == "object" and all(
                _has_fixed_value(value.get(name), rule) for name, rule in rules
            )
        if fits:
            return member
    return schema


def _has_fixed_value(value: Any, rule: Any) -> bool:
    """Return whether a member is absent, null, or one of its fixed values; a discriminator has a single one."""
    if value is None or not isinstance(rule, dict):
        return True
    return rule.get("const", value) == value and value in rule.get("enum", [value])


def _allows_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_allows_null(branch) for branch in schema[keyword])
    types = schema.get("type", "null")
    return "null" in ([types] if isinstance(types, str) else types) and None in schema.get("enum", [None])


def encodable(value: Any) -> Any:
    """Return `value` with each unpaired surrogate, as in file names, replaced by `?`: UTF-8 cannot encode it."""
    if isinstance(value, str):
        return value if value.isascii() or _is_encodable(value) else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        return {encodable(name): encodable(member) for name, member in value.items()}
    return value


def _is_encodable(text: str) -> bool:
    try:
        for start in range(0, len(text), PART_CHARS):
            text[start : start + PART_CHARS].encode()
    except UnicodeEncodeError:
        return False
    return True
