"""Texts that match a regular expression, for its common parts: literals, classes, groups, alternatives and repeats.

A text may be wrong, as for a lookahead; callers check it with the pattern.
"""

from __future__ import annotations

import re
from typing import Final

MAX_PATTERN: Final = 300
"""Maximum characters of a pattern for which a text is made."""
MAX_LENGTH: Final = 500
_CLASSES: Final = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t"}
_CANDIDATES: Final = "a0 -_é"
_MEMBERS: Final = {"d": "0", "w": "a0_é", "s": " ", "D": "a -_é", "W": " -", "S": "a0-_é"}
"""The members of `_CANDIDATES` in each class."""
_REPEAT: Final = re.compile(r"(?:([*+?])|\{(\d{1,3})(?:,\d{0,4})?\})[?+]?")
_START_OF_GROUP: Final = re.compile(r"\((?:\?(?::|P?<\w{1,50}>))?")


class _UnknownSyntaxError(Exception):
    """The pattern has a part for which no text can be made."""


def pattern_example(pattern: str) -> str | None:
    """Return a text that probably matches `pattern`; None for syntax that is not supported."""
    if len(pattern) > MAX_PATTERN:
        return None
    try:
        text, end = _alternatives(pattern, 0)
    except (_UnknownSyntaxError, IndexError, RecursionError):
        return None
    return text if end == len(pattern) and len(text) <= MAX_LENGTH else None


def _alternatives(pattern: str, at: int) -> tuple[str, int]:
    """Return the text of the first alternative, and the end of all."""
    first, at = _sequence(pattern, at)
    while at < len(pattern) and pattern[at] == "|":
        _, at = _sequence(pattern, at + 1)
    return first, at


def _sequence(pattern: str, at: int) -> tuple[str, int]:
    text = ""
    while at < len(pattern) and pattern[at] not in "|)":
        part, at = _atom(pattern, at)
        if repeat := _REPEAT.match(pattern, at):
            at = repeat.end()
            part *= int(repeat[2]) if repeat[2] else 0 if repeat[1] in "*?" else 1
        text += part
        if len(text) > MAX_LENGTH:
            raise _UnknownSyntaxError
    return text, at


def _atom(pattern: str, at: int) -> tuple[str, int]:
    match pattern[at]:
        case "^" | "$":
            return "", at + 1
        case ".":
            return "a", at + 1
        case "\\":
            return _escape(pattern[at + 1]), at + 2
        case "[":
            return _character_class(pattern, at + 1)
        case "(":
            start = _START_OF_GROUP.match(pattern, at)
            if start is None or pattern.startswith("?", start.end()):
                raise _UnknownSyntaxError
            text, end = _alternatives(pattern, start.end())
            if pattern[end] != ")":
                raise _UnknownSyntaxError
            return text, end + 1
        case "*" | "+" | "?" | "{":
            raise _UnknownSyntaxError
        case char:
            return char, at + 1


def _escape(char: str) -> str:
    if char in "bBAZzpPukx" or char.isdigit():
        return "" if char in "bAZz" else _unknown()
    return _CLASSES.get(char, char)


def _unknown() -> str:
    raise _UnknownSyntaxError


def _character_class(pattern: str, at: int) -> tuple[str, int]:
    is_negated = pattern[at] == "^"
    start = at = at + is_negated
    found: list[str] = []
    while pattern[at] != "]" or at == start:
        is_escape = pattern[at] == "\\"
        found.append(pattern[at : at + 2] if is_escape else pattern[at])
        at += 1 + is_escape
    if is_negated:
        return next((char for char in _CANDIDATES if not _is_in_class(char, found)), None) or _unknown(), at + 1
    return _escape(found[0][1]) if len(found[0]) > 1 else found[0], at + 1


def _is_in_class(char: str, members: list[str]) -> bool:
    """Return whether a character is in a class with these members, of which `-` between two is a range."""
    for index, member in enumerate(members):
        if member in {char, f"\\{char}"} or (len(member) > 1 and char in _MEMBERS.get(member[1], "")):
            return True
        if member == "-" and 0 < index < len(members) - 1 and members[index - 1][-1] <= char <= members[index + 1][-1]:
            return True
    return False
