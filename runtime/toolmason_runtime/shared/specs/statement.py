"""Split a statement into text and parameters, and render it for a driver. Values never become text.

A parameter is `:name` for a value, which the driver binds, and `{name}` for an identifier, one of a fixed list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal

from toolmason_runtime.shared.specs.database import Dialect

Style = Literal["qmark", "pyformat"]
"""How a driver marks parameters (PEP 249): `?`, or `%(name)s`."""


class StatementError(Exception):
    """A statement that cannot be split; the message is a clause about it."""


@dataclass(frozen=True, slots=True)
class Value:
    """A bound value `:name`. `operator` is `in` or `not in` before a list, which becomes part of the value."""

    name: str
    operator: Literal["", "in", "not in"] = ""
    clause: Literal["", "limit", "offset"] = ""
    """The keyword before it."""
    is_parenthesized: bool = False
    """Whether it is written as `in (:name)`."""
    is_null_test: bool = False
    """Whether `is null` or `is not null` follows."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier `{name}`."""

    name: str


Part = str | Value | Identifier


@dataclass(frozen=True)
class Statement:
    """A statement in parts, without a semicolon at its end."""

    parts: tuple[Part, ...]
    keywords: tuple[str, ...]
    """Its words outside of texts, comments and quoted names, in lower case."""
    plain_words: frozenset[str] = frozenset()
    """Those of its words that stand at least once without a parenthesis after them, so are no names of functions."""

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Its bound values, in order."""
        return tuple(part for part in self.parts if isinstance(part, Value))

    @cached_property
    def identifiers(self) -> tuple[Identifier, ...]:
        """Its identifiers, in order."""
        return tuple(part for part in self.parts if isinstance(part, Identifier))

    def clause(self, keyword: Literal["limit", "offset"]) -> str:
        """Return the parameter after `limit` or `offset`; empty without one."""
        return next((value.name for value in self.values if value.clause == keyword), "")


_WORD: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_COMMON: Final = (
    ("identifier", rf"\{{(?P<identifier_name>{_WORD})\}}"),
    ("cast", r"::|:="),
    ("value", rf"(?<![\w\])]):(?P<value_name>{_WORD})"),
    ("word", r"[^\W\d]\w*"),
    ("number", r"\d[\w.]*"),
    ("end", r";"),
    ("space", r"\s+"),
    ("other", r"."),
)
_LINE_COMMENT: Final = ("comment", r"--[^\n]*")
_BLOCK_COMMENT: Final = ("comment", r"/\*(?:[^*]|\*(?!/))*\*/")
_TEXT: Final = ("text", r"'(?:[^']|'')*'")
_ESCAPED_TEXT: Final = ("text", r"[eE]'(?:[^'\\]|''|\\.)*'")
_DOLLAR_TEXT: Final = ("text", r"\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$")
_NAME: Final = ("name", r'"(?:[^"]|"")*"')
_BACKTICKS: Final = ("name", r"`(?:[^`]|``)*`")
_TOKENS: Final[Mapping[Dialect, tuple[tuple[str, str], ...]]] = {
    "sqlite": (
        _LINE_COMMENT,
        _BLOCK_COMMENT,
        _TEXT,
        _NAME,
        _BACKTICKS,
        ("name", r"\[[^\]]*\]"),
        ("foreign", r"\?\d*|[@$]\w+"),
    ),
    "postgresql": (
        _LINE_COMMENT,
        ("nested", r"/\*"),
        _ESCAPED_TEXT,
        _TEXT,
        _DOLLAR_TEXT,
        _NAME,
        ("foreign", r"\$\d+"),
    ),
    "mysql": (
        ("comment", r"--(?=\s|$)[^\n]*|\#[^\n]*"),
        ("code", r"/\*M?!"),
        _BLOCK_COMMENT,
        ("text", r"'(?:[^'\\]|''|\\.)*'"),
        ("text", r'"(?:[^"\\]|""|\\.)*"'),
        _BACKTICKS,
        ("foreign", r"\?"),
    ),
    "duckdb": (
        _LINE_COMMENT,
        ("nested", r"/\*"),
        _ESCAPED_TEXT,
        _TEXT,
        _DOLLAR_TEXT,
        _NAME,
        ("foreign", rf"\?|\$(?:\d+|{_WORD})"),
    ),
}
_PATTERNS: Final = {
    dialect: re.compile(
        "|".join(f"(?P<{kind}_{number}>{pattern})" for number, (kind, pattern) in enumerate((*tokens, *_COMMON))),
        re.DOTALL,
    )
    for dialect, tokens in _TOKENS.items()
}
_NESTED: Final = re.compile(r"/\*|\*/")
_OPENED: Final = {"'": "a text", '"': "a quoted name", "`": "a quoted name", "[": "a quoted name"}


def split_statement(sql: str, dialect: Dialect) -> Statement:
    """Return the parts of a statement.

    Raises:
        StatementError: it has an open text or comment, a second statement, or parameters in another notation.
    """
    parts: list[Part] = []
    keywords: list[str] = []
    called: set[int] = set()
    text = before = ""
    is_ended = False
    for kind, token, name in _tokens(sql, dialect):
        if kind == "end":
            is_ended = True
            continue
        if is_ended:
            if kind in ("space", "comment"):
                continue
            raise StatementError("it has more than one statement")
        if kind == "value":
            value, text = _value(name, text)
            parts += [text, value]
            text = ""
            keywords.append("")  # a value separates the words around it
        elif kind == "identifier":
            parts += [text, Identifier(name)]
            text = ""
            keywords.append("")
        elif kind == "comment" and not token.startswith("/*"):
            text += " "  # its words must not be read as the operator of a list
        else:
            text += token
            if kind == "word":
                keywords.append(token.lower())
            elif (token, before) == ("(", "word"):
                called.add(len(keywords) - 1)
        before = before if kind in ("space", "comment") else kind
    parts.append(text)
    if not any(keywords):
        raise StatementError("it is empty")
    plain = frozenset(word for index, word in enumerate(keywords) if word and index not in called)
    return Statement(_unwrapped(parts), tuple(word for word in keywords if word), plain)


def _tokens(sql: str, dialect: Dialect) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the text and, for a parameter, the name of each token."""
    pattern = _PATTERNS[dialect]
    position = 0
    while position < len(sql):
        match = pattern.match(sql, position)
        assert match is not None  # noqa: S101  `other` matches any character
        kind = str(match.lastgroup).rpartition("_")[0]
        end = match.end()
        if kind == "nested":
            kind, end = "comment", _end_of_comment(sql, end)
        if kind == "foreign":
            raise StatementError(f"`{match[0]}` is not a parameter; write `:name`")
        if kind == "code":
            raise StatementError("it has a comment that MySQL executes; write its content without `/*!`")
        if kind == "other" and (match[0] in "'\"`" or (match[0] == "[" and dialect == "sqlite")):
            raise StatementError(f"{_OPENED[match[0]]} is not closed")
        if kind == "other" and sql.startswith("/*", position):
            raise StatementError("a comment is not closed")
        yield kind, sql[position:end], match["value_name"] or match["identifier_name"] or ""
        position = end


def _end_of_comment(sql: str, position: int) -> int:
    level = 1
    for mark in _NESTED.finditer(sql, position):
        level += 1 if mark[0] == "/*" else -1
        if level == 0:
            return mark.end()
    raise StatementError("a comment is not closed")


_NULL_TEST: Final = -2
_WHOLE: Final = -1
"""Indexes of marks that belong to no item of a list."""
_IS_NULL: Final = re.compile(r"\s+is\s+(?:not\s+)?null\b", re.IGNORECASE)
_LIST: Final = re.compile(r"(?P<operator>\b(?:not\s+)?in)\s*+(?P<open>\(?)\s*+$", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"\b(limit|offset)\s+$", re.IGNORECASE)


def _value(name: str, before: str) -> tuple[Value, str]:
    """Return a value, and the text before it without the operator of a list."""
    if match := _LIST.search(before):
        operator: Any = " ".join(match["operator"].lower().split())
        if match["open"]:
            return Value(name, operator, is_parenthesized=True), before
        return Value(name, operator), before[: match.start()]
    clause: Any = found[1].lower() if (found := _CLAUSE.search(before)) else ""
    return Value(name, clause=clause), before


def _unwrapped(parts: list[Part]) -> tuple[Part, ...]:
    """Return the parts without empty texts and without spaces and comments around the statement."""
    first, last = parts[0], parts[-1]
    if isinstance(first, str):
        parts[0] = first.lstrip()
    if isinstance(last, str):
        parts[-1] = last.rstrip() if len(parts) > 1 else parts[0].rstrip() if isinstance(parts[0], str) else ""
    for index, (part, after) in enumerate(pairwise(parts)):
        if isinstance(part, Value) and isinstance(after, str) and _IS_NULL.match(after):
            parts[index] = replace(part, is_null_test=True)
    return tuple(part for part in parts if part != "")


def render(
    statement: Statement,
    values: Mapping[str, Any],
    *,
    dialect: Dialect,
    style: Style,
    quote: Callable[[str], str],
) -> tuple[str, tuple[Any, ...] | dict[str, Any]]:
    """Return the text for a driver and its parameters.

    Args:
        statement: the statement.
        values: the value of each parameter; for an identifier, its name.
        dialect: the dialect.
        style: the notation of the driver.
        quote: returns a quoted identifier.
    """
    marks = _Marks(style)
    text = ""
    for part in statement.parts:
        if isinstance(part, str):
            # The driver halves each `%` of the text.
            text += part.replace("%", "%%") if style == "pyformat" else part
        elif isinstance(part, Identifier):
            name = values[part.name]
            quoted = name if name.lower() in ORDERS else quote(name)
            text += quoted.replace("%", "%%") if style == "pyformat" else quoted
        elif part.is_null_test and dialect == "postgresql":
            # PostgreSQL cannot infer the type of a parameter in this place.
            text += f"{marks.add(part.name, _NULL_TEST, None if values[part.name] is None else 1)}::integer"
        else:
            text += _rendered_value(part, values[part.name], dialect, marks)
    return text, marks.parameters


ORDERS: Final = frozenset({"asc", "desc"})
"""Keywords that `{name}` can stand for, unquoted."""


class _Marks:
    """The marks of a text for its driver. A repeated value has one name, so that PostgreSQL infers one type."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._positional: list[Any] = []
        self._named: dict[str, Any] = {}
        self._names: dict[tuple[str, int], str] = {}

    def add(self, name: str, index: int, value: Any) -> str:
        if self._style == "qmark":
            self._positional.append(value)
            return "?"
        key = self._names.setdefault((name, index), f"p{len(self._names)}")
        self._named[key] = value
        return f"%({key})s"

    @property
    def parameters(self) -> tuple[Any, ...] | dict[str, Any]:
        return tuple(self._positional) if self._style == "qmark" else self._named


_EMPTY: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "sqlite": {"in": "in (select null where 1 = 0)", "not in": "not in (select null where 1 = 0)"},
    # An empty array has the type of the other operand.
    "postgresql": {"in": "= any('{}')", "not in": "<> all('{}')"},
    "mysql": {"in": "in (select null from dual where 1 = 0)", "not in": "not in (select null from dual where 1 = 0)"},
    "duckdb": {"in": "in (select null where 1 = 0)", "not in": "not in (select null where 1 = 0)"},
}
"""The condition of an empty list, which SQL cannot write as `in ()`."""


def _rendered_value(part: Value, value: Any, dialect: Dialect, marks: _Marks) -> str:
    if part.operator and not part.is_parenthesized:
        items = value if isinstance(value, list) else [value]
        if not items:
            return _EMPTY[dialect][part.operator]
        listed = ", ".join(marks.add(part.name, index, _bound(item, dialect)) for index, item in enumerate(items))
        return f"{part.operator} ({listed})"
    return marks.add(part.name, _WHOLE, _bound(value, dialect))


def _bound(value: Any, dialect: Dialect) -> Any:
    """Return an argument as the driver binds it: an object, and an array without SQL arrays, as JSON text."""
    if isinstance(value, dict) or (isinstance(value, list) and dialect in ("sqlite", "mysql")):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return [_bound(item, dialect) for item in value]
    return value
