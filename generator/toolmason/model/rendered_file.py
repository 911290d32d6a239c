"""Rendered files: a path and its final text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file to write: its path relative to `generated/` and its final text with checksum and LF line ends."""

    path: PurePosixPath
    text: str
    disk_state: tuple[int, ...] = field(default=(), compare=False)
    """The state of the file on disk before the text was read from it; empty if the text was rendered."""
