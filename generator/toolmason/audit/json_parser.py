"""JSON as people hand it over: read strictly, each failure with its place, and where in the text a value stands."""

from __future__ import annotations

import codecs
import json
import math
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any, Final, NoReturn

from toolmason_runtime.toml.positions import Position
from toolmason_runtime.toml.problems import quoted

from toolmason.schema import pointer_parts

MAX_BYTES: Final = 16 * 1024 * 1024
"""What is read of a file. The lists of real servers have well under one megabyte."""
MAX_DEPTH: Final = 400
"""How deep objects and arrays may nest. Real schemas reach some thirty."""

_MAX_SHOWN_LENGTH: Final = 20
"""Characters of a number that are repeated in a message."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_BOMS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""How files begin that Windows shells write."""


class JsonTextError(ValueError):
    """A text is not JSON that can be used; `place` is where."""

    def __init__(self, message: str, place: Position | None = None) -> None:
        super().__init__(message)
        self.place = place or Position(1, 1)


def decoded(raw: bytes) -> str:
    """Give the text of a file.

    Raises:
        JsonTextError: it is binary, or in an encoding that is neither UTF-8 nor said by a byte order mark.
    """
    encoding = next((name for mark, name in _BOMS.items() if raw.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in raw:
        raise JsonTextError("not JSON: the file is binary")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode(encoding, "replace")
        raise JsonTextError(f"not UTF-8: byte 0x{raw[error.start]:02X}", _place(before, len(before))) from None


def parsed(text: str) -> Any:
    """Give the value of a JSON text.

    Raises:
        JsonTextError: it is no JSON, holds what JSON cannot (`NaN`, a number beyond all bounds), nests too deep, or has
            a key twice in one object, of which readers take one or the other (RFC 8259, section 4).
    """
    if not text.strip():
        raise JsonTextError("not JSON: it is empty")
    _refuse_depth(text)
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unambiguous)
    except json.JSONDecodeError as error:
        raise JsonTextError(f"not JSON: {_worded(error.msg)}", Position(error.lineno, error.colno)) from None
    except _KeyTwiceError:
        raise _told_twice(text) from None
    except ValueError:
        lexeme, offset = _unread_numbers(text)[0]
        shown = lexeme if len(lexeme) <= _MAX_SHOWN_LENGTH else "of so many digits"
        raise JsonTextError(f"JSON has no number {shown}", _place(text, offset)) from None


def _refuse(lexeme: str) -> NoReturn:
    raise ValueError(lexeme)


class _KeyTwiceError(Exception):
    """An object has a key twice; the parser does not say where it stands."""


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _KeyTwiceError
    return found


def _told_twice(text: str) -> JsonTextError:
    """Place the first key of a text that its object has already. Up to there the text is JSON."""
    around: list[set[str] | None] = []  # the keys of each object, none of an array
    last = ""
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme == "{":
            around.append(set())
        elif lexeme == "[":
            around.append(None)
        elif lexeme in {"}", "]"}:
            around.pop()
        elif lexeme[0] == '"' and last in {"{", ","} and (keys := around[-1]) is not None:
            key = json.loads(lexeme)
            if key in keys:
                message = f"the key {quoted(key)} stands twice in one object, and readers differ in which they take"
                return JsonTextError(message, _place(text, match.start()))
            keys.add(key)
        last = lexeme
    raise AssertionError(text)


def _finite(lexeme: str) -> float:
    value = float(lexeme)
    return value if math.isfinite(value) else _refuse(lexeme)


def _unread_numbers(text: str) -> list[tuple[str, int]]:
    """Find the numbers that Python reads and JSON has not, or that it does not read for their length."""
    return [(match[0], match.start()) for match in _TOKEN.finditer(text) if _is_unread(match[0])]


def _is_unread(lexeme: str) -> bool:
    try:
        return not math.isfinite(float(lexeme))
    except ValueError:
        return False


def _refuse_depth(text: str) -> None:
    """Refuse nesting that would be too much for whoever walks the value; the parser itself has no fixed bound."""
    level = 0
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme in {"{", "["}:
            level += 1
            if level > MAX_DEPTH:
                raise JsonTextError(f"nests more than {MAX_DEPTH} levels deep", _place(text, match.start()))
        elif lexeme in {"}", "]"}:
            level -= 1


def _worded(message: str) -> str:
    """Put a message of `json` our way: lower case, the text itself in backticks."""
    named = re.sub(r"'([^']+)'", r"`\1`", message)
    return named[0].lower() + named[1:]


def _place(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


class _Wanted:
    """A value that is looked for, or one around it; `offset` is where it was found."""

    __slots__ = ("inside", "offset")

    def __init__(self) -> None:
        self.inside: dict[str, _Wanted] = {}
        self.offset = 0


def places(text: str, pointers: Collection[str]) -> dict[str, Position]:
    """Place the values that JSON Pointers lead to in an accepted text: at their key, or in an array at themselves.

    What is not there stands where the nearest value around it does.
    """
    root = _Wanted()
    for pointer in pointers:
        wanted = root
        for part in pointer_parts(pointer):
            wanted = wanted.inside.setdefault(part, _Wanted())
    _find(text, root)
    starts = _line_starts(text)
    return {pointer: _placed(starts, _offset(root, pointer_parts(pointer))) for pointer in pointers}


def _find(text: str, root: _Wanted) -> None:
    """Walk the text once and note where each wanted value stands."""
    around: list[tuple[_Wanted | None, int]] = []
    at: _Wanted | None = root
    is_key = False
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme in {"{", "["}:
            _note(at, match.start())
            around.append((at, -1 if lexeme == "{" else 0))
            is_key = lexeme == "{"
            at = None if is_key else _inside(at, "0")
        elif lexeme in {"}", "]"}:
            at, _ = around.pop()
            is_key = False
        elif lexeme == ",":
            parent, index = around[-1]
            if index == -1:
                is_key = True
            else:
                around[-1] = (parent, index + 1)
                at = _inside(parent, str(index + 1))
        elif is_key:
            at = _inside(around[-1][0], json.loads(lexeme))
            _note(at, match.start())
            is_key = False
        elif lexeme != ":":
            _note(at, match.start())


def _inside(wanted: _Wanted | None, part: str) -> _Wanted | None:
    return wanted.inside.get(part) if wanted else None


def _note(wanted: _Wanted | None, offset: int) -> None:
    if wanted and not wanted.offset:
        wanted.offset = offset


def _offset(root: _Wanted, parts: Sequence[str]) -> int:
    wanted, offset = root, root.offset
    for part in parts:
        wanted = wanted.inside[part]
        offset = wanted.offset or offset
    return offset


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _placed(starts: Sequence[int], offset: int) -> Position:
    line = bisect_right(starts, offset)
    return Position(line, offset - starts[line - 1] + 1)
