r"""Make visible what a text of others hides: control characters, bidirectional controls, invisible characters.

A terminal executes escape sequences, bidirectional controls reorder a text, and a model reads invisible characters that
no person sees. The rule for text of others, which `visible` applies:

- Tabs and line breaks (LF, CR LF) stay. The other C0 controls and DEL become their symbols, such as U+241B for ESC.
- C1 controls, bidirectional controls, and all characters that Unicode ignores by default (zero width, soft hyphen, tag
  characters, variation selectors, fillers) become escapes, such as `\u202e` and `\U000e0041`.
- What writing needs stays: U+FE0E, U+FE0F and U+200D inside of emoji, the three flags of regions with tags, one U+200C
  or U+200D behind a letter of the Arabic, Syriac, N'Ko and Indic scripts, of Tibetan, Myanmar, Khmer and Mongolian, and
  a Mongolian selector behind a Mongolian letter.

The rule is idempotent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_SYMBOL: Final = (
    r"#*0-9\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Characters that an emoji starts with: https://www.unicode.org/Public/UCD/latest/ucd/emoji/emoji-data.txt"""
_JOINED: Final = r"\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18af"
"""Blocks of scripts in which a joiner changes letters."""
_HIDDEN: Final = re.compile(
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
    "\U000e0077\U000e006c\U000e0073)\U000e007f)"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    r"\U00016fe4\U000e0000-\U000e0fff]+"
    r"|\r(?!\n)"
    rf"|[\ufe0e\ufe0f](?<![{_SYMBOL}].)"
    r"|[\u180b-\u180f](?<![\u1820-\u18af].)"
    rf"|\u200d(?<![{_JOINED}].)(?!(?<=[{_SYMBOL}\ufe0f].)[{_SYMBOL}])"
    rf"|\u200c(?<![{_JOINED}].)"
)
_BORDER: Final = re.compile("(?<![\u200d\r\U0001f3f4])[^\u200c\u200d\ufe0e\ufe0f\u180b-\u180f\n\U000e0000-\U000e007f]")
"""A character that does not depend on the one before it."""
_PIECE: Final = 64 * 1024
_MAX_CONTEXT: Final = 64


def visible(text: str) -> str:
    """Return a text of others with what it hides made visible."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(_shown, text)


def visible_json(texts: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of a JSON text of others with what it hides made visible. The text has the same value."""
    return _replaced(texts, _json_escape)


def visible_pieces(texts: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of a text with what it hides made visible. A sequence may be in two pieces."""
    return _replaced(texts, _shown)


def _replaced(texts: Iterable[str], replace: Callable[[re.Match[str]], str]) -> Iterator[str]:
    """Yield the pieces of a text with what it hides replaced, in little memory."""
    pending = ""
    for text in texts:
        for start in range(0, len(text), _PIECE):
            joined = pending + text[start : start + _PIECE]
            match = _BORDER.search(joined, max(1, len(joined) - _MAX_CONTEXT))
            end = match.start() if match else max(0, len(joined) - _MAX_CONTEXT)
            yield _HIDDEN.sub(replace, joined[:end])
            pending = joined[end:]
    yield _HIDDEN.sub(replace, pending)


def visible_value(value: Any) -> Any:
    """Return a JSON value with what its strings and names hide made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_value(item) for item in value]
    if isinstance(value, dict):
        return {visible(name): visible_value(member) for name, member in value.items()}
    return value


def escape_invisible(text: str, *, keep: str) -> str:
    """Return a text with all of its invisible characters, except those in `keep`, as escape sequences of Python.

    It is for names and questions, where a person decides by what he sees: nothing that is invisible alone stays.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if is_visible(character) or character in keep else character.encode("unicode_escape").decode()
        for character in text
    )


def is_visible(character: str) -> bool:
    """Return whether a character is visible whatever stands beside it."""
    return character.isprintable() and not _INVISIBLE.fullmatch(character)


_INVISIBLE: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159"
    r"\U000e0100-\U000e01ef]"
)
"""Characters that `str.isprintable` accepts although they are invisible (`Default_Ignorable_Code_Point`, blanks).

https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt
"""


class _Table(dict[int, str]):
    """A table for `str.translate` that calculates a replacement once. A text of many hidden characters stays fast."""

    def __init__(self, replacement: Callable[[int], str]) -> None:
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        self[code] = replacement = self._replacement(code)
        return replacement


def _symbol(code: int) -> str:
    if code < 0x20 or code == 0x7F:
        return chr(0x2421 if code == 0x7F else 0x2400 + code)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(code: int) -> str:
    return json.dumps(chr(code))[1:-1]


_SYMBOLS: Final = _Table(_symbol)
_JSON_ESCAPES: Final = _Table(_json_escaped)


def _shown(match: re.Match[str]) -> str:
    return match[1] or match[0].translate(_SYMBOLS)


def _json_escape(match: re.Match[str]) -> str:
    return match[1] or match[0].translate(_JSON_ESCAPES)
