"""Parse TOML into statements that keep comments, blank lines and the author's spelling of keys and values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime.shared.toml.positions import KEY, SCALAR, KeyPath, unquoted

_SPACE: Final = re.compile(r"[ \t]*+")
_COMMENT: Final = re.compile(r"(?<![ \t])[ \t]*+#[^\n]*+|#[^\n]*+")
_LINE_END: Final = re.compile(r"([ \t]*+#[^\n]*+)?[ \t]*+(?:\n|\Z)")


class SyntaxUnknownError(ValueError):
    """The text has syntax that this parser does not support; `tomllib` may accept a newer version of TOML."""


@dataclass(slots=True)
class Array:
    """An array, with its items and comments by line. The first line is the one of the bracket."""

    lines: list[ArrayLine] = field(default_factory=list)


@dataclass(slots=True)
class ArrayLine:
    """The items of one line of an array, and the comment at its end."""

    items: list[Value] = field(default_factory=list)
    comment: str = ""
    """The comment after its gap: the author may have aligned it with those of other lines."""

    @property
    def is_blank(self) -> bool:
        """Whether the line is blank."""
        return not self.items and not self.comment


@dataclass(slots=True)
class InlineTable:
    """An inline table. Its pairs have no comments."""

    pairs: list[Pair] = field(default_factory=list)


Value = str | Array | InlineTable
"""A value; a scalar is the text that the author wrote."""


@dataclass(slots=True)
class Pair:
    """`a.b = value # comment`: the path of the key, from the root of the document. The comment begins with its gap."""

    path: KeyPath
    key: str
    value: Value
    comment: str = ""
    end: int = 0
    """The offset after its line."""


@dataclass(slots=True)
class Header:
    """`[a.b]` or `[[a.b]]`; the path of a row of an array of tables ends with its index."""

    path: KeyPath
    text: str
    comment: str = ""
    start: int = 0
    end: int = 0
    """The offset after its line."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, which begins at `start`."""

    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Blank:
    """One or several blank lines."""


Statement = Pair | Header | Comment | Blank


def parse_statements(text: str) -> list[Statement]:
    """Return the statements of valid TOML whose lines end in LF.

    Raises:
        SyntaxUnknownError: it is not TOML 1.0.
        RecursionError: it is nested too deeply.
    """
    return _Parser(text).statements()


@dataclass(slots=True)
class _Parser:
    text: str
    at: int = 0
    rows: dict[KeyPath, int] = field(default_factory=dict)
    """Number of `[[path]]` headers so far, by path."""

    def statements(self) -> list[Statement]:
        statements: list[Statement] = []
        table: KeyPath = ()
        while self.at < len(self.text):
            self.skip(_SPACE)
            char = self.peek()
            if char in ("\n", ""):
                self.at += 1
                if statements and not isinstance(statements[-1], Blank):
                    statements.append(Blank())
            elif char == "#":
                start = self.at
                comment = self.line_end().lstrip()
                statements.append(Comment(comment, start, self.at))
            elif char == "[":
                header = self.header()
                table = header.path
                statements.append(header)
            else:
                pair = self.pair(table)
                pair.comment = self.line_end()
                pair.end = self.at
                statements.append(pair)
        return statements

    def header(self) -> Header:
        start = self.at
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        names, spelling = self.key()
        self.expect("]" * brackets)
        path: KeyPath = ()
        for name in names[:-1]:
            path = (*path, name)
            if path in self.rows:
                path = (*path, self.rows[path] - 1)
        path = (*path, names[-1])
        if brackets == 2:
            row = self.rows.get(path, 0)
            self.rows[path] = row + 1
            path = (*path, row)
        text = f"{'[' * brackets}{spelling}{']' * brackets}"
        return Header(path, text, self.line_end(), start, self.at)

    def pair(self, table: KeyPath) -> Pair:
        names, spelling = self.key()
        self.expect("=")
        self.skip(_SPACE)
        path = (*table, *names)
        return Pair(path, spelling, self.value(path))

    def value(self, path: KeyPath) -> Value:
        match self.peek():
            case "[":
                return self.array(path)
            case "{":
                return self.inline_table(path)
            case _:
                return self.take(SCALAR)

    def array(self, path: KeyPath) -> Array:
        self.at += 1
        array = Array([ArrayLine()])
        count = 0
        while True:
            start = self.at
            self.skip(_SPACE)
            match self.peek():
                case "]":
                    self.at += 1
                    return array
                case "\n":
                    self.at += 1
                    array.lines.append(ArrayLine())
                case "#":
                    self.at = start
                    array.lines[-1].comment = self.take(_COMMENT).rstrip()
                case ",":
                    self.at += 1
                case "":
                    raise SyntaxUnknownError
                case _:
                    array.lines[-1].items.append(self.value((*path, count)))
                    count += 1

    def inline_table(self, path: KeyPath) -> InlineTable:
        self.at += 1
        table = InlineTable()
        while True:
            self.skip(_SPACE)
            match self.peek():
                case "}":
                    self.at += 1
                    return table
                case ",":
                    self.at += 1
                case _:
                    table.pairs.append(self.pair(path))

    def key(self) -> tuple[list[str], str]:
        """Consume a dotted key. Return its parts, and its spelling without spaces around the dots."""
        names: list[str] = []
        spellings: list[str] = []
        while True:
            self.skip(_SPACE)
            spelling = self.take(KEY)
            spellings.append(spelling)
            names.append(unquoted(spelling))
            self.skip(_SPACE)
            if self.peek() != ".":
                return names, ".".join(spellings)
            self.at += 1

    def line_end(self) -> str:
        """Consume the rest of a line, which has at most a comment, and return the comment."""
        match = _LINE_END.match(self.text, self.at)
        if not match:
            raise SyntaxUnknownError
        self.at = match.end()
        return (match[1] or "").rstrip()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()

    def take(self, pattern: re.Pattern[str]) -> str:
        if not (match := pattern.match(self.text, self.at)):
            raise SyntaxUnknownError
        self.at = match.end()
        return match[0]

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise SyntaxUnknownError
        self.at += len(mark)
