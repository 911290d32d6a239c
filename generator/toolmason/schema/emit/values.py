"""Quotes, copies and type checks of JSON values."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from toolmason.schema.keywords import is_small, json_type_of

_MAX_QUOTE_LENGTH: Final = 80


def quote_value(value: Any) -> str:
    """Return a value as JSON, shortened to `_MAX_QUOTE_LENGTH` characters."""
    if not is_small(value):
        return "a value that is too large to quote"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_QUOTE_LENGTH else text[:_MAX_QUOTE_LENGTH] + "..."


def copy_value(value: Any) -> Any:
    """Return a deep copy; None if the value is nested too deep."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return None


def accepts_value(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether `value` satisfies `type` and `enum` of an emitted schema."""
    if "$ref" in schema:
        return isinstance(value, dict)
    accepted_type, value_type = str(schema.get("type", "")).lower(), json_type_of(value)
    has_type = accepted_type in {"", value_type} or (value_type == "integer" and accepted_type == "number")
    return has_type and ("enum" not in schema or value in schema["enum"])
