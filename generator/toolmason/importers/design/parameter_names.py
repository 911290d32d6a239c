"""Names of parameters: the words that an API's own name stands for.

`DateSent<` is `date_sent_before`, `filter[name][eq]` is `filter_name_eq`, `X-Request-Id` is `request_id`. A name that
is an identifier already stays as it is: `pageSize`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

from toolmason.importers.names import separated, snake, unique

MAX_LENGTH: Final = 60
"""Maximum characters of a name; providers accept 64."""

PLACE: Final = "argument"
"""Place of the arguments of tools that are not HTTP tools."""
_IDENTIFIER: Final = re.compile(r"_{0,2}[A-Za-z](?:_?[A-Za-z0-9])*_?")
_TIMES: Final = {"<": "before", "<=": "until", ">": "after", ">=": "since"}
_NUMBERS: Final = {"<": "less_than", "<=": "at_most", ">": "more_than", ">=": "at_least"}
_SYMBOLS: Final = {
    "=": "equals",
    "==": "equals",
    "!": "not",
    "!=": "not",
    "<>": "not",
    "!~": "not_like",
    "~": "like",
    "~=": "like",
    "=~": "like",
    "^": "starts_with",
    "^=": "starts_with",
    "$": "ends_with",
    "$=": "ends_with",
    "*=": "contains",
    "%": "percent",
    "?": "exists",
}
_OTHER_FORMS: Final = {"=<": "<=", "=>": ">=", "≤": "<=", "≥": ">=", "≠": "!="}
_OPERATOR: Final = re.compile(r"(?<=[^\W_])[\s\[\]_:.]*([<>=!~^$*%?≤≥≠]{1,2})[\s\])]*$")
"""An operator at the end of a name, after a letter or a digit: `DateSent<`, `price[>=]`, `name ~`."""
_TIME_WORDS: Final = frozenset(
    [
        "after",
        "at",
        "before",
        "created",
        "changed",
        "date",
        "day",
        "deadline",
        "due",
        "end",
        "expired",
        "expires",
        "from",
        "issued",
        "modified",
        "month",
        "on",
        "received",
        "sent",
        "since",
        "start",
        "time",
        "timestamp",
        "until",
        "updated",
        "when",
        "year",
    ]
)
_TIME_FORMATS: Final = frozenset({"date", "date-time", "time"})
_MARKS: Final = {"$": "dollar", "@": "at_sign", "#": "hash", "-": "minus", "+": "plus"}


def parameter_name(wire: str, place: str, schema: Mapping[str, Any]) -> str:
    """Return the name of a parameter, not yet compared with the others.

    Args:
        wire: the name in the document.
        place: `path`, `query`, `header`, `body` or `argument`.
        schema: its schema; its format shows a time, for which `<` is `before`.
    """
    if _IDENTIFIER.fullmatch(wire) and len(wire) <= MAX_LENGTH:
        return wire
    name, operator = split_operator(wire)
    words = spelled(name, place)
    if operator in _TIMES:
        is_time = str(schema.get("format")) in _TIME_FORMATS or not _TIME_WORDS.isdisjoint(words.split("_"))
        operator = (_TIMES if is_time else _NUMBERS)[operator]
    if wire.lstrip().startswith("!") and not operator:
        words = f"not_{words}"
    return shortened(f"{words}_{operator}" if operator else words)


def split_operator(wire: str) -> tuple[str, str]:
    """Return a name without the operator at its end, and the operator: a comparison as symbol, others in words."""
    found = _OPERATOR.search(wire)
    symbol = _OTHER_FORMS.get(found[1], found[1]) if found else ""
    if not found or (symbol not in _TIMES and symbol not in _SYMBOLS):
        return wire, ""
    return wire[: found.start()], _SYMBOLS.get(symbol, symbol)


def spelled(name: str, place: str) -> str:
    """Return the words of a name in snake case; a name without Latin letters becomes `query_value` or the like."""
    if place == "header":
        name = re.sub(r"^x-(?=[a-z])", "", name, flags=re.IGNORECASE)
    return snake(separated(name), f"{place}_value")


def shortened(name: str) -> str:
    """Return a name of at most `MAX_LENGTH` characters that ends with a whole word if possible."""
    if len(name) <= MAX_LENGTH:
        return name
    head = name[: MAX_LENGTH + 1].rpartition("_")[0]
    return head if len(head) > MAX_LENGTH // 2 else name[:MAX_LENGTH].rstrip("_")


def compared_names(wires: Iterable[str]) -> frozenset[str]:
    """Return the words of each name that occurs with a comparison too: `DateSent` beside `DateSent<`."""
    return frozenset(spelled(name, "query") for name, operator in map(split_operator, wires) if operator in _TIMES)


def free_name(name: str, wire: str, place: str, used: Mapping[str, str]) -> str:
    """Return the name, with a different end if another parameter has it.

    Args:
        name: the wanted name.
        wire: the name in the document.
        place: `path`, `query`, `header`, `body` or `argument`.
        used: the place of each other parameter by name.
    """
    if name not in used:
        return name
    mark = _MARKS.get(wire.strip()[:1], "list" if wire.endswith("[]") else "")
    ends = [f"in_{place}"] if used[name] != place else [mark] if mark else []
    for end in ends:
        if (candidate := f"{name[: MAX_LENGTH - len(end)].rstrip('_')}_{end}") not in used:
            return candidate
    return unique(name[: MAX_LENGTH - 3], used)


def says_its_wire_name(name: str, wire: str) -> bool:
    """Return whether a name has all letters of the API's name: `größe` becomes `grosse`, but `名前` has none."""
    letters = [char for char in unicodedata.normalize("NFKD", wire).casefold() if char.isalpha()]
    return all(map(str.isascii, letters)) or name == wire


def with_aliases(params: Mapping[str, dict[str, Any]], wires: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return parameters with the API's own name as an alias, where it is the name of no other parameter.

    `wires` are the names in the document by those of the parameters.
    """
    taken = set(params)
    result: dict[str, dict[str, Any]] = {}
    for name, entry in params.items():
        wire = wires.get(name, name)
        is_free = wire not in taken and wire.isprintable()
        taken.add(wire)
        result[name] = {**entry, "aliases": [wire]} if is_free else entry
    return result


def chosen_name(
    wire: str, place: str, schema: Mapping[str, Any], *, compared: Container[str], used: Mapping[str, str]
) -> tuple[str, bool]:
    """Return a valid and free name, and whether it lacks letters of the API's name, as descriptions then show it.

    Args:
        wire: the name in the document.
        place: as for `parameter_name`.
        schema: as for `parameter_name`.
        compared: the words of names that occur with a comparison too.
        used: the place of each other parameter by name.
    """
    wanted = parameter_name(wire, place, schema)
    if not split_operator(wire)[1] and (words := spelled(wire, place)) in compared:
        wanted = words
    name = free_name(wanted, wire, place, used)
    is_one_of_two = name != wanted and not name.endswith(f"_in_{place}")
    return name, is_one_of_two or not says_its_wire_name(name, wire)


def with_wire_name(description: str, wire: str) -> str:
    """Return a description that begins with the API's own name."""
    return f"`{wire}`. {description}".rstrip(" .")


def argument_names(schemas: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return the name of each argument of a tool, and whether its description should begin with the original.

    Args:
        schemas: the schema of each argument by its original name.
    """
    compared = compared_names(schemas)
    names: dict[str, tuple[str, bool]] = {}
    used: dict[str, str] = {}
    # Names that stay as they are have priority.
    for wire in sorted(schemas, key=lambda wire: parameter_name(wire, PLACE, {}) != wire):
        schema = schemas[wire] if isinstance(schemas[wire], Mapping) else {}
        names[wire] = chosen_name(wire, PLACE, schema, compared=compared, used=used)
        used[names[wire][0]] = PLACE
    return {wire: names[wire] for wire in schemas}
