"""Check: say how a folder differs from what was rendered. Only reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from toolwright.comparison import Part, compare, everything
from toolwright.files import Changes, RenderedFile
from toolwright.snapshot import require_real, take_snapshot
from toolwright.transaction import foresee


def check(files: Iterable[RenderedFile], folder: Path, *, part: Part = everything) -> Changes:
    """Say what `write` would find: the same files under the same kinds. Only paths in `part` are looked at.

    If a run was interrupted while it wrote, its work is seen as finished, as the next run will do first.

    Raises:
        DiskFailure: the folder cannot be read.
        MisplacedFolder: it is a link.
    """
    require_real(folder)
    snapshot = take_snapshot(folder.resolve())
    is_interrupted = foresee(snapshot)
    return Changes(compare(files, snapshot, part), is_interrupted)
