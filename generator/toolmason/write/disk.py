"""The few file operations that change anything, behind one protocol.

`LocalDisk` is the real one. Another may refuse or stop at a chosen operation, which is how it is shown that a tree
survives every failure.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    """What a transaction does to the file system. Every operation may raise OSError, and is then not done."""

    def make_folder(self, path: Path) -> None:
        """Make the folder `path` and the missing ones above it."""

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        """Write a new file and bring it to stable storage. Without `mode` it gets the usual permissions."""

    def keep(self, path: Path, copy: Path) -> None:
        """Let `copy` be a second name of the file or link `path`, or a copy of it with its times."""

    def replace(self, path: Path, target: Path) -> None:
        """Move `path` to `target` in one step, in the place of what stands there."""

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""

    def sync(self, folder: Path) -> None:
        """Bring the names in `folder` to stable storage."""


class LocalDisk:
    """The file system of this machine."""

    def make_folder(self, path: Path) -> None:
        """Make the folder `path` and the missing ones above it."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        """Write a new file and bring it to stable storage. Without `mode` it gets the usual permissions."""
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            path.chmod(mode)

    def keep(self, path: Path, copy: Path) -> None:
        """Let `copy` be a second name of the file or link `path`, or a copy of it with its times."""
        try:
            os.link(path, copy, follow_symlinks=False)
        except (OSError, NotImplementedError):
            # Not every file system has hard links; if the reason was another one, copying fails with it too.
            shutil.copy2(path, copy, follow_symlinks=False)

    def replace(self, path: Path, target: Path) -> None:
        """Move `path` to `target` in one step, in the place of what stands there."""
        path.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def sync(self, folder: Path) -> None:
        """Bring the names in `folder` to stable storage, where folders can be opened for that (not on Windows)."""
        if os.name == "nt":
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
