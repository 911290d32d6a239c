"""Differences between rendered files and a directory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from toolmason.write.diff import unified


class ChangeKind(StrEnum):
    """Difference between a file on disk and the rendered one."""

    CREATED = "created"
    """Rendered, but absent on disk."""
    CHANGED = "changed"
    """Generated and unedited, but outdated."""
    PRUNED = "pruned"
    """Generated and unedited, but no longer rendered."""
    EDITED = "edited"
    """Generated, then changed by hand or by a bad merge."""
    BLOCKED = "blocked"
    """Not generated, at the path of a rendered file or directory."""
    FOREIGN = "foreign"
    """Not generated, at any other path. It is left alone."""


BLOCKING_KINDS: Final = frozenset({ChangeKind.EDITED, ChangeKind.BLOCKED})
"""Kinds that stop `write`, since it would destroy content that cannot be generated again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file that differs.

    Args:
        on_disk: The content on disk, None for no file.
        rendered: The rendered text, None if the file is not rendered.
        note: The kind of entry at the path, if it is blocked.
        is_permanent: Whether it stays even if edits are discarded.
    """

    path: PurePosixPath
    kind: ChangeKind
    on_disk: bytes | None = None
    rendered: str | None = None
    note: str = ""
    is_permanent: bool = False

    @property
    def content(self) -> bytes | None:
        """The rendered content, encoded at each use: all contents of a large project need much memory."""
        return None if self.rendered is None else self.rendered.encode()

    def diff(self) -> str:
        """Return the unified diff from the file on disk to the rendered one, empty for a foreign file.

        For edited and blocked files it is the reverse diff, which shows the work that would be lost as additions.
        """
        if self.kind is ChangeKind.FOREIGN:
            return ""
        on_disk = (f"{self.path} (on disk)", self.on_disk)
        rendered = (f"{self.path} (generated)", self.content)
        return unified(rendered, on_disk) if self.kind in BLOCKING_KINDS else unified(on_disk, rendered)


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences in path order. `write` returns those that it has removed.

    `is_interrupted` reports that an earlier run was killed while it wrote. `check` returns the differences that remain
    after the next `write` has finished that run's work.
    """

    all: tuple[Change, ...] = ()
    is_interrupted: bool = False

    @property
    def blocking(self) -> tuple[Change, ...]:
        """The changes that stop `write`."""
        return tuple(change for change in self.all if change.kind in BLOCKING_KINDS)

    @property
    def is_clean(self) -> bool:
        """Whether `write` would change nothing. Foreign files do not count."""
        return not self.is_interrupted and all(change.kind is ChangeKind.FOREIGN for change in self.all)

    def diff(self, path: PurePosixPath) -> str:
        """Return the unified diff of the file at `path`, empty if it does not differ."""
        return next((change.diff() for change in self.all if change.path == path), "")
