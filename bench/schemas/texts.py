"""Texts that a pattern or a format takes, drawn from a random generator that the caller seeds.

Libraries that do it either choose from sets, whose order changes from process to process, or draw from no seed of ours.
"""

from __future__ import annotations

import re
import re._constants as code  # type: ignore[import-not-found]  # no public name for what the parser gives
import re._parser as parser  # type: ignore[import-not-found]  # the module without a deprecation warning
import string
from collections.abc import Iterable
from random import Random
from typing import Any, Final

FORMATS: Final = {
    "date": ("2024-02-29", "1999-12-31"),
    "date-time": ("2024-05-01T12:00:00Z", "1999-12-31T23:59:59.5+02:00"),
    "duration": ("P1D", "PT5M"),
    "email": ("ada@example.org", "bob.smith+x@example.com"),
    "hostname": ("example.org", "api.example.com"),
    "ipv4": ("192.0.2.1", "198.51.100.7"),
    "ipv6": ("2001:db8::1", "::1"),
    "time": ("12:00:00Z", "23:59:59+02:00"),
    "uri": ("https://example.org/a?b=1", "file:///tmp/x"),
    "url": ("https://example.org/", "https://example.com/x"),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000", "00000000-0000-4000-8000-000000000000"),
}
_MAX_REPEATS: Final = 3
"""Repeats of `*` and `+` beyond what is asked for: enough to tell them from one."""
_PRINTABLE: Final = string.ascii_letters + string.digits + " .-_/:@!"
_CATEGORIES: Final = {
    code.CATEGORY_DIGIT: string.digits,
    code.CATEGORY_NOT_DIGIT: string.ascii_letters,
    code.CATEGORY_SPACE: " ",
    code.CATEGORY_NOT_SPACE: string.ascii_letters + string.digits,
    code.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    code.CATEGORY_NOT_WORD: " .-",
}


def text_of_pattern(pattern: str, random: Random) -> str:
    """Draw a text that `pattern` probably takes: what lies outside a lookaround does not know of it.

    Raises:
        ValueError: the pattern cannot be read.
    """
    try:
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return _sequence(parsed, random, {})


def _sequence(parsed: Iterable[Any], random: Random, groups: dict[int, str]) -> str:
    return "".join(_one(operation, value, random, groups) for operation, value in parsed)


def _one(operation: Any, value: Any, random: Random, groups: dict[int, str]) -> str:
    match str(operation):
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return random.choice([each for each in _PRINTABLE if each != chr(value)])
        case "ANY":
            return random.choice(string.ascii_letters)
        case "IN":
            return _in_set(value, random)
        case "BRANCH":
            return _sequence(random.choice(value[1]), random, groups)
        case "SUBPATTERN":
            text = _sequence(value[-1], random, groups)
            if value[0] is not None:
                groups[value[0]] = text
            return text
        case "GROUPREF":
            return groups.get(value, "")
        case "ATOMIC_GROUP":
            return _sequence(value, random, groups)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            times = random.randint(least, min(most, least + _MAX_REPEATS))
            return "".join(_sequence(inner, random, groups) for _ in range(times))
        case _:  # a place or a lookaround
            return ""


def _in_set(items: Iterable[tuple[Any, Any]], random: Random) -> str:
    listed: list[str] = []
    negated = False
    for operation, value in items:
        match str(operation):
            case "NEGATE":
                negated = True
            case "LITERAL":
                listed.append(chr(value))
            case "RANGE":
                low, high = value
                listed += [chr(each) for each in range(low, min(high, low + 200) + 1)]
            case "CATEGORY":
                listed += _CATEGORIES.get(value, "")
    if negated:
        listed = [each for each in _PRINTABLE if each not in listed]
    return random.choice(listed) if listed else ""
