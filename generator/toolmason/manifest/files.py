"""Stage one for a manifest in one or several files: parse them, join their tables, and insert shared values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import kind_of, quoted, table_name

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document, load
from toolmason.manifest.include import PATTERN, find_files
from toolmason.manifest.shared_values import insert_shared_values
from toolmason.store import Store

MAIN_KEYS: Final = ("include", "edition", "server", "discovery", "outputs")
"""Keys of the main file alone."""


def load_manifest(path: Path, *, root: Path, diagnostics: Diagnostics, store: Store | None = None) -> Document | None:
    """Return the manifest at `path` with the tables of the files that it includes, and with its shared values.

    Returns None, with TM1xx diagnostics added, if a file cannot be read or is not TOML.
    """
    document = load(path, root=root, diagnostics=diagnostics, store=store)
    if document is None:
        return None
    if "include" in document.data:
        paths = list(_included(document, path, diagnostics))
        files = [load(file, root=root, diagnostics=diagnostics, store=store) for file in paths]
        included = [file for file in files if file is not None]
        if len(included) < len(files):
            return None
        document = _joined(document, included, diagnostics)
    return insert_shared_values(document)


def _included(document: Document, path: Path, diagnostics: Diagnostics) -> Iterator[Path]:
    """Yield each included file once; report patterns that are invalid or match no file."""
    patterns = document.data["include"]
    seen: set[Path] = set()
    for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
        if not isinstance(pattern, str):
            continue  # `validate` reports it.
        at = ("include", index)
        files = find_files(path, pattern)
        if not re.fullmatch(PATTERN, pattern):
            message = f"{quoted(pattern)} in `include` is not a TOML file in the directory of the manifest"
            hint = "write a path or a glob such as `tools/*.toml`, relative to this file"
            document.report(diagnostics, "TM110", message, at, hint=hint, value=True)
        elif not files:
            message = f"{quoted(pattern)} in `include` matches no file"
            hint = f"create the file, or correct the path: it is relative to {document.path}"
            document.report(diagnostics, "TM110", message, at, hint=hint, value=True)
        yield from (file for file in files if file not in seen)
        seen.update(files)


def _joined(main: Document, included: list[Document], diagnostics: Diagnostics) -> Document:
    """Return the manifest with the tables of all files; report what a second file cannot have."""
    data: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in main.data.items()}
    owners = {(section, name): main for section, value in data.items() if isinstance(value, dict) for name in value}
    for file in included:
        for section, value in file.data.items():
            if section in MAIN_KEYS:
                message = f"{quoted(section)} must be in the main file, {main.path}"
                file.report(diagnostics, "TM111", message, (section,), hint="move it there")
            elif section not in data:
                data[section] = dict(value) if isinstance(value, dict) else value
                owners |= {(section, name): file for name in value} if isinstance(value, dict) else {}
            elif isinstance(value, dict) and isinstance(data[section], dict):
                _add_tables(data[section], file, section, owners, diagnostics)
            elif isinstance(value, list) and isinstance(data[section], list):
                data[section] = [*data[section], *value]
            else:
                message = f"{quoted(section)} is {kind_of(value)} here and {kind_of(data[section])} in another file"
                file.report(diagnostics, "TM105", message, (section,), hint="write both in the same way")
    return Document(path=main.path, text=main.text, data=data, files=(main, *included))


def _add_tables(
    tables: dict[str, Any],
    file: Document,
    section: str,
    owners: dict[tuple[str, str], Document],
    diagnostics: Diagnostics,
) -> None:
    """Add the tables of one section of a file; report names that another file has."""
    for name, table in file.data[section].items():
        if name not in tables:
            tables[name], owners[section, name] = table, file
            continue
        first = owners[section, name].locate((section, name))
        message = f"{table_name((section, name))} is defined twice"
        hint = f"the first is in {first.path}, line {first.line}, column {first.column}: keep one"
        file.report(diagnostics, "TM105", message, (section, name), hint=hint)
