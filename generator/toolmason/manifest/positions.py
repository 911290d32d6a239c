"""Where each key and value of a TOML document stands: what `tomllib` knows and does not tell.

A pass over text that `tomllib` has accepted, so it need not judge, only find. On other text it goes as far as it can
make sense of it, which is how both places of a duplicate key are found. It never recurses and never fails.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from toolmason.diagnostics.key_path import KeyPath

MAX_PARTS = 64
"""Longest key path that is noted. A key of ten thousand parts would otherwise cost the square of that in memory."""

_GAP = re.compile(r"(?:[\s,]++|#[^\n]*+)*+")
_BLANK = re.compile(r"[ \t]*+")
_KEY = re.compile(r""" "(?:[^"\\\n]++|\\.)*+" | '[^'\n]*+' | [A-Za-z0-9_-]++ """, re.VERBOSE)
_SCALAR = re.compile(
    r'''
      """ (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ "{3,5}
    | \'\'\' (?:[^']++ | '{1,2}(?!'))*+ '{3,5}
    | " (?:[^"\\\n]++ | \\.)*+ "
    | ' [^'\n]*+ '
    | [^\s,\[\]{}\#"']++ (?:[ ]\d[^\s,\]}\#]*+)?   # a date and its time may have a space between them
    ''',
    re.VERBOSE | re.DOTALL,
)


class Place(NamedTuple):
    """1-based line and column, in characters."""

    line: int
    column: int


class Span(NamedTuple):
    """Where a key is written, and where its value starts. A header's value starts at its bracket."""

    key: Place
    value: Place


class Mention(NamedTuple):
    """One time that a key path is written, with the offsets of key and value.

    `own` is false for the parents that a dotted key mentions in passing. `statement` counts headers and pairs.
    """

    path: KeyPath
    key: int
    value: int
    own: bool
    statement: int


def key_spans(text: str) -> Mapping[KeyPath, Span]:
    """Find every key and every array item of `text`; lines end in LF or CRLF.

    A table is placed at its own header if it has one, else where it is first mentioned; an array's item at its value.
    """
    best: dict[KeyPath, Mention] = {}
    for mention in mentions(text):
        known = best.get(mention.path)
        if known is None or (mention.own and not known.own):
            best[mention.path] = mention
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(offset: int) -> Place:
        line = bisect_right(starts, offset)
        return Place(line, offset - starts[line - 1] + 1)

    return {path: Span(place(mention.key), place(mention.value)) for path, mention in best.items()}


def mentions(text: str) -> tuple[Mention, ...]:
    """List every mention of a key path, in the order of `text`, up to where it stops being TOML."""
    scanner = _Scanner(text)
    scanner.run()
    return tuple(scanner.found)


class _LostError(Exception):
    """The text is no TOML from here on."""


@dataclass(slots=True)
class _Open:
    """An array or inline table whose end has not come yet. `count` is the number of items so far."""

    path: KeyPath
    is_array: bool
    count: int = 0


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    statement: int = 0
    found: list[Mention] = field(default_factory=list)
    rows: dict[KeyPath, int] = field(default_factory=dict)
    """How many times `[[path]]` has stood so far."""

    def run(self) -> None:
        table: KeyPath = ()
        try:
            while self.skip(_GAP) < len(self.text):
                self.statement += 1
                if self.peek() == "[":
                    table = self.header()
                else:
                    self.values(self.pair(table))
        except _LostError:
            return

    def header(self) -> KeyPath:
        """Pass `[a.b]` or `[[a.b]]` and give the path of the table it opens."""
        start = self.at
        bracket = "]]" if self.text.startswith("[[", start) else "]"
        self.at += len(bracket)
        *parents, (last, offset) = self.parts()
        self.expect(bracket)
        path: KeyPath = ()
        for part, place in parents:
            path = (*path, part)
            self.note(path, place, place, own=False)
            if path in self.rows:
                path = (*path, self.rows[path] - 1)
        path = (*path, last)
        if bracket == "]":
            self.note(path, offset, start)
            return path
        row = self.rows.get(path, 0)
        self.rows[path] = row + 1
        self.note(path, offset, start, own=row == 0)
        self.note((*path, row), offset, start)
        return (*path, row)

    def pair(self, table: KeyPath) -> KeyPath:
        """Pass `a.b =` up to its value and give its path."""
        *parents, (last, offset) = self.parts()
        self.expect("=")
        value = self.skip(_BLANK)
        path = table
        for part, place in parents:
            path = (*path, part)
            self.note(path, place, place, own=False)
        path = (*path, last)
        self.note(path, offset, value)
        return path

    def values(self, path: KeyPath) -> None:
        """Pass the value of `path`, with all that stands in it."""
        unfinished: list[_Open] = []
        while True:
            if (char := self.peek()) in ("[", "{"):
                unfinished.append(_Open(path, char == "["))
                self.at += 1
            else:
                self.take(_SCALAR)
            while unfinished and self.skip(_GAP) < len(self.text) and self.peek() in "]}":
                unfinished.pop()
                self.at += 1
            if not unfinished:
                return
            top = unfinished[-1]
            if top.is_array:
                path = (*top.path, top.count)
                top.count += 1
                self.note(path, self.at, self.at)
            else:
                path = self.pair(top.path)

    def parts(self) -> list[tuple[str, int]]:
        """Pass a dotted key and give its parts, each with its offset."""
        found: list[tuple[str, int]] = []
        while True:
            start = self.skip(_BLANK)
            found.append((_decoded(self.take(_KEY)), start))
            self.skip(_BLANK)
            if self.peek() != ".":
                return found
            self.at += 1

    def note(self, path: KeyPath, key: int, value: int, *, own: bool = True) -> None:
        if len(path) <= MAX_PARTS:
            self.found.append(Mention(path, key, value, own, self.statement))

    def peek(self) -> str:
        """Look at the next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> int:
        """Pass what `pattern` matches, perhaps nothing, and give the offset after it."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def take(self, pattern: re.Pattern[str]) -> str:
        """Pass what `pattern` matches and give it."""
        if not (match := pattern.match(self.text, self.at)):
            raise _LostError
        self.at = match.end()
        return match[0]

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise _LostError
        self.at += len(mark)


def _decoded(raw: str) -> str:
    """Read one part of a key as it is written."""
    if raw[0] not in "\"'":
        return raw
    if raw[0] == "'" or "\\" not in raw:
        return raw[1:-1]
    try:
        return str(tomllib.loads(f"key = {raw}")["key"])
    except tomllib.TOMLDecodeError as error:
        raise _LostError from error
