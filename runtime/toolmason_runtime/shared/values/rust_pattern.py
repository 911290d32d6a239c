r"""Translate regular expressions from Python's dialect to Rust's `regex`, if both mean the same.

Only constructs with the same meaning are translated. Look-around, backreferences, inline flags, possessive repeats,
`\B` and octal escapes are not. A lazy repeat becomes a greedy one: the result is only whether a text matches.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_ESCAPE: Final = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)"
_TOKEN: Final = re.compile(
    rf"""
      (?P<class>   \[\^?+\]?+(?:\\.|[^\]\\])*+\] )   # `[^a-z\\d]`; `]` is literal at the start
    | (?P<escape>  {_ESCAPE} )
    | (?P<repeat>  (?:[*+?]|\{{(?!\}})(?P<minimum>\d*+)(?P<comma>,)?+(?P<maximum>\d*+)\}})(?P<mode>[?+]?) )
    | (?P<open>    \((?:\?:|\?P<(?P<name>[A-Za-z_]\w*)>|(?!\?)) )
    | (?P<close>   \) )
    | (?P<or>      \| )
    | (?P<start>   \^ )
    | (?P<end>     \$ )
    | (?P<any>     \. )
    | (?P<literal> [^\\()\[] )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_MEMBER: Final = re.compile(rf"{_ESCAPE}|.", re.DOTALL)
"""One character or escape inside of a class: `a`, `\\d`, `-`."""
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SURROGATES: Final = range(0xD800, 0xE000)

_AGE: Final = rf"&&\p{{age={unicodedata.unidata_version.rpartition('.')[0]}}}"
"""Excludes characters newer than Python's Unicode tables; an engine with older tables rejects it."""
_CLASSES: Final = {
    False: {"d": rf"\p{{Nd}}{_AGE}", "w": rf"[\p{{L}}\p{{N}}_]{_AGE}", "s": r"\s\x1c-\x1f"},
    True: {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t-\r\x1c-\x20"},
}
"""The members of character classes by `is_ascii`: for any text, and for ASCII text."""


class UntranslatableError(ValueError):
    """The pattern is invalid, or may mean something else in Rust's dialect."""


@dataclass(frozen=True, slots=True)
class RustPattern:
    """A pattern in Rust's dialect. `size` is its number of characters and classes, with repeats expanded."""

    text: str
    size: int


@dataclass(slots=True)
class _Group:
    """A group under translation. `is_ended`: `$` was the last token of the current alternative."""

    size: int = 0
    is_ended: bool = False
    has_end: bool = False


def translate(pattern: str, *, is_ascii: bool) -> RustPattern:
    r"""Return a pattern that matches the same texts, or with `is_ascii` the same ASCII texts.

    `$` also matches before a final newline in Python and does not in Rust: `^a$` becomes `\Aa(?:\n?\z)`. This is equal
    only if nothing follows the `$`.

    Raises:
        UntranslatableError: no equal pattern is known.
    """
    return _Translator(pattern, is_ascii=is_ascii).translate()


class _Translator:
    """Translates one pattern, token by token."""

    def __init__(self, pattern: str, *, is_ascii: bool) -> None:
        self._pattern = pattern
        self._is_ascii = is_ascii
        self._groups = [_Group()]
        self._names: set[str] = set()
        self._last_size = 0
        """Size of the preceding atom or group; 0 if a repeat is not allowed here."""

    def translate(self) -> RustPattern:
        parts = []
        position = 0
        while position < len(self._pattern):
            token = _TOKEN.match(self._pattern, position)
            if token is None:
                raise UntranslatableError(self._pattern)
            parts.append(self._translate_token(token))
            position = token.end()
        if len(self._groups) > 1:
            raise UntranslatableError(self._pattern)
        return RustPattern("".join(parts), self._groups[0].size)

    def _translate_token(self, token: re.Match[str]) -> str:
        group, kind = self._groups[-1], token.lastgroup
        if group.is_ended and kind not in {"close", "or"}:
            raise UntranslatableError(self._pattern)
        if kind == "repeat":
            return self._translate_repeat(token)
        self._last_size = 0
        match kind:
            case "open":
                return self._open(token["name"])
            case "close":
                return self._close()
            case "or":
                group.has_end |= group.is_ended
                group.is_ended = False
                return "|"
            case "end":
                group.is_ended = True
                return r"(?:\n?\z)"
            case "start" | "escape" if anchor := self._anchor(token[0]):
                return anchor
        self._last_size = 1
        group.size += 1
        return self._atom(token)

    def _open(self, name: str | None) -> str:
        if name in self._names:
            raise UntranslatableError(self._pattern)
        self._names |= {name} if name else set()
        self._groups.append(_Group())
        return "(?:"

    def _close(self) -> str:
        if len(self._groups) == 1:
            raise UntranslatableError(self._pattern)
        closed = self._groups.pop()
        group = self._groups[-1]
        group.size += closed.size
        group.is_ended = closed.is_ended or closed.has_end
        self._last_size = max(closed.size, 1)
        return ")"

    def _translate_repeat(self, token: re.Match[str]) -> str:
        if not self._last_size or token["mode"] == "+":
            raise UntranslatableError(self._pattern)
        repeat, times = _repeat(token)
        self._groups[-1].size += self._last_size * (times - 1)
        self._last_size = 0
        return repeat

    def _anchor(self, text: str) -> str:
        """Return the translation of an anchor; empty for any other token."""
        if text == r"\b" and self._is_ascii:
            return r"(?-u:\b)"
        return {"^": r"\A", r"\A": r"\A", r"\Z": r"\z"}.get(text, "")

    def _atom(self, token: re.Match[str]) -> str:
        """Return the translation of a token that matches one character."""
        match token.lastgroup:
            case "any":
                return r"[^\n]"
            case "class":
                return _class(token[0], is_ascii=self._is_ascii)
        return _class_members(token[0], is_ascii=self._is_ascii) or _format_code(_code(token[0]))


def _repeat(token: re.Match[str]) -> tuple[str, int]:
    """Return a repeat in Rust's dialect, and the number of copies that the engine compiles."""
    if token[0][0] in "*+?":
        return token[0][0], 1
    minimum = int(token["minimum"] or 0)
    if not token["comma"]:
        return f"{{{minimum}}}", max(minimum, 1)
    if not token["maximum"]:
        return f"{{{minimum},}}", max(minimum, 1)
    maximum = int(token["maximum"])
    if maximum < minimum:
        raise UntranslatableError(token[0])
    return f"{{{minimum},{maximum}}}", max(maximum, 1)


def _class(text: str, *, is_ascii: bool) -> str:
    """Translate a character class: `[...]`."""
    negation = "^" if text.startswith("[^") else ""
    members = _MEMBER.findall(text[1 + len(negation) : -1])
    parts = []
    index = 0
    while index < len(members):
        member = members[index]
        if members[index + 1 : index + 2] == ["-"] and index + 2 < len(members):
            low, high = _code_in_class(member), _code_in_class(members[index + 2])
            if low > high:
                raise UntranslatableError(text)
            parts.append(f"{_format_code(low)}-{_format_code(high)}")
            index += 3
        else:
            parts.append(_class_members(member, is_ascii=is_ascii) or _format_code(_code_in_class(member)))
            index += 1
    return f"[{negation}{''.join(parts)}]"


def _class_members(escape: str, *, is_ascii: bool) -> str:
    r"""Return a class for `\d`, `\W` and so on; empty for anything else."""
    if len(escape) != 2 or escape[0] != "\\" or escape[1] not in "dDsSwW":
        return ""
    negation = "^" if escape[1].isupper() else ""
    return f"[{negation}{_CLASSES[is_ascii][escape[1].lower()]}]"


def _code_in_class(member: str) -> int:
    return 8 if member == r"\b" else _code(member)


def _code(text: str) -> int:
    """Return the code point of `text`, a character or an escape."""
    if len(text) == 1:
        return ord(text)
    sign = text[1]
    if sign in "xuU" and len(text) > 2:
        return int(text[2:], 16)  # noqa: FURB166  there is a backslash before the `x`
    if sign in _CONTROLS:
        return _CONTROLS[sign]
    if sign.isascii() and sign.isalnum():
        raise UntranslatableError(text)
    return ord(sign)


def _format_code(code: int) -> str:
    if code in _SURROGATES or code > 0x10FFFF:
        raise UntranslatableError(hex(code))
    text = chr(code)
    return text if text.isascii() and text.isalnum() else f"\\x{{{code:x}}}"
