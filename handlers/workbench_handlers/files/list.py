"""What a folder holds, as a list, as a tree, and what one entry is."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from toolmason_runtime import fitting_length, size_of, text_budget

from workbench_handlers.files.find import fitting_items
from workbench_handlers.files.read import MAX_COUNTED_BYTES
from workbench_handlers.workspace.decode import SAMPLE_BYTES, sniff_encoding, sniff_media_type
from workbench_handlers.workspace.open import entries_of, open_file, open_folder
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import Found, Walk, kind_of

MAX_LISTED: Final = 1000
"""Entries in one listing."""
MAX_IN_TREE: Final = 1000
"""Lines of one tree."""
MAX_IN_FOLDER: Final = 100
"""Entries shown of one folder of a tree."""
NOTES_SIZE: Final = 4_000
"""Size that the notes on a tree may have."""

_ORDER: Final = ("directory", "file", "link", "other")


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder; `size` in bytes, for files alone."""

    name: str
    type: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder's entries, folders first, then by name. The sums are over all, also those left out of `entries`."""

    path: str
    entries: list[Entry]
    files: int
    directories: int
    total_size: int
    omitted: int


def listing(folder: Located) -> Listing:
    """List one folder, nothing below it and nothing ignored."""
    with open_folder(folder) as descriptor:
        found = [_entry(each) for each in entries_of(folder, descriptor)]
    found.sort(key=lambda each: (_ORDER.index(each.type), each.name))
    shown = fitting_items(found[:MAX_LISTED], lambda each: json.dumps(asdict(each), ensure_ascii=False))
    return Listing(
        folder.shown,
        shown,
        sum(each.type == "file" for each in found),
        sum(each.type == "directory" for each in found),
        sum(each.size or 0 for each in found),
        len(found) - len(shown),
    )


def _entry(entry: os.DirEntry[str]) -> Entry:
    kind = kind_of(entry)
    try:
        return Entry(entry.name, kind, entry.stat(follow_symlinks=False).st_size if kind == "file" else None)
    except OSError:  # gone since it was listed
        return Entry(entry.name, kind, None)


def tree(top: Located, max_depth: int, exclude: Sequence[str], scan: Scan) -> str:
    """Print the folders and files below `top`, indented, ignored ones left out; notes on what is missing come first."""
    walk = Walk(top, scan, max_depth, tuple(glob.strip("/") for glob in exclude))
    lines = [f"{top.shown.rstrip('/')}/"]
    shown = _Shown()
    left = text_budget() - NOTES_SIZE
    for found in walk.entries():
        if shown.hides(found):
            continue
        line = "  " * found.depth + found.located.parts[-1] + ("/" if found.kind == "directory" else "")
        left -= size_of(f"{line}\n")
        if len(lines) > MAX_IN_TREE or left < 0:
            shown.notes.append(f"cut after {len(lines) - 1} lines: give a deeper `path` or a smaller `max_depth`")
            break
        lines.append(line)
    if walk.ignored:
        shown.notes.append(f"{walk.ignored} ignored entries (.gitignore, node_modules, ...) left out")
    if scan.is_over:
        shown.notes.append("stopped after the time allowed: give a deeper `path` or a smaller `max_depth`")
    notes = "".join(f"[{note}]\n" for note in shown.all_notes())
    return notes[: fitting_length(notes, NOTES_SIZE)] + "\n".join(lines)


class _Shown:
    """Counts what is shown of each folder, and hides what is beyond the limit, with all below it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._counts: dict[tuple[str, ...], int] = {}
        self._folders: dict[tuple[str, ...], str] = {}
        self._hidden: set[tuple[str, ...]] = set()

    def hides(self, found: Found) -> bool:
        parts = found.located.parts
        parent = parts[:-1]
        if parent in self._hidden:
            self._hidden.add(parts)
            return True
        self._counts[parent] = self._counts.get(parent, 0) + 1
        if self._counts[parent] <= MAX_IN_FOLDER:
            return False
        self._folders[parent] = found.located.shown.rpartition("/")[0] or "."
        self._hidden.add(parts)
        return True

    def all_notes(self) -> list[str]:
        more = [
            f"{shown}: {self._counts[parent] - MAX_IN_FOLDER} more entries; see list_directory_with_sizes"
            for parent, shown in self._folders.items()
        ]
        return [*self.notes, *more]


@dataclass(frozen=True, slots=True)
class Info:
    """What is known of one entry; `size` in bytes, times in UTC. `lines` and `encoding` for text files."""

    path: str
    type: str
    size: int
    modified: str
    permissions: str
    media_type: str | None = None
    encoding: str | None = None
    lines: int | None = None
    entries: int | None = None


def info(located: Located) -> Info:
    """Give what is known of a file or folder.

    Raises:
        ToolError: it is neither, or cannot be read.
    """
    if located.path.is_dir():
        with open_folder(located) as descriptor:
            about = os.fstat(descriptor) if descriptor >= 0 else located.path.stat()
            count = len(entries_of(located, descriptor))
        return Info(str(located.path), "directory", about.st_size, _time(about), _mode(about), entries=count)
    with open_file(located) as stream:
        about = os.fstat(stream.fileno())
        sample = stream.read(SAMPLE_BYTES)
        encoding = sniff_encoding(sample)
        lines = None
        if encoding and about.st_size <= MAX_COUNTED_BYTES:
            stream.seek(0)
            with io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n") as text:
                lines = sum(1 for _ in text)
    kind = sniff_media_type(sample, located.path.name)
    codec = encoding.codec if encoding else None
    return Info(str(located.path), "file", about.st_size, _time(about), _mode(about), kind, codec, lines)


def _time(about: os.stat_result) -> str:
    return datetime.fromtimestamp(about.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mode(about: os.stat_result) -> str:
    return stat.filemode(about.st_mode)
