"""Fingerprints of tools, and the part of a schema that decides which calls are valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_PARTS: Final = ("title", "description", "annotations", "inputSchema", "outputSchema")
_TEXTS: Final = frozenset({"$comment", "$schema", "description", "examples", "title"})
"""Keywords that accept and reject nothing."""
_NAMED: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value has names as keys, not keywords."""
_VALUES: Final = frozenset({"const", "default", "enum"})


def fingerprint(tool: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that change with the texts, hints or schemas of a tool."""
    parts = {key: tool[key] for key in _PARTS if tool.get(key) is not None}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_texts(schema: Any) -> Any:
    """Return a copy of a JSON Schema without descriptions and other texts."""
    if isinstance(schema, list):
        return [without_texts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in _VALUES
        else {name: without_texts(inner) for name, inner in value.items()}
        if key in _NAMED and isinstance(value, dict)
        else without_texts(value)
        for key, value in schema.items()
        if key not in _TEXTS
    }
