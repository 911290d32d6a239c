"""Parse JSON strictly and find the line and column of values."""

from __future__ import annotations

import codecs
import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any, Final, NoReturn

from toolmason_runtime.shared.toml.positions import Position
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.schema import json_pointer

MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a file. Tool lists of real servers are far below one megabyte."""
MAX_DEPTH: Final = 400
"""Maximum nesting of objects and arrays. Real schemas have up to about 30 levels."""

# A string, a punctuation mark, or a number or literal. Possessive quantifiers keep it linear.
_TOKEN: Final = re.compile(r'(?<!\\)"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
# Windows shells write these byte order marks.
_BOMS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class JsonError(ValueError):
    """A text is not acceptable JSON. `place` is None if the position is unknown."""

    def __init__(self, message: str, place: Position | None = None) -> None:
        super().__init__(message)
        self.place = place


class _DuplicateKeyError(Exception):
    """An object has a key twice. The argument is the key."""


def decode(raw: bytes) -> str:
    """Decode UTF-8, or the encoding of a byte order mark.

    Raises:
        JsonError: the bytes are invalid in that encoding.
    """
    encoding = next((name for mark, name in _BOMS.items() if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode(encoding, "replace")
        raise JsonError(f"not UTF-8: byte 0x{raw[error.start]:02X}", _place(before, len(before))) from None


def parse(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        JsonError: it is not JSON, contains `NaN` or a number out of range, is nested deeper than `MAX_DEPTH`, or an
            object has a key twice: parsers disagree about the value (RFC 8259, section 4).
    """
    try:
        value = json.loads(
            text, parse_constant=_reject_number, parse_float=_parse_float, object_pairs_hook=_reject_duplicate_keys
        )
    except json.JSONDecodeError as error:
        message = re.sub(r"'([^']+)'", r"`\1`", error.msg)
        raise JsonError(f"not JSON: {message[0].lower()}{message[1:]}", Position(error.lineno, error.colno)) from None
    except _DuplicateKeyError as error:
        message = f"duplicate key {quoted(error.args[0])} in one object; JSON parsers disagree about which value wins"
        raise JsonError(message, _place(text, _duplicate_offset(text))) from None
    except RecursionError:
        raise _too_deep() from None
    except JsonError:
        raise
    except ValueError:  # int() limits the number of digits
        raise JsonError("a number has too many digits") from None
    if _is_too_deep(value):
        raise _too_deep()
    return value


class JsonPositions:
    """Positions of the values in a valid JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def place(self, pointer: str) -> Position:
        """Return the place of the value at a JSON Pointer: its key, or in an array the value itself.

        For a missing value it is the place of the nearest parent.
        """
        while pointer and pointer not in self._offsets:
            pointer = pointer.rpartition("/")[0]
        offset = self._offsets[pointer]
        lines = bisect_left(self._line_ends, offset)
        return Position(lines + 1, offset - (self._line_ends[lines - 1] if lines else -1))

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    @cached_property
    def _offsets(self) -> dict[str, int]:
        return dict(_walk(self._text))


def _walk(text: str) -> Iterator[tuple[str, int]]:
    """Yield the pointer and offset of each value: for `{"a": [1]}` those of "", "/a" and "/a/0"."""
    containers: list[tuple[str, Iterator[int] | None]] = []  # pointers; arrays have a counter of their items
    pointer = previous = ""
    for match in _TOKEN.finditer(text):
        lexeme, before, previous = match[0], previous, match[0]
        if lexeme in {"}", "]"}:
            containers.pop()
        elif lexeme not in {",", ":"}:
            if before != ":":  # a key, an item, or the root
                if containers:
                    parent, indices = containers[-1]
                    pointer = parent + json_pointer((next(indices) if indices else json.loads(lexeme),))
                yield pointer, match.start()
            if lexeme in {"{", "["}:
                containers.append((pointer, None if lexeme == "{" else count()))


def _duplicate_offset(text: str) -> int:
    """Return the offset of the first duplicate key. The text before it is valid JSON."""
    seen: set[str] = set()
    for pointer, offset in _walk(text):
        if pointer in seen:
            return offset
        seen.add(pointer)
    raise AssertionError(text)


def _reject_number(lexeme: str) -> NoReturn:
    raise JsonError(f"{quoted(lexeme)} is not a JSON number")


def _parse_float(lexeme: str) -> float:
    value = float(lexeme)
    return value if math.isfinite(value) else _reject_number(lexeme)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _DuplicateKeyError(key)
        result[key] = value
    return result


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ())
        ]
        if not level:
            return False
    return True


def _too_deep() -> JsonError:
    return JsonError(f"nested deeper than {MAX_DEPTH} levels")


def _place(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
