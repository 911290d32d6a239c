"""The files of a project in which people name tools: source, tests, documentation and queries."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolmason.project import Project

MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 1024 * 1024
"""Maximum number and size of files that are searched."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "build", "dist", "site", "venv"})
_HISTORIES: Final = ("changelog", "changes", "history", "news", "release")
"""First words of files about earlier versions, in which the earlier name is right."""


def searched_files(project: Project) -> Iterator[Path]:
    """Yield the files outside of `generated/` that git does not ignore; without git, all but hidden ones."""
    root = project.root.resolve()
    generated = project.generated.resolve()
    for path in _listed(root):
        if path.is_relative_to(generated) or path.name.lower().startswith(_HISTORIES):
            continue
        if path in {project.contract_lock, project.postings} or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= MAX_FILE_BYTES:
            yield path


def _listed(root: Path) -> list[Path]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        run = subprocess.run(command, capture_output=True, timeout=60, check=True)  # noqa: S603  fixed words
        names = [os.fsdecode(name) for name in run.stdout.split(b"\0") if name]
        return [root / name for name in sorted(dict.fromkeys(names))[:MAX_FILES]]
    except (OSError, subprocess.SubprocessError):
        return list(_walked(root))


def _walked(root: Path) -> Iterator[Path]:
    count = 0
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                return
            yield Path(directory, name)
