"""A walk over a tree that never leaves its root: no link is followed, ignored entries are left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.ignore import IgnoreRules, rules_above
from workbench_handlers.workspace.open import entries_of, open_folder, open_subfolder
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan

DEEPEST: Final = 60
"""Folders below each other that are entered; each costs a descriptor."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry met on a walk. `folder` is the descriptor of the folder it stands in, open while the walk is there."""

    located: Located
    kind: str
    """`file`, `directory`, `link` or `other`."""
    depth: int
    """1 for what stands in the folder where the walk began."""
    folder: int


def kind_of(entry: os.DirEntry[str]) -> str:
    """Give `file`, `directory`, `link` or `other` (a pipe, socket or device). A link is not followed."""
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
    """The entries below `top` in path order, folders before what is in them; counts what was left out."""

    top: Located
    scan: Scan
    max_depth: int = DEEPEST
    exclude: tuple[str, ...] = ()
    """Globs of names of folders that are left out as well."""
    ignored: int = 0

    def entries(self) -> Iterator[Found]:
        """Walk. A folder that cannot be read counts as empty.

        Raises:
            ToolError: `top` is no folder that can be read.
            ScanStoppedError: the scan was stopped.
        """
        rules = rules_above(self.top)
        with open_folder(self.top) as descriptor:
            yield from self._folder(self.top, descriptor, rules.entering(self.top, descriptor), 1)

    def _folder(self, folder: Located, descriptor: int, rules: IgnoreRules, depth: int) -> Iterator[Found]:
        for entry in entries_of(folder, descriptor):
            self.scan.step()
            if self.scan.is_over:
                return
            kind, located = kind_of(entry), folder.child(entry.name)
            if rules.ignores(located.parts, is_folder=kind == "directory"):
                self.ignored += 1
                continue
            if kind == "directory" and any(fnmatchcase(entry.name, glob) for glob in self.exclude):
                continue
            yield Found(located, kind, depth, descriptor)
            if kind == "directory" and depth < self.max_depth:
                yield from self._subfolder(located, descriptor, rules, depth)

    def _subfolder(self, located: Located, parent: int, rules: IgnoreRules, depth: int) -> Iterator[Found]:
        try:
            with open_subfolder(located, parent) as descriptor:
                yield from self._folder(located, descriptor, rules.entering(located, descriptor), depth + 1)
        except ToolError:  # no permission, or it is gone or became a link since it was listed
            return
