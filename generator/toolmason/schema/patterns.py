"""Translation of regular expressions from other engines to ECMA 262, the dialect of JSON Schema."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Final

_MAX_PATTERN_LENGTH: Final = 2_000
"""Maximum characters of a translated pattern; longer ones count as valid ECMA 262."""
_ANY_ESCAPE: Final = r"\\(?:u\{[0-9A-Fa-f]+\}|[pP]\{[^{}]*\}|c[A-Za-z]|.)"
_TOKEN: Final = re.compile(
    rf"""
      (?P<foreign> \(\?(?:P>|(?![:=!<P])) | \{{,\d+\}} | \[\] | \\0\d
                 | (?:[*+?]|\{{\d+(?:,\d*)?\}})\+ )
    | (?P<named>   \(\?P?<(?P<name>[A-Za-z_]\w*)> )
    | (?P<again>   (?:\(\?P=|\\k<)(?P<of>[A-Za-z_]\w*)[)>] )
    | (?P<behind>  \(\?<(?=[=!]) )
    | (?P<any>     \[\^\] )
    | (?P<class>   \[[^\]\\]*+(?:\\.[^\]\\]*+)*+\] )
    | (?P<escape>  {_ANY_ESCAPE} )
    | (?P<repeat>  \{{\d+(?:,\d*)?\}} )
    | (?P<open>    \[ )
    | (?P<stray>   [{{}}\]] )
    | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""One token. `foreign` are flags, atomic groups and comments, `{,9}`, `[]` and `a*+`, which ECMA 262 lacks or
interprets differently; `again` is a backreference, `behind` the start of a lookbehind."""
_POSIX_CLASS: Final = re.compile(r"\[:\w+:\]", re.ASCII)
"""Such as `[:alpha:]` in `[[:alpha:]_]`, which ECMA 262 interprets as a set of characters. The token of a character
class ends with its first `]`."""
_ESCAPE: Final = re.compile(rf"(?P<escaped>{_ANY_ESCAPE})(?P<dash>(?<=\\[dDwWsS])-(?!\]))?", re.DOTALL)
_ANCHORS: Final = {"\\A": "^", "\\Z": "$", "\\z": "$"}
_ESCAPED_LETTERS: Final = frozenset("dDwWsSbBnrtfv0cxukpP123456789")
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")


class _ForeignError(ValueError):
    """ECMA 262 has no equivalent."""


@lru_cache(maxsize=1_000)
def to_ecma_pattern(pattern: str) -> str | None:
    r"""Translate `pattern` to ECMA 262, valid with the flag `u` (which Ajv sets) and without; None if impossible.

    Examples: `(?P<year>[0-9]+)\Z` -> `(?<year>[0-9]+)$`, `a{` -> `a\{`, `(?i)a` -> None.
    """
    if len(pattern) > _MAX_PATTERN_LENGTH:
        return pattern
    try:
        tokens = [_translate(token) for token in _TOKEN.finditer(pattern)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile("".join(python for _, python in tokens))
    except (_ForeignError, re.error, OverflowError, RecursionError, MemoryError):
        return None
    return "".join(ecma for ecma, _ in tokens)


_LOOK_AROUND: Final = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]|\(\?P=")
"""A lookahead `(?=`, `(?!`, a lookbehind `(?<=`, `(?<!`, or a backreference `\\1`, `(?P=name)`."""
_CLASS: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[dDwWsSbBpP]")


def has_look_around(pattern: str) -> bool:
    """Return whether a pattern has a lookahead, a lookbehind or a backreference."""
    return _LOOK_AROUND.search(pattern) is not None


def has_unnamed_group(pattern: str) -> bool:
    """Return whether a pattern has a group `(?:...)`."""
    return "(?:" in pattern


def has_class(pattern: str) -> bool:
    r"""Return whether a pattern has a class or a boundary that has no character, such as `\d` or `\b`."""
    return _CLASS.search(pattern) is not None


_PART: Final = re.compile(r"\\.?|\[\^?\]?(?:\\.?|[^\]\\])*\]?|.", re.DOTALL)
"""An escape, a class, or any other character."""


def is_anchored(pattern: str) -> bool:
    """Return whether a pattern is about the whole value: from `^` to `$`, without further anchors.

    In `^a|b$`, each anchor concerns one alternative.
    """
    parts = [match[0] for match in _PART.finditer(pattern)]
    if len(parts) < 2 or parts[0] != "^" or parts[-1] != "$":
        return False
    depth = 0
    for part in parts[1:-1]:
        if part in {"^", "$"} or (part == "|" and depth == 0):
            return False
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
    return True


MIN_SPELLED_OUT: Final = 60
"""Characters above which a pattern beside a format can be its definition, as generators write it."""
_NOT_LITERAL: Final = re.compile(
    r"\\(?:[dDwWsSbB]|.)|\[(?:\\(?:.|$)|[^\]\\])*(?:\]|$)|\{\d*(?:,\d*)?\}|\(\?[:=!]|[()|*+?^$]", re.DOTALL
)
"""An escape, a class, a repetition, or the start or end of a group. `$`: many `[` without an end take linear time."""
_OFFSET: Final = re.compile(r"\[\\?[+-]\\?[+-]\]|\\\+")
"""The sign of an offset from UTC: `[+-]`, `[-+]`, `[+\\-]`, or `\\+`."""
_SHORT_NUMBER: Final = r"[0-9]{1,3}(?![0-9])"
_LITERALS: Final[dict[str, re.Pattern[str]]] = {
    "date": re.compile(rf"(?:[- ]|{_SHORT_NUMBER})*"),
    "date-time": re.compile(rf"(?:[-:.TZtz ]|{_SHORT_NUMBER})*"),
    "time": re.compile(rf"(?:[:.Zz ]|{_SHORT_NUMBER})*"),
    "duration": re.compile(r"[-PTYMWDHS., ]*"),
    "email": re.compile(r"[-@. ]*"),
    "ipv4": re.compile(rf"(?:[. ]|{_SHORT_NUMBER})*"),
    "ipv6": re.compile(rf"(?:[:. ]|{_SHORT_NUMBER})*"),
    "uuid": re.compile(r"(?:[- ]|0{4,}|[fF]{4,}|[0-9](?![0-9]))*"),
}
"""The literal characters of patterns that define a format: no year of four digits, and no name of a host."""


@lru_cache(maxsize=1_000)
def spells_out(pattern: str, name: str) -> bool:
    r"""Return whether a long pattern only defines the format `name`, such as `^\d{4}-...$` beside `date-time`.

    One that accepts dates in UTC alone says more than `date-time`.
    """
    if not MIN_SPELLED_OUT < len(pattern) <= _MAX_PATTERN_LENGTH or name not in _LITERALS:
        return False
    if name == "date-time" and not _OFFSET.search(pattern):
        return False
    return is_anchored(pattern) and _LITERALS[name].fullmatch(_NOT_LITERAL.sub(" ", pattern)) is not None


_ATOM: Final = r"(?:\[(?:[^\[\]\\]|\\[dw.\-])+\]|\\[dw.\-]|[^\\\[\](){}|*+?^$])"
_SIMPLE: Final = re.compile(rf"\^?{_ATOM}*(?:[*+?]|\{{\d{{1,2}}(?:,\d{{0,2}})?\}})?{_ATOM}*\$?")
"""A pattern with at most one repetition, such as `^x-[a-z]+$`: fast to match, and the same in every engine."""
_MAX_MATCHED_LENGTH: Final = 100
"""Maximum characters of a pattern and of a name that are matched."""


def matches_name(pattern: str, name: str) -> bool | None:
    """Return whether `pattern` matches in `name`; None if the engines differ or matching could be slow."""
    if max(len(pattern), len(name)) > _MAX_MATCHED_LENGTH or not name.isprintable():
        return None
    if not _SIMPLE.fullmatch(pattern) or to_ecma_pattern(pattern) != pattern:
        return None
    return re.search(pattern, name, re.ASCII) is not None


def _translate(token: re.Match[str]) -> tuple[str, str]:
    """Return a token in ECMA 262, and in Python for a syntax check."""
    text = token[0]
    match token.lastgroup:
        case "foreign" | "open":
            raise _ForeignError(text)
        case "named":
            return f"(?<{token['name']}>", f"(?P<{token['name']}>"
        case "again":
            return f"\\k<{token['of']}>", f"(?P={token['of']})"
        case "behind":
            return text, "(?"  # Only Python requires lookbehinds of fixed length.
        case "any":
            return text, "."
        case "class":
            if _POSIX_CLASS.search(text, 1):
                raise _ForeignError(text)
            ecma = _ESCAPE.sub(lambda escape: _translate_in_class(escape)[0], text)
            return ecma, _ESCAPE.sub(lambda escape: _translate_in_class(escape)[1], text)
        case "escape":
            return (_ANCHORS[text], _ANCHORS[text]) if text in _ANCHORS else _translate_escape(text)
        case "stray":
            return f"\\{text}", f"\\{text}"
    return text, text


def _translate_in_class(escape: re.Match[str]) -> tuple[str, str]:
    """Translate an escape in a character class. A dash after a class escape is a literal."""
    dash = "\\-" if escape["dash"] else ""
    ecma, python = _translate_escape(escape["escaped"], also="-")
    return ecma + dash, python + dash


def _translate_escape(text: str, *, also: str = "") -> tuple[str, str]:
    """Translate an escape; remove it from a character that needs none."""
    char = text[1]
    if char.isascii() and char.isalnum():
        if char not in _ESCAPED_LETTERS:
            raise _ForeignError(text)
        return text, "a" if char in "pPc" or text.startswith("\\u{") else text
    return (text, text) if char in _SYNTAX or char in also else (char, re.escape(char))
