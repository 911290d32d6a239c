"""Differences between rendered files and a directory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from toolmason.write.diff import unified


class ChangeKind(StrEnum):
    """How one file differs from what is rendered."""

    CREATED = "created"
    """Rendered, but not there: missing, for `check`."""
    CHANGED = "changed"
    """Ours and untouched, but not what is rendered now: stale."""
    PRUNED = "pruned"
    """Ours and untouched, but no longer rendered: extra."""
    EDITED = "edited"
    """Ours, but changed by hand or by a bad merge since we wrote it."""
    BLOCKED = "blocked"
    """Not ours, and in the place of a file or folder that is rendered."""
    FOREIGN = "foreign"
    """Not ours, and in nobody's way. It is left alone."""


REFUSED = frozenset({ChangeKind.EDITED, ChangeKind.BLOCKED})
"""Kinds that stop `write`, since going on would destroy what we cannot make again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that differs.

    `found` is what stands there, None if that is nothing or no file; `wanted` is what is rendered, None if nothing
    is. `note` says what is in the way of a blocked one. If it is `fixed`, not even discarding edits removes it.
    """

    path: PurePosixPath
    kind: ChangeKind
    found: bytes | None = None
    wanted: bytes | None = None
    note: str = ""
    fixed: bool = False

    def diff(self) -> str:
        """Give a unified diff of this file, empty for a foreign one.

        It runs from what is there to what is rendered, except where work would be lost: for edited and blocked
        files it runs from what is rendered to what is there, and so shows the work itself.
        """
        if self.kind is ChangeKind.FOREIGN:
            return ""
        there = (f"{self.path} (on disk)", self.found)
        rendered = (f"{self.path} (generated)", self.wanted)
        return unified(rendered, there) if self.kind in REFUSED else unified(there, rendered)


@dataclass(frozen=True, slots=True)
class Changes:
    """How a folder differs from what is rendered, in path order; after `write`: how it differed before.

    `is_interrupted` says that an earlier run was ended in the middle of writing. For `check`, the differences are
    those that will be left once the next `write` has finished its work; `write` has finished it by then.
    """

    all: tuple[Change, ...] = ()
    is_interrupted: bool = False

    @property
    def refused(self) -> tuple[Change, ...]:
        """The changes that stop `write`."""
        return tuple(change for change in self.all if change.kind in REFUSED)

    @property
    def is_clean(self) -> bool:
        """Whether `write` would change nothing. Foreign files do not count."""
        return not self.is_interrupted and all(change.kind is ChangeKind.FOREIGN for change in self.all)

    def diff(self, path: PurePosixPath) -> str:
        """Give the unified diff of the file at `path`, empty if it does not differ."""
        return next((change.diff() for change in self.all if change.path == path), "")
