"""Change hand-written files of a project: show the diff, then write all files or none.

A command computes the new texts, for example of the manifest and of a module of the handlers:

    edits = Edits.of(project.root, {path: text, ...})
    show(edits)
    apply(edits)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_IWUSR
from typing import Final

import click

from toolmason.audit.output import visible
from toolmason.manifest.input_files import read_input
from toolmason.write.diff import paint_line, unified
from toolmason.write.journal import Disk, Operation, apply_changes, recover
from toolmason.write.snapshot import FileSystemError

MAX_DIFF_LINES: Final = 100_000
"""Maximum lines of either side of the diff of one file."""
_MERGE_MARK: Final = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
"""A line that git writes around both versions of a conflict."""


class EditError(Exception):
    """A file cannot be changed, and nothing was written. `str` is the file with the reason."""

    def __init__(self, shown: str, reason: str) -> None:
        super().__init__(f"{shown}: {reason}")
        self.reason = reason


class ConflictError(EditError):
    """A file has a merge conflict that nobody has resolved."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The change of one file. `name` is its POSIX path relative to the project; `old` is None for a new file."""

    name: str
    old: str | None
    new: str

    def diff(self) -> str:
        """Return the unified diff, in which CRLF equals LF."""
        old = None if self.old is None else self.old.encode()
        return unified((self.name, old), (self.name, self.new.encode()), max_lines=MAX_DIFF_LINES)


@dataclass(frozen=True, slots=True)
class Edits:
    """The changes of several files below `root`, in the order of their names. Equal texts are not changes."""

    root: Path
    all: tuple[Edit, ...]

    @classmethod
    def of(cls, root: Path, texts: Mapping[Path, str], *, read: Mapping[Path, str] | None = None) -> Edits:
        """Return the changes that write new texts to the files in `texts`, which may not exist.

        Args:
            root: the project.
            texts: new text of each file.
            read: the texts from which the new ones were made, as far as known.

        Raises:
            EditError: a file is outside the project, read-only, not UTF-8, has an unresolved merge conflict, or was
                saved since it was read.
        """
        root = root.resolve()
        edits = []
        for path, new in texts.items():
            # The target of a link is changed, and the link stays.
            target = path.resolve()
            old = read_text(target, root) if target.exists() or not target.is_relative_to(root) else None
            name = target.relative_to(root).as_posix()
            if path in (read or {}) and old != (read or {})[path]:
                raise EditError(name, "the file was saved meanwhile; nothing was changed: run the command again")
            if old == new:
                continue
            if old is not None and not target.stat().st_mode & S_IWUSR:
                raise EditError(name, "the file is read-only")
            edits.append(Edit(name, old, new))
        return cls(root, tuple(sorted(edits, key=lambda edit: edit.name)))

    def __bool__(self) -> bool:
        return bool(self.all)


def read_text(path: Path, root: Path) -> str:
    r"""Return the text of a file of the project, with its line ends (`\r\n` stays) and its byte order mark.

    Raises:
        EditError: it cannot be read, is not UTF-8, or has an unresolved merge conflict.
    """
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        text = read_input(path, root).decode()
    except UnicodeDecodeError as error:
        raise EditError(shown, "the file is not UTF-8") from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise EditError(shown, f"cannot read: {getattr(error, 'strerror', None) or error}") from error
    if mark := _MERGE_MARK.search(text):
        line = text.count("\n", 0, mark.start()) + 1
        raise ConflictError(f"{shown}:{line}", "the file has a merge conflict: resolve it first")
    return text


def show(edits: Edits, *, colour: bool) -> None:
    """Print the diff of all files to stdout."""
    for edit in edits.all:
        for line in edit.diff().split("\n")[:-1]:
            # Tabs stay; other control characters could move the cursor.
            shown = "\t".join(visible(part) for part in line.split("\t"))
            click.echo(paint_line(shown, colour=colour), color=True)


def apply(edits: Edits, *, disk: Disk | None = None) -> None:
    """Write all files, or none if one of them cannot be written or was changed since it was read.

    The mode of a file stays. If the process is killed meanwhile, `finish_interrupted` finishes the work.

    Raises:
        EditError: nothing was written.
    """
    operations = [
        Operation(edit.name, None if edit.old is None else edit.old.encode(), edit.new.encode()) for edit in edits.all
    ]
    try:
        apply_changes(operations, edits.root, disk or Disk(), project=edits.root)
    except FileSystemError as error:
        path = error.path
        shown = path.relative_to(edits.root).as_posix() if path.is_relative_to(edits.root) else str(path)
        raise EditError(shown, f"{error.reason}; no file was changed") from error


def finish_interrupted(root: Path) -> bool:
    """Finish the work of a killed `apply`; return whether there was one.

    Raises:
        EditError: a file cannot be written.
    """
    root = root.resolve()
    try:
        return recover(root, Disk(), project=root)
    except FileSystemError as error:
        raise EditError(str(error.path), error.reason) from error
