"""Check: say how a folder differs from what was rendered. Only reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from toolmason.model.rendered_file import RenderedFile
from toolmason.write.changes import Changes
from toolmason.write.compare import Part, compare, everything
from toolmason.write.journal import foresee
from toolmason.write.snapshot import require_real, take_snapshot


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
