"""The files of a project in which people name tools: source, tests, documentation and queries."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from toolmason.project import MANIFESTS, Project

MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 1024 * 1024
"""Maximum number and size of files that are searched."""
PARTS: Final = frozenset({"handlers", "tests", "docs", "templates", "eval"})
"""Directories of a project beside its manifest."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "build", "dist", "site", "venv"})
_HISTORIES: Final = ("changelog", "changes", "history", "news", "release")
"""First words of files about earlier versions, in which the earlier name is right."""


def searched_files(project: Project) -> Iterator[Path]:
    """Yield the files outside of `generated/` and of projects below that git does not ignore, without git all visible.

    Beside a manifest that is in no directory `manifest/` may be everything of a user: only the files in the same
    directory and those in `PARTS` are searched.
    """
    root = project.root.resolve()
    skipped = {project.generated.resolve(), project.contract_lock.resolve(), project.postings.resolve()}
    paths = _listed(root)
    others = {path.parent.parent for path in paths if path.parent.name == MANIFESTS and path.suffix == ".toml"} - {root}
    if project.manifest.parent == root:
        paths = [path for path in paths if len(parts := path.relative_to(root).parts) == 1 or parts[0] in PARTS]
    for path in paths:
        if skipped & {path, *path.parents} or others & {*path.parents}:
            continue
        if path.name.lower().startswith(_HISTORIES) or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= MAX_FILE_BYTES:
            yield path


def _listed(root: Path) -> list[Path]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        run = subprocess.run(command, capture_output=True, timeout=60, check=True)  # noqa: S603  fixed words
    except (OSError, subprocess.SubprocessError):
        return list(islice(_walked(root), MAX_FILES))
    names = {os.fsdecode(name) for name in run.stdout.split(b"\0") if name}
    return [root / name for name in sorted(names)[:MAX_FILES]]


def _walked(root: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED and not name.startswith("."))
        yield from (Path(directory, name) for name in sorted(files) if not name.startswith("."))
