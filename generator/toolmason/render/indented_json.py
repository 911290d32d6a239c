"""JSON over many lines. `json.dumps` has no fast form for it."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any


def indent_json(value: Any) -> str:
    """Return the same as `json.dumps(value, indent=2, ensure_ascii=False)` for a value of `json.loads`."""
    return _indent(value, "\n")


def _indent(value: Any, line_end: str) -> str:
    """Return `value` with a line break and the indentation of the line around it as `line_end`."""
    inner = line_end + "  "
    if value and isinstance(value, dict):
        members = [f"{inner}{encode_basestring(name)}: {_indent(member, inner)}" for name, member in value.items()]
        return f"{{{','.join(members)}{line_end}}}"
    if value and isinstance(value, list):
        return f"[{','.join([inner + _indent(item, inner) for item in value])}{line_end}]"
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value)
