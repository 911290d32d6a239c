"""Select the keywords of a schema that have an effect and a valid value."""

from __future__ import annotations

from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import NO_EFFECT, TEXT_KEYWORDS, VALUE_CHECKS
from toolmason.schema.normalize.collector import FindingCollector, quote
from toolmason.schema.normalize.context import Keywords

KEPT_ANNOTATIONS: Final = ("x-mcp-header",)
"""Annotations that MCP itself defines (2026-07-28, headers from arguments)."""
_TEXT_KEYWORDS: Final = TEXT_KEYWORDS | {"type"}
"""The most frequent keywords, which are checked without a call."""


def valid_keywords(schema: Keywords, collector: FindingCollector) -> dict[str, Any]:
    """Return the keywords of `schema` with a valid value; add a finding for each omitted one."""
    valid: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _TEXT_KEYWORDS and isinstance(value, str):
            valid[keyword] = value
            continue
        is_valid = VALUE_CHECKS.get(keyword)
        if is_valid is None:
            if keyword in KEPT_ANNOTATIONS:
                valid[keyword] = value
            elif keyword not in {"$defs", "definitions"}:
                name = keyword if isinstance(keyword, str) else quote(keyword)
                collector.note(name, f"`{name}` is omitted: {_omission_reason(name)}")
        elif is_valid(value):
            valid[keyword] = value
        elif value is None:
            collector.note(keyword, f"`{keyword}: null` is omitted", pattern="null-keyword")
        else:
            message = f"invalid value `{quote(value)}` for `{keyword}` is omitted"
            collector.add(keyword, "malformed", Severity.LOSSY, message)
    return valid


def _omission_reason(keyword: str) -> str:
    if keyword == "propertyOrdering":
        return "properties keep the order of their declaration"
    if keyword in NO_EFFECT:
        return "it has no effect on a model"
    suggestion = _BY_LETTERS.get(_sorted_letters(keyword))
    return f"no provider reads it; did you mean `{suggestion}`?" if suggestion else "no provider reads it"


def _sorted_letters(keyword: str) -> str:
    """Return a key that misspellings share: `max_length` and `maxLenght` have that of `maxLength`."""
    return "".join(sorted(keyword.lower().replace("_", "").replace("-", "")))


_BY_LETTERS: Final = {_sorted_letters(keyword): keyword for keyword in VALUE_CHECKS}
