"""Rename keys of a manifest that had another name in an earlier version."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolmason_runtime.shared.toml.positions import KeyPath, dotted

from toolmason.edits import Edits, read_text
from toolmason.manifest.include import read_files
from toolmason.manifest.renamed_keys import RENAMED_KEYS, RenamedKey
from toolmason.project import Project
from toolmason.refactor.errors import RefactorError
from toolmason.refactor.toml_text import TomlText


def upgrade(project: Project, renamed: Iterable[RenamedKey] = RENAMED_KEYS) -> Edits:
    """Return the changes that rename the former keys of a manifest, in all its files.

    Values, comments and the order of keys stay. Other errors of the manifest do not matter.

    Raises:
        RefactorError: a file is not TOML, or a table has a key under both names.
        EditError: a file cannot be read or changed.
        OSError: the main file cannot be read.
    """
    rows = [*renamed]
    texts = {}
    for path, _ in read_files(project.manifest, project.root):
        text = read_text(path, project.root)
        texts[path] = _upgraded(path.relative_to(project.root), text, rows)
    return Edits.of(project.root, texts)


def _upgraded(path: Path, text: str, rows: Sequence[RenamedKey]) -> str:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefactorError(f"{path} is not TOML: {error}; `toolmason check` shows the line") from error
    toml = TomlText(text)
    for row in rows:
        for table in _tables(data, row.table):
            values = _at(data, table)
            if row.old not in values:
                continue
            if row.new in values:
                raise RefactorError(
                    f"{path}: [{dotted(table)}] has both `{row.old}` and `{row.new}`: remove `{row.old}`"
                )
            toml.rename_key((*table, row.old), row.new)
    return toml.result()


def _tables(data: Mapping[str, Any], pattern: Sequence[str], at: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of the tables that match a pattern."""
    if not pattern:
        yield at
        return
    names = [*data] if pattern[0] == "*" else [pattern[0]]
    for name in names:
        if isinstance(inner := data.get(name), dict):
            yield from _tables(inner, pattern[1:], (*at, name))


def _at(data: Mapping[str, Any], path: KeyPath) -> Mapping[str, Any]:
    table: Any = data
    for part in path:
        table = table[part]
    result: Mapping[str, Any] = table
    return result
