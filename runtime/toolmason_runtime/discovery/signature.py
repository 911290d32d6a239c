"""The parameters of a tool in one line: `(path:str(1..) "File to read", mode?:text|bytes=text, lines?:int[])`.

Required parameters come first, with the beginning of their description; `?` marks optional ones, `=` a default, and
parentheses contain limits. A lossless signature contains every rule of the schema. A signature cannot express unions,
maps, long enums and rules that only a description states; then it lists names only and is not lossless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.discovery.results import truncate
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.search.text import stem, words

MAX_ENUM_VALUES: Final = 8
MAX_TEXT_LENGTH: Final = 60
"""Maximum characters of the description of a required parameter, and of a pattern."""

_TYPES: Final = {"string": "str", "integer": "int", "number": "number", "boolean": "bool", "object": "object"}
_RESERVED: Final = frozenset({*_TYPES, *_TYPES.values(), "any", "array", "list", "float", "true", "false", "null"})
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""A string value without quotation marks, unless it is reserved: it must not look like a type."""
_NAME: Final = re.compile(r"[^\W\d][\w.$@-]*")
"""A parameter name without quotation marks."""
_FORMAT: Final = re.compile(r"[\w.-]+")
_ANNOTATIONS: Final = frozenset({"title", "description", "$comment", "$schema", "examples", "deprecated"})
"""Annotations: keywords that do not affect validation."""
_RANGES: Final = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_KEYWORDS: Final = {"object": {"type", "properties"}, "string": {"type", "format", "pattern"}}
_FILLERS: Final = frozenset(
    {"a", "an", "and", "as", "at", "be", "by", "for", "from", "given", "in", "is", "of", "on", "or", "provided"}
    | {"specified", "that", "the", "this", "to", "used", "value", "which", "with"}
)
"""Words that are ignored when a description is compared with names and the summary."""
_STATED_LIMITS: Final = re.compile(
    r"""(?:(?:^|(?<=[.!?:])\s)(?:
        (?:At\ least|At\ most|Exactly|-?[\d.e+]+\ to)\ -?[\d.e+]+(?:\ (?:characters?|items?|propert(?:y|ies)))?
      | Must\ match\ `.{0,1000}` | Must\ be\ empty | Format:\ \S+
    )\.)++(?P<end>$)?""",
    re.VERBOSE,
)
"""The limits that the generator appends to a description, if `end` matches; the type states them too."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The text of a signature; `is_lossless` if it contains every rule of the parameters."""

    text: str
    is_lossless: bool


def signature(entry: ToolEntry) -> Signature:
    """Return the signature of a tool."""
    schema = entry["tool"]["inputSchema"]
    if "complete_schema" not in entry:
        known = _stems(f"{entry['tool']['name']} {entry['summary']}")
        try:
            return Signature(f"({_parameters(schema, known)})", is_lossless=True)
        except _InexpressibleError:
            pass
    names = ", ".join(f"{_name(name)}{mark}" for name, mark, _ in _members(schema))
    return Signature(f"({names or '...'})", is_lossless=False)


class _InexpressibleError(Exception):
    """A signature cannot express the schema."""


def _parameters(schema: Mapping[str, Any], known: AbstractSet[str] | None = None) -> str:
    """Return the members of an object, required ones first.

    Unless `known` is None, these have descriptions, except those that repeat the stems in `known`.
    """
    _check_keywords(schema, {"type", "properties", "required", "additionalProperties"})
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties", False)
    if additional is not False or not set(schema.get("required", ())) <= properties.keys():
        raise _InexpressibleError
    parts = []
    for name, mark, part in _members(schema):
        value = f"{_type(part)}{_default(part)}"
        text = "" if known is None or mark else _text(name, part, known)
        parts.append(f"{_name(name)}{mark}:{value}{text}")
    return ", ".join(parts)


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the name of each property, `?` if it is optional, and its schema; required ones first."""
    required = schema.get("required", ())
    members = schema.get("properties", {}).items()
    yield from ((name, "", part) for name, part in members if name in required)
    yield from ((name, "?", part) for name, part in members if name not in required)


def _check_keywords(schema: Any, keywords: set[str]) -> None:
    """Raise an error if a schema has keywords other than `keywords` and annotations."""
    if not isinstance(schema, Mapping):
        raise _InexpressibleError
    if any(key not in keywords | _ANNOTATIONS and not key.startswith("x-") for key in schema):
        raise _InexpressibleError


def _type(schema: Any) -> str:
    """Return the type of a value with its limits."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("type"), str | None):
        raise _InexpressibleError
    kind: Any = schema.get("type")
    if "enum" in schema:
        _check_keywords(schema, {"type", "enum", "default"})
        return _enum(schema["enum"], kind)
    if kind is None:
        _check_keywords(schema, {"default"})
        return "any"
    if kind not in _RANGES and kind != "boolean":
        raise _InexpressibleError
    limits = _limits(schema, kind)
    rest = {key: rule for key, rule in schema.items() if key not in (*_RANGES.get(kind, ()), "default")}
    if kind == "array":
        _check_keywords(rest, {"type", "items"})
        items = schema.get("items", {})
        item = _type(items)
        if "default" in items:
            raise _InexpressibleError
        return f"{f'({item})' if 'enum' in items else item}[]{limits}"
    if kind == "object" and schema.get("properties"):
        return f"{{{_parameters(rest)}}}{limits}"
    if kind == "object" and schema.get("additionalProperties") in (True, {}):
        rest.pop("additionalProperties")
    _check_keywords(rest, _KEYWORDS.get(kind, {"type", "format"}))
    return f"{_TYPES[kind]}{limits}"


def _enum(values: Sequence[Any], kind: Any) -> str:
    if not 0 < len(values) <= MAX_ENUM_VALUES:
        raise _InexpressibleError
    kinds: Mapping[Any, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}
    valid = (str, int, float, bool) if kind is None else (bool,) if kind == "boolean" else kinds.get(kind, ())
    if not all(type(value) in valid for value in values):
        raise _InexpressibleError
    # A single word would look like the name of a type.
    return "|".join(map(_value, values)) if len(values) > 1 else _json(values[0])


def _limits(schema: Mapping[str, Any], kind: str) -> str:
    """Return the limits of a value: `(1..)`, `(1..20)`, `(..100, /^[a-z]+$/)`."""
    low, high = (schema.get(keyword) for keyword in _RANGES.get(kind, ("", "")))
    bounds = ["" if bound is None else _json(bound) for bound in (low, high)]
    parts = ["..".join(bounds)] if any(bounds) else []
    if "format" in schema:
        parts.append(schema["format"])
    if "pattern" in schema:
        parts.append(f"/{schema['pattern']}/")
    # The reader of a signature looks for the end of a pattern at `/)`.
    if not _FORMAT.fullmatch(schema.get("format", "any")) or "/)" in schema.get("pattern", ""):
        raise _InexpressibleError
    if len(schema.get("pattern", "")) > MAX_TEXT_LENGTH:
        raise _InexpressibleError
    return f"({', '.join(parts)})" if parts else ""


def _default(schema: Mapping[str, Any]) -> str:
    return f"={_value(schema['default'])}" if "default" in schema else ""


def _text(name: str, schema: Mapping[str, Any], known: AbstractSet[str]) -> str:
    """Return the beginning of a description as a JSON string, without the limits that the type states.

    Empty if all its words are in `known` or in the name of the parameter, as stems.
    """
    description = str(schema.get("description", ""))
    text = " ".join(_STATED_LIMITS.sub(lambda limits: limits[0] if limits["end"] is None else "", description).split())
    if _stems(text) <= known | _stems(name):
        return ""
    return f" {_json(truncate(text, MAX_TEXT_LENGTH).removesuffix('.'))}"


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in _FILLERS}


def _value(value: Any) -> str:
    """Return a value as JSON, without the quotation marks of a word that cannot be mistaken for another value."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value not in _RESERVED
    return str(value) if is_word else _json(value)


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
