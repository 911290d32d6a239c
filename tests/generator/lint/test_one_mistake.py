"""One mistake in a good manifest gives its own diagnostic alone: none that only follows from it."""

from __future__ import annotations

import copy
import datetime as dt
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from toolmason_runtime.shared.toml.positions import KeyPath, Position

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.shared_values import insert_shared_values
from toolmason.manifest.tables import ManifestTables
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

GOLDEN = Path(__file__).parents[2] / "golden"
GOOD = (
    "command-tools-become-bindings-of-their-programs",
    "every-field-of-a-tool-reaches-the-catalogue",
    "one-tool-gives-a-whole-server",
    "prefixes-begin-the-names-of-commands-and-workflows",
    "raw-schema-is-served-portable-and-checked-as-written",
    "shared-values-and-files-become-one-manifest",
)


class Unwritten(Document):
    """A document without text, in which finding places would take most of the time. Each key has a place of its own."""

    def position(self, path: KeyPath, *, value: bool = False) -> Position:
        return Position(column=zlib.crc32(repr((self.origin(path), value)).encode()))


def validated(data: dict[str, Any]) -> tuple[Document, Diagnostics, ManifestTables | None]:
    """Return a document with what `validate` reports."""
    diagnostics = Diagnostics()
    document = insert_shared_values(Unwritten(path=PurePosixPath("manifest.toml"), text="", data=data))
    return document, diagnostics, validate(document, diagnostics=diagnostics)


def key_paths(value: Any, at: KeyPath = ()) -> Iterator[KeyPath]:
    """List every key of a manifest, those in arrays of tables included."""
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if isinstance(key, str):
            yield (*at, key)
        yield from key_paths(inner, (*at, key))


def mutants(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make one mistake at each key: misspell it, call it something else, leave it out, give it a wrong type."""
    for path in key_paths(data):
        for kind in ("misspelt", "unknown", "missing", "mistyped"):
            changed = copy.deepcopy(data)
            table: Any = changed
            for key in path[:-1]:
                table = table[key]
            key = path[-1]
            value = table.pop(key)
            if kind == "misspelt":
                table[f"{str(key)[:-1]}{str(key)[-1] * 2}"] = value
            elif kind == "unknown":
                table["qqqq"] = value
            elif kind == "mistyped":
                table[key] = dt.date(2026, 1, 1)
            yield f"{'.'.join(map(str, path))} {kind}", changed


@pytest.mark.uncovered
@pytest.mark.parametrize("case", GOOD)
def test_one_mistake_gives_no_diagnostic_of_a_later_stage(case: str) -> None:
    root = GOLDEN / case
    files = (root / "manifest.toml", *sorted((root / "tools").glob("*.toml")))
    data = tomllib.loads("\n".join(file.read_text(encoding="utf-8") for file in files))
    data.pop("include", None)
    document, diagnostics, tables = validated(data)
    assert tables is not None
    resolve(tables, document, root=root, diagnostics=diagnostics)
    assert not list(diagnostics)

    followed = []
    tried = 0
    for what, mutant in mutants(data):
        document, diagnostics, tables = validated(mutant)
        first = [str(each) for each in diagnostics]
        if not first:  # a name that was changed is right as it stands, and what refers to it is the mistake
            continue
        tried += 1
        if tables is not None:
            resolve(tables, document, root=root, diagnostics=diagnostics)
        if then := [str(each) for each in diagnostics if str(each) not in first]:
            followed.append((what, first, then))

    assert not followed, "\n".join(map(str, followed))
    assert tried > 20
