"""Parse TOML, and explain the position and the usual cause of an error."""

from __future__ import annotations

import codecs
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import (
    MAX_KEY_PARTS,
    START,
    KeyOccurrence,
    KeyPath,
    KeyPosition,
    Position,
    find_long_key,
    key_positions,
    scan_keys,
)
from toolmason_runtime.shared.toml.problems import Kind, Problem, quoted, table_name, within

Loads = Callable[[str], dict[str, Any]]

MAX_PARSER_CALLS: Final = 4_000
"""Maximum number of nested calls of `tomllib`, a few for each level. They use no stack of the machine."""

_AT_LINE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")
_AT_END: Final = " (at end of document)"
_DUPLICATE_KEY_ERRORS: Final = (
    *("Cannot declare", "Cannot overwrite", "Cannot mutate", "Cannot redefine"),
    "Duplicate inline table key",
)
"""The first words of the messages of `tomllib` for a duplicate key."""
_TOKEN: Final = re.compile(
    r'(?<!\\)"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}|\'\'\'(?:[^\']++|\'{1,2}(?!\'))*+\'{3,5}'
    r'|(?<!\\)"(?:[^"\\\n]++|\\.)*+"|\'[^\'\n]*+\'|#[^\n]*+|[\[\]{}]|[0-9][0-9_]*+',
    re.DOTALL,
)
"""Strings and comments, which are skipped, brackets and digits."""
_SYNTAX_HINTS: Final = {
    "Expected newline": "write one `key = value` a line",
    "Expected '='": "a key is followed by `=` and its value; a key with spaces needs quotes",
    "Expected ']'": "close the header with `]`",
    "Invalid statement": "a line is `key = value`, a `[table]`, or a comment that starts with `#`",
    "Invalid initial character": "use letters, digits, `_` and `-` in a key, or put it in quotes",
    "Unclosed array": "close it with `]`; items have commas between them",
    "Unclosed inline table": "close it with `}`, on the same line",
    "Unescaped '\\'": "write `\\\\`, or put the text in single quotes",
    "Unterminated string": "close the string with the quotes it started with",
    'Expected "\'"': "close the string on its line, or start it with `'''`",
    "Illegal character '\\n'": 'close the string on its line, or start it with `"""`',
}
"""Hint by the first words of the message of `tomllib`."""


# No slots: `cached_property` needs a dictionary.
@dataclass(frozen=True, eq=False, kw_only=True)
class TomlDocument:
    """TOML text with LF line ends, its data, and the positions of its keys, computed for the first problem."""

    text: str
    data: Mapping[str, Any]

    @cached_property
    def _positions(self) -> Mapping[KeyPath, KeyPosition]:
        return key_positions(self.text)

    def position(self, path: KeyPath, *, value: bool = False) -> Position:
        """Return the position of the key at `path`, or of its value; that of the table around a missing key."""
        for length in range(len(path), 0, -1):
            if known := self._positions.get(path[:length]):
                return known.value if value and length == len(path) else known.key
        return START

    def known_parts(self, path: KeyPath) -> int:
        """Return the number of leading parts of `path` that are in the text."""
        return next((length for length in range(len(path), 0, -1) if path[:length] in self._positions), 0)


def parse_toml(raw: bytes, loads: Loads = tomllib.loads) -> TomlDocument | Problem:
    """Parse the content of a TOML file. `loads` has the results and errors of `tomllib.loads`."""
    text = _decode(raw)
    if isinstance(text, Problem):
        return text
    data = _parse(text, loads)
    return data if isinstance(data, Problem) else TomlDocument(text=text, data=data)


def _decode(raw: bytes) -> str | Problem:
    if raw.startswith(codecs.BOM_UTF8):
        message = "the file starts with a byte order mark"
        return Problem(kind=Kind.BYTE_ORDER_MARK, message=message, hint="save it as UTF-8 without BOM")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        message = f"not UTF-8: byte 0x{raw[error.start]:02X} at offset {error.start}"
        is_utf_16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        hint = "save it as UTF-8; it looks like UTF-16" if is_utf_16 else "save it as UTF-8"
        return Problem(kind=Kind.ENCODING, message=message, hint=hint, position=_position(before, len(before)))


def _parse(text: str, loads: Loads) -> dict[str, Any] | Problem:
    if (offset := find_long_key(text)) is not None:
        message = f"a key has more than {MAX_KEY_PARTS} parts"
        return Problem(kind=Kind.NESTING, message=message, hint="flatten the tables", position=_position(text, offset))
    try:
        return _parse_deep(text, loads)
    except tomllib.TOMLDecodeError as error:
        message, position = _split_position(str(error), text)
        if message.startswith(_DUPLICATE_KEY_ERRORS):
            return _duplicate_key(text, position)
        hint = _syntax_hint(message, text, position)
        return Problem(kind=Kind.SYNTAX, message=f"not TOML: {_reword(message)}", hint=hint, position=position)
    except RecursionError:
        message = "arrays or tables nest too deeply"
        return Problem(kind=Kind.NESTING, message=message, hint="flatten them", position=_deepest_bracket(text))
    except ValueError:  # only int() of very many digits is left
        hint = "TOML's integers have 64 bits"
        position = _longest_number(text)
        return Problem(kind=Kind.DIGITS, message="a number has too many digits", hint=hint, position=position)


def _parse_deep(text: str, loads: Loads) -> dict[str, Any]:
    """Parse text that nests deeper than the recursion limit: the reader knows the key and reports it better."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, MAX_PARSER_CALLS))
    try:
        return loads(text)
    finally:
        sys.setrecursionlimit(usual)


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _split_position(message: str, text: str) -> tuple[str, Position]:
    """Split the position off a message of `tomllib`, whose errors have attributes for it only from Python 3.14."""
    if match := _AT_LINE.search(message):
        return message[: match.start()], Position(int(match[1]), int(match[2]))
    return message.removesuffix(_AT_END), _position(text, len(text.rstrip()))


def _reword(message: str) -> str:
    """Return a message of `tomllib` in our form: lower case, the author's text in backticks."""
    if message in (r"Illegal character '\n'", 'Expected "\'"'):
        return "a string does not end on its line"
    if message == "Expected \"'''\"":
        return "a string does not end"
    named = re.sub(r"(?<!\\)'((?:[^'\\]++|\\.)++)'", r"`\1`", message)
    return named[0].lower() + named[1:]


def _syntax_hint(message: str, text: str, position: Position) -> str:
    """Return the hint for a usual mistake, otherwise the empty string."""
    rest = text.split("\n", position.line)[position.line - 1][position.column - 1 :]
    if message.startswith("Invalid value"):
        if not rest:
            return "a value is missing here"
        if re.match(r"(?:null|nil|None|undefined)\b", rest):
            return "TOML has no null: leave the key out"
        if re.match(r"(?:True|False|TRUE|FALSE)\b", rest):
            return "write `true` or `false`"
        return "put text in quotes"
    return next((hint for start, hint in _SYNTAX_HINTS.items() if message.startswith(start)), "")


def _duplicate_key(text: str, end: Position) -> Problem:
    """Report a duplicate key at its second position, with the first in the hint. `tomllib` stopped at `end`."""
    pair = _find_duplicate_key(scan_keys("\n".join(text.split("\n", end.line)[: end.line])))
    if pair is None:  # pragma: no cover  # tomllib and the scanner would have to disagree
        return Problem(kind=Kind.DUPLICATE_KEY, message="a key is given twice", position=end)
    first, second = pair
    line, column = _position(text, first.key)
    *table, key = second.path
    is_header = text[second.value : second.value + 1] == "[" and second.value < second.key
    name = table_name(second.path) if is_header else f"{quoted(str(key))} {within(tuple(table))}"
    return Problem(
        kind=Kind.DUPLICATE_KEY,
        message=f"{name} is given twice",
        hint=f"the first is in line {line}, column {column}: keep one",
        position=_position(text, second.key),
        path=second.path,
    )


def _find_duplicate_key(occurrences: tuple[KeyOccurrence, ...]) -> tuple[KeyOccurrence, KeyOccurrence] | None:
    """Return the first and second occurrence of a key of the last statement; explicit keys go before their parents."""
    first_of = {occurrence.path: occurrence for occurrence in reversed(occurrences)}
    last = occurrences[-1].statement if occurrences else 0
    latest = [occurrence for occurrence in occurrences if occurrence.statement == last]
    explicit = [occurrence for occurrence in latest if occurrence.is_explicit]
    implicit = [occurrence for occurrence in latest if not occurrence.is_explicit]
    for second in (*explicit, *reversed(implicit)):
        first = first_of[second.path]
        if first.key < second.key:
            return first, second
    return None  # pragma: no cover  # see the caller


def _deepest_bracket(text: str) -> Position:
    """Return the position of the bracket that opens the deepest array or table."""
    depth = deepest = offset = 0
    for match in _TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > deepest:
                deepest, offset = depth, match.start()
        elif match[0] in "]}":
            depth -= 1
    return _position(text, offset)


def _longest_number(text: str) -> Position:
    """Return the position of the number with the most digits."""
    numbers = (match for match in _TOKEN.finditer(text) if match[0][0].isdigit())
    longest = max(numbers, key=lambda match: len(match[0]), default=None)
    return _position(text, longest.start() if longest else 0)
