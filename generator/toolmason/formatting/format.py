"""Format a TOML file of a manifest.

A key moves within its table, and a table within the tool, type or other named table that contains it. Both move only
between headings: a comment with a blank line below it stays, and nothing moves across it. Within a table, a blank line
separates groups of keys, and a key moves only within its group.
"""

from __future__ import annotations

import codecs
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Any

from toolmason_runtime.shared.toml.document import TomlDocument, parse_toml
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.problems import Problem

from toolmason.formatting.layout import pair_line, with_comment
from toolmason.formatting.order import FREE, KeyOrder, Rank, differs, has_manifest_keys, is_table
from toolmason.formatting.syntax import (
    Array,
    Blank,
    Comment,
    Header,
    InlineTable,
    Pair,
    Statement,
    SyntaxUnknownError,
    Value,
    parse_statements,
)
from toolmason.manifest.tables import ManifestTables


class FormatError(Exception):
    """The file cannot be formatted. It is unchanged."""


@dataclass(slots=True)
class _Entry:
    """A key with the comments above it."""

    comments: list[str]
    pair: Pair


@dataclass(slots=True)
class _Group:
    """Keys without a blank line between them, and the comments below the last one."""

    entries: list[_Entry] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    is_heading: bool = False
    """Whether it is a comment between blank lines, without keys."""


@dataclass(slots=True)
class _Block:
    """A table: the comments above its header, the header, and its keys. The first block of a file has no header."""

    header: Header | None = None
    comments: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=list)

    def pop_headings(self) -> list[list[str]]:
        """Remove the headings at its end, which belong to the next table, and return them."""
        count = sum(1 for _ in takewhile(lambda group: group.is_heading, reversed(self.groups)))
        split = len(self.groups) - count
        headings = [group.comments for group in self.groups[split:]]
        del self.groups[split:]
        return headings


@dataclass(slots=True)
class _Section:
    """Tables below a heading."""

    headings: list[list[str]] = field(default_factory=list)
    blocks: list[_Block] = field(default_factory=list)


def format_toml(raw: bytes) -> bytes | Problem:
    """Return the formatted content of a file, with its line ends; or the first error of its syntax.

    A byte order mark is removed, since manifests cannot have one. A file without a key of manifests keeps its order.

    Raises:
        FormatError: the result would have another meaning, or the file has a syntax that only newer versions know.
    """
    document = parse_toml(raw.removeprefix(codecs.BOM_UTF8))
    if not isinstance(document, TomlDocument):
        return document
    root = ManifestTables if has_manifest_keys(document.data) else FREE
    try:
        text = _formatted(document.text, root)
        if changed := differs(document.data, tomllib.loads(text), root):
            # A table below those that it contains may add a name to one of them: its place decides on their order.
            text = _formatted(document.text, root, moves_tables=False)
            changed = differs(document.data, tomllib.loads(text), root)
    except SyntaxUnknownError as error:
        raise FormatError("it has syntax that is not in TOML 1.0") from error
    except RecursionError as error:
        raise FormatError("it is nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError("the formatted text would be invalid; this is a bug, please report it") from error
    if changed:
        raise FormatError("the formatted text would have another meaning; this is a bug, please report it")
    newline = b"\r\n" if b"\r\n" in raw[: raw.find(b"\n") + 1] else b"\n"
    return text.encode().replace(b"\n", newline)


def _formatted(text: str, root: Any, *, moves_tables: bool = True) -> str:
    statements = parse_statements(text)
    order = KeyOrder(root, moves_tables=moves_tables)
    for statement in statements:
        if isinstance(statement, Header | Pair):
            order.add(statement.path)
        if isinstance(statement, Pair):
            _add_inner(statement.value, order)
    paragraphs = [text for section in _sections(statements) for text in _section_paragraphs(section, order)]
    return "\n\n".join(paragraphs) + "\n" if paragraphs else ""


def _add_inner(value: Value, order: KeyOrder) -> None:
    """Note the keys of inline tables."""
    match value:
        case Array():
            for line in value.lines:
                for item in line.items:
                    _add_inner(item, order)
        case InlineTable():
            for pair in value.pairs:
                order.add(pair.path)
                _add_inner(pair.value, order)


def _sections(statements: Sequence[Statement]) -> list[_Section]:
    """Return the tables of a file below their headings. A heading at the end has no tables."""
    block = _Block()
    sections = [_Section(blocks=[block])]
    for paragraph in _paragraphs(statements):
        group: _Group | None = None
        comments: list[str] = []
        for statement in paragraph:
            match statement:
                case Comment():
                    comments.append(statement.text)
                    continue
                case Header():
                    if headings := block.pop_headings():
                        sections.append(_Section(headings))
                    block = _Block(statement, comments)
                    sections[-1].blocks.append(block)
                    group = None
                case Pair():
                    if group is None:
                        group = _Group()
                        block.groups.append(group)
                    group.entries.append(_Entry(comments, statement))
            comments = []
        if comments:
            if group is None:
                group = _Group(is_heading=len(comments) == len(paragraph))
                block.groups.append(group)
            group.comments = comments
    if headings := block.pop_headings():
        sections.append(_Section(headings))
    return sections


def _paragraphs(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    """Yield the statements between blank lines."""
    for is_blank, paragraph in groupby(statements, key=lambda statement: isinstance(statement, Blank)):
        if not is_blank:
            yield list(paragraph)


def _section_paragraphs(section: _Section, order: KeyOrder) -> Iterator[str]:
    """Yield the headings and the tables of a section, each as lines without a line end."""
    yield from ("\n".join(heading) for heading in section.headings)
    for block in _sorted(section.blocks, order):
        groups = [_group_text(group, order) for group in block.groups]
        if block.header:
            header = with_comment(block.header.text, block.header.comment)
            head = "\n".join([*block.comments, header, *groups[:1]])
            groups = [head, *groups[1:]]
        if groups:
            yield "\n\n".join(groups)


def _sorted(blocks: Iterable[_Block], order: KeyOrder) -> list[_Block]:
    """Return the tables, with those inside a named table below it. Named tables keep their places.

    So a type may be beside the tool that returns it.
    """
    places: dict[KeyPath, int] = {}

    def rank(block: _Block) -> tuple[int, Rank]:
        path = block.header.path if block.header else ()
        place = places.setdefault(order.named_table(path), len(places))
        pairs = [entry.pair.path for group in block.groups for entry in group.entries]
        # Without declared keys, a table below those that it contains has its keys after theirs.
        return place, order.rank(pairs[0] if pairs and not is_table(order.hint(path)) else path)

    return sorted(blocks, key=rank) if order.moves_tables and order.root is not FREE else list(blocks)


def _group_text(group: _Group, order: KeyOrder) -> str:
    lines = []
    for entry in sorted(group.entries, key=lambda entry: order.rank(entry.pair.path)):
        lines += [*entry.comments, pair_line(entry.pair, order)]
    return "\n".join([*lines, *group.comments])
