"""Edit TOML in place: a new table is appended, an old one is removed by its lines, values are replaced by tomlkit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from itertools import groupby
from typing import Any, Final

import tomlkit
import tomlkit.items
from tomlkit.exceptions import TOMLKitError
from toolmason_runtime.install.errors import CannotEditError, FileSyntaxError
from toolmason_runtime.shared.toml.document import parse_toml
from toolmason_runtime.shared.toml.positions import scan_keys
from toolmason_runtime.shared.toml.problems import Problem

_BY_HAND: Final = "edit the file by hand"
_COMMENT: Final = re.compile(
    r"""
      (?<!\\) \"\"\" (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ "{3,5}
    | \'\'\' (?:[^']++ | '{1,2}(?!'))*+ '{3,5}
    | (?<!\\) " (?:[^"\\\n]++ | \\.)*+ "
    | ' [^'\n]*+ '
    | (\#[^\n]*+)
    """,
    re.VERBOSE | re.DOTALL,
)
"""A string, or a comment as the group."""
_MAX_ITEMS_ON_A_LINE: Final = 3


def load(text: str) -> dict[str, Any]:
    """Return the data of a file.

    Raises:
        FileSyntaxError: it is not TOML.
    """
    document = parse_toml(text.encode())
    if isinstance(document, Problem):
        raise FileSyntaxError(document.position.line, document.position.column, document.message)
    return dict(document.data)


def comments(text: str) -> list[str]:
    """Return the comments of a valid file."""
    return [match[1].strip() for match in _COMMENT.finditer(text) if match[1]]


def merge(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with `values` set, a table of tables: new tables are appended, others merged.

    Raises:
        CannotEditError: the file has another layout, such as an inline table.
    """
    present = load(text)
    for key, tables in values.items():
        if not isinstance(present.get(key, {}), dict):
            raise CannotEditError(f"`{key}` must be a table")
        for name, table in tables.items():
            known = name in present.get(key, {})
            text = _merged(text, (key, name), table) if known else _appended(text, (key, name), table)
    return text


def replace(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with the table at `path`, which exists, replaced by a new one at the end."""
    return _appended(remove(text, path), path, value)


def remove(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the table at `path`, which exists. Comments before and after it remain.

    Raises:
        CannotEditError: it is part of an inline table.
    """
    statements = list(_statements(text))
    starts = [start for start, _ in statements[1:]] + [len(text)]
    kept, at, is_removed = "", 0, False
    for (start, owner), end in zip(statements, starts, strict=True):
        if owner[: len(path)] == path:
            kept += text[at:start]
            at = end - len(_trailing_comments(text[start:end]))
            is_removed = True
    if not is_removed:
        raise CannotEditError(f"`{'.'.join(path)}` is part of an inline table; {_BY_HAND}")
    if kept.endswith("\n\n") or not kept.strip():
        kept = kept.removesuffix("\n")
    return kept + text[at:]


def _statements(text: str) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    """Return the offset of the line of each header and pair, and its key path."""
    for _, occurrences in groupby(scan_keys(text), key=lambda occurrence: occurrence.statement):
        items = list(occurrences)
        path = next((item.path for item in items if item.is_explicit), items[-1].path)
        yield text.rfind("\n", 0, items[0].key) + 1, path


def _trailing_comments(text: str) -> str:
    """Return the blank lines and comments at the end of a statement's text: the value ends before them."""
    lines = text.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return text[sum(map(len, lines)) :]


def _appended(text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
    block: Any = tomlkit.table()
    for key, item in value.items():
        block[key] = _item(item)
    for key in reversed(path[1:]):
        parent = tomlkit.table(is_super_table=True)
        parent[key] = block
        block = parent
    document = tomlkit.document()
    document[path[0]] = block
    separator = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    return _checked(f"{text}{separator}{tomlkit.dumps(document)}")


def _merged(text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    try:
        document = tomlkit.parse(text)
        table: Any = document
        for key in path:
            table = table[key]
        _merge(table, values)
        edited = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise CannotEditError(f"this TOML cannot be edited: {error}; {_BY_HAND}") from error
    return _checked(edited)


def _merge(table: MutableMapping[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        current = table.get(key)
        if isinstance(value, Mapping) and isinstance(current, MutableMapping):
            _merge(current, value)
        elif current != value or isinstance(current, bool) != isinstance(value, bool):
            table[key] = _item(value)


def _item(value: Any) -> Any:
    item = tomlkit.item(value)
    if isinstance(item, tomlkit.items.Array) and len(item) > _MAX_ITEMS_ON_A_LINE:
        item.multiline(multiline=True)
    return item


def _checked(text: str) -> str:
    """Return the text.

    Raises:
        CannotEditError: it is not TOML.
    """
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEditError(f"a table cannot be added to this layout: {error}; {_BY_HAND}") from error
    return text
