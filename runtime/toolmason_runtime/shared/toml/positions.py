"""Find the line and column of each key and value in TOML text, which `tomllib` does not report.

The scanner expects text that `tomllib` accepts, so it searches without validating. It scans other text up to the first
part that is not TOML, which is enough to find both positions of a duplicate key. It never recurses and never fails.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

KeyPath = tuple[str | int, ...]
"""Keys from the root of a document, with an int for an array index: `("tools", "grep", "examples", 0)`."""
MAX_KEY_PARTS = 64
"""Maximum parts of a dotted key and of a recorded key path. Memory grows with the square of the length."""

_GAP = re.compile(r"(?:[\s,]++|#[^\n]*+)*+")
_BLANK = re.compile(r"[ \t]*+")
KEY: Final = re.compile(r""" (?<!\\)"(?:[^"\\\n]++|\\.)*+" | '[^'\n]*+' | [A-Za-z0-9_-]++ """, re.VERBOSE)
"""One part of a dotted key."""
SCALAR: Final = re.compile(
    r'''
      (?<!\\)""" (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ "{3,5}
    | \'\'\' (?:[^']++ | '{1,2}(?!'))*+ '{3,5}
    | (?<!\\)" (?:[^"\\\n]++ | \\.)*+ "
    | ' [^'\n]*+ '
    | [^\s,\[\]{}\#"']++ (?:[ ]\d[^\s,\]}\#]*+)?   # a date and its time may have a space between them
    ''',
    re.VERBOSE | re.DOTALL,
)
"""A value that is neither an array nor an inline table."""


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Position(NamedTuple):
    """A 1-based line and column, in characters."""

    line: int = 1
    column: int = 1


START = Position()


class KeyPosition(NamedTuple):
    """The position of a key and of its value. The value of a header starts at its bracket."""

    key: Position
    value: Position


class KeyOccurrence(NamedTuple):
    """One occurrence of a key path in the text, with the offsets of key and value.

    `is_explicit` is false for `a` in `a.b = 1` and `[a.b]`. `statement` counts headers and pairs.
    """

    path: KeyPath
    key: int
    value: int
    is_explicit: bool
    statement: int


def key_positions(text: str) -> Mapping[KeyPath, KeyPosition]:
    """Return the position of every key and array item of `text`, whose lines end in LF or CRLF.

    The position of a table is its own header, otherwise its first occurrence; that of an array item is its value.
    """
    first: dict[KeyPath, KeyOccurrence] = {}
    for occurrence in scan_keys(text):
        known = first.get(occurrence.path)
        if known is None or (occurrence.is_explicit and not known.is_explicit):
            first[occurrence.path] = occurrence
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(offset: int) -> Position:
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    return {path: KeyPosition(position(key), position(value)) for path, key, value, *_ in first.values()}


def scan_keys(text: str) -> tuple[KeyOccurrence, ...]:
    """Return every occurrence of a key path in text order, up to the first part that is not TOML."""
    scanner = _Scanner(text)
    scanner.run()
    return tuple(scanner.occurrences)


def dotted(path: KeyPath) -> str:
    """Return `path` in TOML syntax: `tools.grep.examples[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
            text += f".{name}" if text else name
    return text


def find_long_key(text: str) -> int | None:
    """Return the offset of the first dotted key with more than `MAX_KEY_PARTS` parts; None if there is none.

    The time of `tomllib`, and of this scanner, grows with the square of the number of parts.
    """
    if max(line.count(".") for line in text.split("\n")) < MAX_KEY_PARTS:
        return None
    scanner = _Scanner(text)
    scanner.run()
    return scanner.long_key


class _UnparsableError(Exception):
    """The text is not TOML from here on."""


@dataclass(slots=True)
class _OpenContainer:
    """An array or inline table that is not closed yet. `count` is the number of items so far."""

    path: KeyPath
    is_array: bool
    count: int = 0


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    statement: int = 0
    occurrences: list[KeyOccurrence] = field(default_factory=list)
    array_table_counts: dict[KeyPath, int] = field(default_factory=dict)
    """Number of `[[path]]` headers so far, by path."""
    long_key: int | None = None
    """The offset of a key with more than `MAX_KEY_PARTS` parts, where the scan ends."""

    def run(self) -> None:
        table: KeyPath = ()
        try:
            while self.skip(_GAP) < len(self.text):
                self.statement += 1
                if self.peek() == "[":
                    table = self.header()
                else:
                    self.values(self.pair(table))
        except _UnparsableError:
            return

    def header(self) -> KeyPath:
        """Consume `[a.b]` or `[[a.b]]` and return the path of its table."""
        start = self.at
        bracket = "]]" if self.text.startswith("[[", start) else "]"
        self.at += len(bracket)
        *parents, (last, offset) = self.parts()
        self.expect(bracket)
        path: KeyPath = ()
        for part, at in parents:
            path = (*path, part)
            self.note(path, at, at, is_explicit=False)
            if path in self.array_table_counts:
                path = (*path, self.array_table_counts[path] - 1)
        path = (*path, last)
        if bracket == "]":
            self.note(path, offset, start)
            return path
        row = self.array_table_counts.get(path, 0)
        self.array_table_counts[path] = row + 1
        self.note(path, offset, start, is_explicit=row == 0)
        self.note((*path, row), offset, start)
        return (*path, row)

    def pair(self, table: KeyPath) -> KeyPath:
        """Consume `a.b =` up to the value and return the path."""
        *parents, (last, offset) = self.parts()
        self.expect("=")
        value = self.skip(_BLANK)
        path = table
        for part, at in parents:
            path = _below(path, part)
            self.note(path, at, at, is_explicit=False)
        path = _below(path, last)
        self.note(path, offset, value)
        return path

    def values(self, path: KeyPath) -> None:
        """Consume the value of `path`, including nested values."""
        unfinished: list[_OpenContainer] = []
        while True:
            if (char := self.peek()) in ("[", "{"):
                unfinished.append(_OpenContainer(path, char == "["))
                self.at += 1
            else:
                self.take(SCALAR)
            while unfinished and self.skip(_GAP) < len(self.text) and self.peek() in "]}":
                unfinished.pop()
                self.at += 1
            if not unfinished:
                return
            top = unfinished[-1]
            if top.is_array:
                path = _below(top.path, top.count)
                top.count += 1
                self.note(path, self.at, self.at)
            else:
                path = self.pair(top.path)

    def parts(self) -> list[tuple[str, int]]:
        """Consume a dotted key and return its parts, each with its offset."""
        parts: list[tuple[str, int]] = []
        while True:
            start = self.skip(_BLANK)
            parts.append((unquoted(self.take(KEY)), start))
            self.skip(_BLANK)
            if self.peek() != ".":
                return parts
            if len(parts) == MAX_KEY_PARTS:
                self.long_key = parts[0][1]
                raise _UnparsableError
            self.at += 1

    def note(self, path: KeyPath, key: int, value: int, *, is_explicit: bool = True) -> None:
        if len(path) <= MAX_KEY_PARTS:
            self.occurrences.append(KeyOccurrence(path, key, value, is_explicit, self.statement))

    def peek(self) -> str:
        """Return the next character, or the empty string at the end."""
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> int:
        """Consume an optional match of `pattern` and return the offset after it."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def take(self, pattern: re.Pattern[str]) -> str:
        """Consume a match of `pattern` and return it."""
        if not (match := pattern.match(self.text, self.at)):
            raise _UnparsableError
        self.at = match.end()
        return match[0]

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise _UnparsableError
        self.at += len(mark)


def _below(path: KeyPath, part: str | int) -> KeyPath:
    """Return the path of an item. A path that is too long to be recorded does not grow any further."""
    return (*path, part) if len(path) <= MAX_KEY_PARTS else path


def unquoted(raw: str) -> str:
    """Return one part of a key without its quotes and escapes."""
    if raw[0] not in "\"'":
        return raw
    if raw[0] == "'" or "\\" not in raw:
        return raw[1:-1]
    import tomllib  # servers without a policy file never need it

    try:
        return str(tomllib.loads(f"key = {raw}")["key"])
    except tomllib.TOMLDecodeError as error:
        raise _UnparsableError from error
