"""Checks of the values of keywords. Each takes the value, the schema, its types and the location of the keyword."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolmason.schema.keywords import COUNT_KEYWORDS, NUMBER_KEYWORDS, REPETITIONS, TYPE_NAMES
from toolmason.schema.mistakes import enum_of_items
from toolmason.schema.patterns import has_class, has_look_around, has_unnamed_group, is_anchored, to_ecma_pattern
from toolmason.schema.scan.occurrences import quote_value, quote_values
from toolmason.schema.scan.recorder import MAX_DEPTH, Location, Recorder, Schema
from toolmason.schema.scan.values import (
    DATA_KEYWORDS,
    DATA_LIST_KEYWORDS,
    has_valid_value,
    is_described,
    is_number,
    is_number_text,
    is_text,
    strings,
)
from toolmason.schema.walk import Parts

_ANNOTATIONS: Final = frozenset({"title", "examples", "deprecated", "readOnly", "writeOnly"})
_LARGE_COUNT: Final = 1_000
_MAX_DATA_DEPTH: Final = 1_000
"""Maximum nesting of a value; deeper ones count as cyclic Python objects."""

LIMIT_KEYWORDS: Final = frozenset({"minimum", "maximum", "pattern"}) | COUNT_KEYWORDS - {"minContains", "maxContains"}
"""Keywords whose value must also be in the description, where clients drop the keyword."""


def check_value(recorder: Recorder, name: str, value: Any, location: Location) -> bool:
    """Return whether the value of a keyword is valid, so that it can be scanned."""
    if name in COUNT_KEYWORDS or name in NUMBER_KEYWORDS:
        return _check_number(recorder, name, value, location.parts)
    if has_valid_value(name, value):
        return _check_data(recorder, value, name, location) if name in DATA_KEYWORDS | DATA_LIST_KEYWORDS else True
    recorder.add(location.parts, "malformed", f"{quote_value(value)} as `{name}`", keyword=name)
    return False


def _check_number(recorder: Recorder, name: str, value: Any, parts: Parts) -> bool:
    if name in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
        return True  # Reported as `draft-04-exclusive`.
    subject = f"{quote_value(value)} as `{name}`"
    if isinstance(value, str) and is_number_text(name, value):
        recorder.add(parts, "text-number", subject, "malformed", keyword=name)
        return False
    is_valid = is_number(value)
    if is_valid and name in COUNT_KEYWORDS:
        is_valid = value >= 0 and value == int(value)
    if is_valid and name == "multipleOf":
        is_valid = value > 0
    if not is_valid:
        recorder.add(parts, "malformed", subject, keyword=name)
    else:
        _check_size(recorder, name, value, parts)
    return is_valid


def _check_size(recorder: Recorder, name: str, value: float, parts: Parts) -> None:
    """Record a number that is too large for some target."""
    sizes = recorder.providers.sizes
    found = {
        "int64" if name in COUNT_KEYWORDS else "int64-bound": abs(value) > sizes["int64"],
        "int32": abs(value) > sizes["int32"],
        "repetition": name in REPETITIONS and value >= sizes["repetition"],
        "large-count": name in COUNT_KEYWORDS and value > _LARGE_COUNT,
    }
    patterns = [pattern for pattern, is_found in found.items() if is_found]
    if patterns:
        recorder.add(parts, patterns[0], f"{quote_value(value)} as `{name}`", *patterns[1:], keyword=name)


def _check_data(recorder: Recorder, value: Any, name: str, location: Location) -> bool:
    """Return whether data is JSON."""
    depth = _data_depth(recorder, value, location.parts)
    if depth is None:
        recorder.add(location.parts, "not-json", f"the value of `{name}`")
    elif name in {"default", "example"} and location.level + 2 + 2 * depth > MAX_DEPTH:
        recorder.add(location.parts, "deep-data", f"the value of `{name}`", keyword=name)
    return depth is not None


def _data_depth(recorder: Recorder, value: Any, parts: Parts) -> int | None:
    """Return the nesting of a value; None if it is not JSON or contains itself."""
    max_depth, pending = 0, [(value, 0)]
    while pending and recorder.consume(1, parts):
        item, depth = pending.pop()
        max_depth = max(max_depth, depth)
        if max_depth > _MAX_DATA_DEPTH:
            return None
        if isinstance(item, Mapping):
            if not all(map(is_text, item)):
                return None
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list | tuple):
            pending += [(inner, depth + 1) for inner in item]
        elif item is not None and not isinstance(item, bool) and not is_number(item) and not is_text(item):
            return None
    return max_depth


def _check_type(recorder: Recorder, value: Any, _: Schema, __: tuple[str, ...], location: Location) -> None:
    """Check the type names."""
    for name in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(name, str) or name.lower() not in TYPE_NAMES or name not in {name.lower(), name.upper()}:
            recorder.add(location.parts, "unknown-type", quote_value(name), keyword="type")
        elif name.isupper():
            recorder.add(location.parts, "upper-case-type", quote_value(name), keyword="type")
        else:
            recorder.add_once(location.parts, "lower-case-type", quote_value(name), keyword="type")
        if isinstance(value, str) and value.lower() == "null":
            recorder.add(location.parts, "null-type", quote_value(value))


def _check_enum(recorder: Recorder, value: Any, node: Schema, types: tuple[str, ...], location: Location) -> None:
    """Check the types and sizes of enum values."""
    numbers = [item for item in value if is_number(item)]
    others = [item for item in value if not isinstance(item, str) and not is_number(item)]
    if enum_of_items(node):
        recorder.add(location.parts, "enum-on-array", f"`enum` of {quote_values(value)} beside `array`", "enum-type")
        return
    if not value:
        recorder.add(location.parts, "empty-enum", "an empty `enum`")
    elif others:
        recorder.add(location.parts, "odd-enum", f"`enum` with {quote_values(others)}")
    elif numbers and len(numbers) < len(value):
        recorder.add(location.parts, "mixed-enum", f"`enum` with {quote_values(numbers)} beside strings")
    elif numbers:
        pattern = "integer-enum" if all(number == int(number) for number in numbers) else "number-enum"
        recorder.add(location.parts, pattern, f"`enum` of {quote_values(numbers)}")
    elif types and "string" not in types:
        recorder.add(location.parts, "enum-type", f"`enum` of {quote_values(types)}")
    for index, item in enumerate(value):
        if item == "":
            recorder.add((*location.parts, index), "empty-enum-member", "an empty enum value")
    texts = strings(value)
    if len(set(texts)) < len(texts):
        recorder.add(location.parts, "duplicate-enum", "`enum` with a value twice")
    chars = sum(map(len, texts))
    recorder.count("text-length", chars, location.parts, "the schema")
    recorder.count("enum-count", len(value), location.parts, "`enum`")
    sizes = recorder.providers.sizes
    if len(value) > sizes["long-enum"] and chars > sizes["enum-length"]:
        recorder.add(location.parts, "enum-length", "`enum`")


def _check_const(recorder: Recorder, value: Any, _: Schema, __: tuple[str, ...], location: Location) -> None:
    """Count the characters of a constant string."""
    if isinstance(value, str):
        recorder.count("text-length", len(value), location.parts, "the schema")


def _check_required(recorder: Recorder, value: Any, node: Schema, types: tuple[str, ...], location: Location) -> None:
    """Check for repeated and undeclared names."""
    if location.is_partial:
        return
    properties = node.get("properties")
    declared = properties if isinstance(properties, Mapping) else {}
    seen: set[str] = set()
    for index, name in enumerate(value):
        parts = (*location.parts, index)
        if name in seen:
            recorder.add(parts, "repeated-name", quote_value(name), keyword="required")
        elif name not in declared and (types or declared):
            patterns = ("undeclared-required",) if "properties" in node else ("required-alone", "undeclared-required")
            recorder.add(parts, patterns[0], f"{quote_value(name)} is required but not declared", *patterns[1:])
        seen.add(name)


def _check_any_of(recorder: Recorder, value: Any, node: Schema, __: tuple[str, ...], location: Location) -> None:
    """Check for siblings."""
    siblings = [keyword for keyword in node if keyword not in {"anyOf", "any_of"} and node[keyword] is not None]
    if siblings:
        is_choice = all(isinstance(item, Mapping) and item.keys() == {"required"} for item in value)
        specific = ("required-alternatives",) if is_choice else ()
        patterns = (*specific, *(("type-beside-anyOf",) if "type" in siblings else ()), "beside-anyOf")
        recorder.add(location.parts, patterns[0], f"{quote_values(siblings)} beside `anyOf`", *patterns[1:])


def _check_ref(recorder: Recorder, _: Any, node: Schema, __: tuple[str, ...], location: Location) -> None:
    """Check for siblings."""
    allowed = {"description", "default", "definitions"}
    names = (keyword for keyword in node if isinstance(keyword, str))
    siblings = [keyword for keyword in names if not keyword.startswith("$") and keyword not in allowed]
    if siblings:
        specific = () if _ANNOTATIONS.issuperset(siblings) else ("rule-beside-$ref",)
        patterns = (*specific, "beside-$ref")
        recorder.add(location.parts, patterns[0], f"{quote_values(siblings)} beside `$ref`", *patterns[1:])


def _check_limit(recorder: Recorder, value: Any, node: Schema, _: tuple[str, ...], location: Location) -> None:
    """Check for limits of 0, which some targets lose."""
    keyword = str(location.parts[-1])
    name = recorder.providers.snake_case.get(keyword, keyword)
    if value == 0 and not is_described(value, node.get("description")):
        other = "zero-limit" if name.startswith("max") else "idle-limit"
        pattern = "zero-bound" if name in NUMBER_KEYWORDS else other
        recorder.add(location.parts, pattern, f"`{keyword}: 0`", keyword=name)


def _check_pattern(recorder: Recorder, value: Any, _: Schema, __: tuple[str, ...], location: Location) -> None:
    """Check that the pattern is portable."""
    if to_ecma_pattern(value) != value:
        recorder.add(location.parts, "pattern-dialect", quote_value(value), keyword="pattern")
    for pattern, is_found in (
        ("unanchored-pattern", not is_anchored(value)),
        ("pattern-class", has_class(value)),
        ("look-around", has_look_around(value)),
        ("unnamed-group", has_unnamed_group(value)),
    ):
        if is_found:
            recorder.add(location.parts, pattern, quote_value(value), keyword="pattern")


def _check_defs(recorder: Recorder, _: Any, __: Schema, ___: tuple[str, ...], location: Location) -> None:
    """Check that `defs` is at the root."""
    if len(location.parts) > 1:
        recorder.add(location.parts, "nested-defs", "`defs`")


KEYWORD_CHECKS: Final[Mapping[str, Callable[[Recorder, Any, Schema, tuple[str, ...], Location], None]]] = {
    "type": _check_type,
    "enum": _check_enum,
    "const": _check_const,
    "required": _check_required,
    "anyOf": _check_any_of,
    "$ref": _check_ref,
    "defs": _check_defs,
    "pattern": _check_pattern,
    **dict.fromkeys(LIMIT_KEYWORDS - {"pattern"}, _check_limit),
}
