"""Translate the library's own regular expressions to JavaScript with the flag `u`."""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r"(\[(?:\\.|[^\]\\])*\])|\\.|\(\?P<|\(\?P=(\w+)\)|[*+?}]\+|\s|#[^\n]*|.", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)
_WORD: Final = r"\p{L}\p{N}_"
_UNICODE: Final = {r"\w": _WORD, r"\d": r"\p{Nd}"}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")


def to_js_pattern(pattern: str, flags: int = 0) -> str:
    r"""Return a pattern, or a balanced piece of one, in JavaScript.

    Possessive quantifiers become greedy ones: the library uses them where the next character cannot match again.
    Without `re.ASCII`, `\w` and `\d` are those of Unicode: `(?<![\w.])` -> `(?<![\p{L}\p{N}_.])`.

    Raises:
        ValueError: a construct that this function does not translate.
    """
    is_ascii, is_verbose = bool(flags & re.ASCII), bool(flags & re.VERBOSE)
    translated = ""
    for token in _PIECE.finditer(pattern):
        text = token[0]
        if token[1]:
            translated += _ESCAPE.sub(lambda escape: _escape(escape[0], in_class=True, is_ascii=is_ascii), text)
        elif text.startswith("\\"):
            translated += _escape(text, in_class=False, is_ascii=is_ascii)
        elif token[2]:
            translated += rf"\k<{token[2]}>"
        elif text == "(?P<":
            translated += "(?<"
        elif len(text) == 2 and text[1] == "+" and text[0] in "*+?}":
            translated += text[0]
        elif not (is_verbose and (text.isspace() or text.startswith("#"))):
            translated += text
    return translated


def js_flags(flags: int) -> str:
    """Return the flags of a JavaScript regular expression.

    Raises:
        ValueError: a flag without an equivalent.
    """
    if flags & re.MULTILINE:
        raise ValueError("re.MULTILINE is not translated")
    return "u" + ("i" if flags & re.IGNORECASE else "") + ("s" if flags & re.DOTALL else "")


def _escape(text: str, *, in_class: bool, is_ascii: bool) -> str:
    char = text[1]
    if text in _UNICODE and not is_ascii:
        return _UNICODE[text] if in_class else f"[{_UNICODE[text]}]"
    if text == r"\b" and not in_class and not is_ascii:
        return f"(?:(?<![{_WORD}])(?=[{_WORD}])|(?<=[{_WORD}])(?![{_WORD}]))"
    if text in {r"\s", r"\S", r"\W", r"\D", r"\B", r"\A", r"\Z"}:
        raise ValueError(f"`{text}` is not translated")
    if char.isalnum() or char in _SYNTAX or (in_class and char == "-"):
        return text
    return char
