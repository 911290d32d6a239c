"""Checks of keyword values, for schemas that may contain any Python object."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolmason.schema import keywords
from toolmason.schema.keywords import COUNT_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS

_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
"""A plain-name fragment of JSON Schema 2020-12: `node`, `_a.b-1`."""
_UNIQUE_WORD: Final = re.compile(r"\b(differ|different|distinct|unique)\b", re.IGNORECASE)

DATA_KEYWORDS: Final = frozenset({"default", "const", "example"})
DATA_LIST_KEYWORDS: Final = frozenset({"enum", "examples"})
SCANNED_MAP_KEYWORDS: Final = SCHEMA_MAP_KEYWORDS | {"defs"}
KNOWN_KEYWORDS: Final = (
    keywords.VALUE_CHECKS.keys() - {"example", "nullable"}
    | keywords.NO_EFFECT
    | {"contentSchema", "readOnly", "writeOnly"}
)
"""The keywords of JSON Schema."""


def is_text(value: Any) -> bool:
    """Return whether `value` is a string that UTF-8 can encode."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Any) -> bool:
    """Return whether `value` is a finite number that fits a double."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_number_text(keyword: str, text: str) -> bool:
    """Return whether proto-JSON parses `text` as a number for `keyword`: `12`, and except for counts `-1.5`."""
    pattern = r"[0-9]{1,18}" if keyword in COUNT_KEYWORDS else r"-?[0-9]{1,18}(\.[0-9]{1,18})?"
    return re.fullmatch(pattern, text) is not None


def is_described(limit: Any, description: Any) -> bool:
    """Return whether a description contains a limit."""
    if not isinstance(description, str) or not (isinstance(limit, str) or is_number(limit)):
        return False
    if isinstance(limit, str):
        return bool(limit) and limit in description
    # `5` occurs in "up to 5." but not in "15" or "5.5".
    return re.search(rf"(?<![\w.]){re.escape(str(limit))}(?!\w|\.\d)", description) is not None


def describes_uniqueness(description: Any) -> bool:
    """Return whether a description mentions that items are unique."""
    return isinstance(description, str) and _UNIQUE_WORD.search(description) is not None


def strings(value: Any) -> list[str]:
    """Return the strings in a list; none if `value` is anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def types_of(schema: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the valid types of a schema in lower case."""
    value = schema.get("type")
    names = strings(value if isinstance(value, list | tuple) else [value])
    return tuple(name.lower() for name in names if name.lower() in keywords.TYPE_NAMES)


def has_valid_value(keyword: str, value: Any) -> bool:
    """Return whether the value of a keyword has the right type. Numbers and data have checks of their own."""
    check = _VALUE_CHECKS.get(keyword)
    return check is None or check(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_schema_list(value: Any) -> bool:
    return _is_list(value) and bool(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_map_of_flags(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_flag, value.values()))


def _is_type(value: Any) -> bool:
    """Return whether `value` is a string or a list of unique strings; `visit_type` checks the names."""
    return not _is_list(value) or (bool(value) and len(strings(value)) == len(value) == len(set(value)))


def _is_id(value: Any) -> bool:
    return is_text(value) and "#" not in value[:-1]


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and _ANCHOR.fullmatch(value) is not None


def _is_names(value: Any) -> bool:
    return _is_list(value) and all(map(is_text, value))


def _is_unique_names(value: Any) -> bool:
    return _is_names(value) and len(set(value)) == len(value)


def _is_map_of_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_unique_names, value.values()))


def _is_dependencies(value: Any) -> bool:
    """Return whether `value` maps names to schemas or lists of names, as in drafts before 2019-09."""
    return isinstance(value, Mapping) and _is_map_of_names(
        {name: item for name, item in value.items() if _is_list(item)}
    )


_VALUE_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(keywords.TEXT_KEYWORDS | {"ref", "$schema", "$comment"}, is_text),
    **dict.fromkeys(keywords.FLAG_KEYWORDS | {"readOnly", "writeOnly"}, _is_flag),
    **dict.fromkeys(("required", "propertyOrdering"), _is_names),
    **dict.fromkeys(DATA_LIST_KEYWORDS, _is_list),
    **dict.fromkeys(SCANNED_MAP_KEYWORDS, _is_object),
    **dict.fromkeys(SCHEMA_LIST_KEYWORDS - {"items"}, _is_schema_list),
    "type": _is_type,
    "$id": _is_id,
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _is_anchor),
    "$vocabulary": _is_map_of_flags,
    "dependencies": _is_dependencies,
    "dependentRequired": _is_map_of_names,
}
