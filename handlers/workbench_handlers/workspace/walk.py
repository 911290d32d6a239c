"""Walk a tree without following links and without ignored entries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.ignore import IgnoreRules, rules_above
from workbench_handlers.workspace.open import entries_of, open_directory, open_subdirectory
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan

MAX_DEPTH: Final = 60
"""Maximum depth of directories; each level holds one descriptor."""


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """An entry of a walk. `directory` is the descriptor of its directory, open until the next entry."""

    located: Located
    kind: str
    """`file`, `directory`, `link` or `other`."""
    depth: int
    """1 for the entries of the top directory."""
    directory: int


def kind_of(entry: os.DirEntry[str]) -> str:
    """Return `file`, `directory`, `link` or `other` (a pipe, socket or device). Links are not followed."""
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


@dataclass(slots=True)
class Walk:
    """The entries below `top` in path order, a directory before its entries. Counts ignored entries."""

    top: Located
    scan: Scan
    max_depth: int = MAX_DEPTH
    exclude: tuple[str, ...] = ()
    """Globs of directory names that are skipped too."""
    ignored: int = 0

    def entries(self) -> Iterator[WalkEntry]:
        """Yield the entries. A directory that cannot be read counts as empty.

        Raises:
            ToolError: `top` is not a directory or cannot be read.
            ScanStoppedError: the call was cancelled.
        """
        rules = rules_above(self.top)
        with open_directory(self.top) as descriptor:
            yield from self._folder(self.top, descriptor, rules.entering(self.top, descriptor), 1)

    def _folder(self, directory: Located, descriptor: int, rules: IgnoreRules, depth: int) -> Iterator[WalkEntry]:
        for entry in entries_of(directory, descriptor):
            self.scan.step()
            if self.scan.is_over:
                return
            kind, located = kind_of(entry), directory.child(entry.name)
            if rules.ignores(located.parts, is_directory=kind == "directory"):
                self.ignored += 1
                continue
            if kind == "directory" and any(fnmatchcase(entry.name, glob) for glob in self.exclude):
                continue
            yield WalkEntry(located, kind, depth, descriptor)
            if kind == "directory" and depth < self.max_depth:
                yield from self._subfolder(located, descriptor, rules, depth)

    def _subfolder(self, located: Located, parent: int, rules: IgnoreRules, depth: int) -> Iterator[WalkEntry]:
        try:
            with open_subdirectory(located, parent) as descriptor:
                yield from self._folder(located, descriptor, rules.entering(located, descriptor), depth + 1)
        except ToolError:  # no permission, or it was removed or replaced by a link since it was listed
            return
