"""Regular expressions as JSON Schema has them, ECMA 262, out of those that were written for another engine."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Final

_MAX_LENGTH: Final = 2_000
"""Characters of a pattern that is looked at; a longer one is taken for what it should be."""
_ANY_ESCAPE: Final = r"\\(?:u\{[0-9A-Fa-f]+\}|[pP]\{[^{}]*\}|c[A-Za-z]|.)"
_TOKEN: Final = re.compile(
    rf"""
      (?P<foreign> \(\?(?:P>|(?![:=!<P])) | \{{,\d+\}} | \[\] | \[[^\]\\]*\[:\w+:\] | \\0\d
                 | (?:[*+?]|\{{\d+(?:,\d*)?\}})\+ )
    | (?P<named>   \(\?P?<(?P<name>[A-Za-z_]\w*)> )
    | (?P<again>   (?:\(\?P=|\\k<)(?P<of>[A-Za-z_]\w*)[)>] )
    | (?P<behind>  \(\?<(?=[=!]) )
    | (?P<any>     \[\^\] )
    | (?P<class>   \[(?:\\.|[^\]\\])*\] )
    | (?P<escape>  {_ANY_ESCAPE} )
    | (?P<repeat>  \{{\d+(?:,\d*)?\}} )
    | (?P<open>    \[ )
    | (?P<stray>   [{{}}\]] )
    | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""What an engine reads at once. `foreign` are flags, atomic groups and comments, `{,9}`, `[]`, `[[:alpha:]]` and `a*+`:
they mean something else, or nothing, where ECMA 262 is read."""
_ESCAPE: Final = re.compile(rf"(?P<sign>{_ANY_ESCAPE})(?P<dash>(?<=\\[dDwWsS])-(?!\]))?", re.DOTALL)
_ENDS: Final = {"\\A": "^", "\\Z": "$", "\\z": "$"}
_LETTERS: Final = frozenset("dDwWsSbBnrtfv0cxukpP123456789")
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")


class _ForeignError(ValueError):
    """ECMA 262 has no such thing."""


@lru_cache(maxsize=1_000)
def portable(pattern: str) -> str | None:
    r"""Give `pattern` as engines of ECMA 262 read it, with the flag `u` (as Ajv does) and without; None if none does.

    What is only spelled otherwise (`(?P<year>...)`, `\Z`, a brace that is not escaped) is spelled as it should be.
    """
    if len(pattern) > _MAX_LENGTH:
        return pattern
    try:
        read = [_read(token) for token in _TOKEN.finditer(pattern)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile("".join(python for _, python in read))
    except (_ForeignError, re.error, OverflowError, RecursionError, MemoryError):
        return None
    return "".join(ecma for ecma, _ in read)


_ONE: Final = r"(?:\[(?:[^\[\]\\]|\\[dw.\-])+\]|\\[dw.\-]|[^\\\[\](){}|*+?^$])"
_SIMPLE: Final = re.compile(rf"\^?{_ONE}*(?:[*+?]|\{{\d{{1,2}}(?:,\d{{0,2}})?\}})?{_ONE}*\$?")
"""A pattern in which at most one thing is repeated: it is tried in a few steps, and means the same everywhere."""
_MAX_TRIED_LENGTH: Final = 100
"""Characters of a pattern, and of a name, that are tried."""


def fits(pattern: str, name: str) -> bool | None:
    """Whether `pattern` is found in `name`; None where that is not sure, or might take long."""
    if max(len(pattern), len(name)) > _MAX_TRIED_LENGTH or not name.isprintable():
        return None
    if not _SIMPLE.fullmatch(pattern) or portable(pattern) != pattern:
        return None
    return re.search(pattern, name, re.ASCII) is not None


def _read(token: re.Match[str]) -> tuple[str, str]:
    """Give what a token is in ECMA 262, and something in Python that is sound just where it is."""
    text = token[0]
    match token.lastgroup:
        case "foreign" | "open":
            raise _ForeignError(text)
        case "named":
            return f"(?<{token['name']}>", f"(?P<{token['name']}>"
        case "again":
            return f"\\k<{token['of']}>", f"(?P={token['of']})"
        case "behind":
            return text, "(?"  # what may stand behind has to be of one length in Python alone
        case "any":
            return text, "."
        case "class":
            ecma = _ESCAPE.sub(lambda each: _in_class(each)[0], text)
            return ecma, _ESCAPE.sub(lambda each: _in_class(each)[1], text)
        case "escape":
            return (_ENDS[text], _ENDS[text]) if text in _ENDS else _escaped(text)
        case "stray":
            return f"\\{text}", f"\\{text}"
    return text, text


def _in_class(escape: re.Match[str]) -> tuple[str, str]:
    """Read an escape in a class. A dash behind one of many characters begins no range."""
    dash = "\\-" if escape["dash"] else ""
    ecma, python = _escaped(escape["sign"], also="-")
    return ecma + dash, python + dash


def _escaped(text: str, *, also: str = "") -> tuple[str, str]:
    """Read an escape. A character that needs none is given without."""
    sign = text[1]
    if sign.isascii() and sign.isalnum():
        if sign not in _LETTERS:
            raise _ForeignError(text)
        return text, "a" if sign in "pPc" or text.startswith("\\u{") else text
    return (text, text) if sign in _SYNTAX or sign in also else (sign, re.escape(sign))
