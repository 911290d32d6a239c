"""Limits: numeric bounds, lengths, patterns and formats of one type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason.schema.emit.context import EmitterContext, JsonSchema
from toolmason.schema.emit.values import quote_value
from toolmason.schema.findings import Severity
from toolmason.schema.keywords import LIMIT_KEYWORDS, REPETITIONS
from toolmason.schema.normal_form import Branch
from toolmason.schema.patterns import (
    has_class,
    has_look_around,
    has_unnamed_group,
    is_anchored,
    spells_out,
    to_ecma_pattern,
)
from toolmason.schema.providers import Dialect
from toolmason.schema.wording import append_sentences, limit_sentences, states_pattern, without_sentinel_bounds

_UNSIGNED: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIGNED: Final = re.compile(rf"-{_UNSIGNED.pattern}")
_MOVED: Final = "; moved to the description"
_TOO_LONG: Final = "; omitted, because it is too long for the description or implied by its format"
_MAX_INTEGERS: Final = {2**31 - 1: "32 bits", 2**63 - 1: "64 bits", 2**63 - 2: "64 bits"}
_INCLUSIVE: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def with_limits(
    context: EmitterContext, schema: JsonSchema, branch: Branch, text: str, limits: Mapping[str, Any] | None = None
) -> str:
    """Add the supported limits to `schema`; return the description with the unsupported and repeated ones.

    `limits` defaults to those of `branch`.
    """
    limits = branch.limits if limits is None else limits
    if not limits:
        return text
    kept = without_spelled_out(context.dialect, limits)
    if len(kept) < len(limits):
        message = f"the pattern defines the format `{limits['format']}`, which is kept"
        context.find(branch.pointer, "pattern", Severity.NOTE, message)
        limits = kept
    supported: dict[str, Any] = {}
    unsupported: dict[str, Any] = {}
    is_pattern_stated = states_pattern(limits)
    for keyword, value in _with_ecma_pattern(context, limits, branch).items():
        reason = _why_unsupported(context, keyword, value)
        if not reason:
            supported[keyword] = value
            continue
        is_stated = keyword != "pattern" or is_pattern_stated
        if is_stated:
            unsupported[keyword] = value
        context.find(branch.pointer, keyword, Severity.LOSSY, reason + (_MOVED if is_stated else _TOO_LONG))
        if keyword in _INCLUSIVE and context.dialect.accepts(_INCLUSIVE[keyword]):
            supported.setdefault(_INCLUSIVE[keyword], value)
        elif value == 0 and keyword in context.dialect.zero_is_unset:
            supported[keyword] = value
    schema |= {keyword: supported[keyword] for keyword in LIMIT_KEYWORDS[branch.type] if keyword in supported}
    if unsupported:
        text = append_sentences(text, limit_sentences(_not_in_text(unsupported, text)))
    if context.repeats_limits:
        repeated = without_sentinel_bounds(
            {
                name: value
                for name, value in supported.items()
                if name not in unsupported and (name != "pattern" or is_pattern_stated)
            }
        )
        repeated = _without_stated_range(repeated, branch.description)
        text = append_sentences(text, limit_sentences(_not_in_text(repeated, text)))
    return text


def without_spelled_out(dialect: Dialect, limits: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the limits without a pattern that only defines the format, if the dialect omits those."""
    if not dialect.omits_spelled_out or "pattern" not in limits or "format" not in limits:
        return limits
    if not spells_out(limits["pattern"], limits["format"]):
        return limits
    return {keyword: value for keyword, value in limits.items() if keyword != "pattern"}


def _with_ecma_pattern(context: EmitterContext, limits: Mapping[str, Any], branch: Branch) -> Mapping[str, Any]:
    """Translate `pattern` if clients compile it; a pattern without translation stays unchanged."""
    pattern = limits.get("pattern")
    if pattern is None or not context.dialect.requires_ecma_patterns:
        return limits
    translated = to_ecma_pattern(pattern)
    if translated in {None, pattern}:
        return limits
    message = f"the pattern `{quote_value(pattern)[1:-1]}` is translated to ECMA 262"
    context.find(branch.pointer, "pattern", Severity.NOTE, message)
    return {**limits, "pattern": translated}


def _why_unsupported(context: EmitterContext, keyword: str, value: Any) -> str:
    dialect = context.dialect
    if not dialect.accepts(keyword):
        return f"`{keyword}` is not supported here"
    if keyword == "format" and dialect.formats is not None and value not in dialect.formats:
        return f"the format `{value}` is not supported here"
    if keyword == "pattern" and not dialect.allows_look_around and has_look_around(value):
        return "patterns with lookaround or backreferences are not supported here"
    if keyword == "pattern" and dialect.requires_plain_patterns and (not is_anchored(value) or has_class(value)):
        return "a pattern without both anchors, or with classes, is not supported here"
    if keyword == "pattern" and not dialect.allows_unnamed_groups and has_unnamed_group(value):
        return "a pattern with a group `(?:...)` is not supported here"
    if keyword == "pattern" and dialect.requires_ecma_patterns and to_ecma_pattern(value) is None:
        return "the pattern is not valid in ECMA 262, and clients fail on it"
    if keyword in dialect.zero_is_unset and value == 0:
        return f"`{keyword}: 0` counts as unset here"
    most = dialect.max_repetitions
    if most is not None and keyword in REPETITIONS and isinstance(value, int) and value > most:
        return f"`{keyword}` above {most:,} is not supported here"
    limit = dialect.max_integer
    if limit is not None and isinstance(value, int) and not -limit - 1 <= value <= limit:
        return f"`{keyword}` exceeds {_MAX_INTEGERS.get(limit, f'{limit:,}')}"
    return ""


def _not_in_text(limits: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Drop the bounds that the text already states more exactly."""
    remaining = dict(limits)
    low, high = remaining.get("minimum"), remaining.get("maximum")
    if low is not None and f"One of {low}, " in text:
        return {name: value for name, value in remaining.items() if name not in {"minimum", "maximum"}}
    if low is not None and f"Must be greater than {low}." in text:
        del remaining["minimum"]
    if high is not None and f"Must be less than {high}." in text:
        del remaining["maximum"]
    return remaining


def _without_stated_range(limits: dict[str, Any], text: str) -> dict[str, Any]:
    """Drop bounds that the author's description states: "(1-500)", in which the hyphen is not a sign."""
    bounds = {limits.get("minimum"), limits.get("maximum")}
    if not text or None in bounds or not bounds <= {*map(float, _SIGNED.findall(text) + _UNSIGNED.findall(text))}:
        return limits
    return {name: value for name, value in limits.items() if name not in {"minimum", "maximum"}}
