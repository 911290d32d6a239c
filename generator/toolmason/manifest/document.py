"""Stage one: parse the manifest as TOML. Every error is a diagnostic with a position."""

from __future__ import annotations

import codecs
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Final

from toolmason_runtime.shared.toml.document import TomlDocument, parse_toml
from toolmason_runtime.shared.toml.positions import KeyPath, Position
from toolmason_runtime.shared.toml.problems import Kind, Problem

from toolmason.diagnostics import Diagnostic, Diagnostics, Location, Severity
from toolmason.manifest.input_files import read_input
from toolmason.manifest.parsed_tools import parse_with_store
from toolmason.store import Store

CODES: Final[Mapping[str, str]] = {
    Kind.ENCODING: "TM102",
    Kind.SYNTAX: "TM103",
    Kind.BYTE_ORDER_MARK: "TM104",
    Kind.DUPLICATE_KEY: "TM105",
    Kind.NESTING: "TM106",
    Kind.DIGITS: "TM107",
    Kind.MISSING_KEY: "TM202",
    Kind.UNKNOWN_KEY: "TM203",
    Kind.TYPE: "TM204",
    Kind.LENGTH: "TM205",
    Kind.PATTERN: "TM206",
    Kind.CHOICE: "TM207",
    Kind.MINIMUM: "TM208",
    Kind.EMPTY: "TM209",
    Kind.UNPRINTABLE: "TM210",
    Kind.NOT_JSON: "TM214",
}
"""Kind of problem -> code. The checks of `validate` use codes as kinds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Document(TomlDocument):
    """A parsed manifest. `path` is relative to the project.

    If it has several `files`, `data` has the tables of all of them. `origins` maps the key path of a shared value, in
    each place that uses it, to the one where it was written.
    """

    path: PurePosixPath
    files: tuple[Document, ...] = ()
    origins: Mapping[KeyPath, KeyPath] = field(default_factory=dict)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def origin(self, at: KeyPath) -> KeyPath:
        """Return the key path where a value was written; `at` itself unless the value is shared."""
        for length in range(len(at), 0, -1) if self.origins else ():
            if (origin := self.origins.get(at[:length])) is not None:
                return (*origin, *at[length:])
        return at

    def _file_of(self, at: KeyPath) -> tuple[Document, KeyPath]:
        """Return the file that contains the key at `at`, or most of its parents, and the key path in that file."""
        at = self.origin(at)
        if not self.files:
            return self, at
        if len(at) > 1 and isinstance(at[1], int):
            return _row_of(self.files, at)
        return max(self.files, key=lambda file: file.known_parts(at)), at

    def position(self, path: KeyPath, *, value: bool = False) -> Position:
        """Return the position of the key at `path`, or of its value, in its file."""
        file, at = self._file_of(path)
        return TomlDocument.position(file, at, value=value)

    def locate(self, at: KeyPath, *, value: bool = False) -> Location:
        """Return the location of a key or its value; for a missing key, that of the surrounding table."""
        return Location(self._file_of(at)[0].path, *self.position(at, value=value))

    def report(
        self,
        diagnostics: Diagnostics,
        code: str,
        message: str,
        at: KeyPath,
        *,
        hint: str = "",
        value: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a diagnostic about the key at `at`, or about its value."""
        location = self.locate(at, value=value)
        source = self._file_of(at)[0]._lines[location.line - 1]  # noqa: SLF001 - another document
        diagnostics.add(
            Diagnostic(code=code, message=message, location=location, hint=hint, severity=severity, source=source)
        )

    def diagnostic(self, problem: Problem) -> Diagnostic:
        """Return a problem of the reader as a diagnostic."""
        file, _ = self._file_of(problem.path)
        return _diagnostic(problem, file.path, file._lines[problem.position.line - 1])  # noqa: SLF001 - see above


def _row_of(files: tuple[Document, ...], at: KeyPath) -> tuple[Document, KeyPath]:
    """Return the file and the key path of a row of an array of tables whose rows are in several files."""
    section, index, *rest = at
    for file in files:
        rows = file.data.get(str(section))
        count = len(rows) if isinstance(rows, list) else 0
        if int(index) < count:
            return file, (section, index, *rest)
        index = int(index) - count
    return files[0], at


def load(path: Path, *, root: Path, diagnostics: Diagnostics, store: Store | None = None) -> Document | None:
    """Read `path` and parse it as TOML; `store` has tables that earlier runs have parsed.

    Returns None, with a TM1xx diagnostic added, if the file cannot be read or is not TOML. Paths in diagnostics are
    relative to `root`.
    """
    display_path = PurePosixPath((path.relative_to(root) if path.is_relative_to(root) else path).as_posix())
    raw = _read(path, root)
    loads = tomllib.loads if store is None else partial(parse_with_store, store=store)
    document = parse_toml(raw, loads) if isinstance(raw, bytes) else raw
    if isinstance(document, TomlDocument):
        return Document(path=display_path, text=document.text, data=document.data)
    source = _line(raw, document.position.line) if isinstance(raw, bytes) else ""
    diagnostics.add(_diagnostic(document, display_path, source))
    return None


def _diagnostic(problem: Problem, path: PurePosixPath, source: str) -> Diagnostic:
    return Diagnostic(
        code=CODES.get(problem.kind, problem.kind),
        message=problem.message,
        location=Location(path, *problem.position),
        hint=problem.hint,
        source=source,
    )


def _read(path: Path, root: Path) -> bytes | Problem:
    try:
        return read_input(path, root)
    except FileNotFoundError:
        hint = "run this in the project's directory, or pass the manifest's path"
        return Problem(kind="TM101", message="file not found", hint=hint)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return Problem(kind="TM101", message=f"cannot read: {reason}")


def _line(raw: bytes, number: int) -> str:
    """Return one line, by its 1-based number, of a file in any encoding."""
    lines = raw.removeprefix(codecs.BOM_UTF8).split(b"\n", number)
    return lines[number - 1].decode("utf-8", "replace").removesuffix("\r") if number <= len(lines) else ""
