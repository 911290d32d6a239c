"""List a directory, render a tree, and return the metadata of one entry."""

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
from toolmason_runtime.programs import escape_invisible

from workbench_handlers.files.find import fitting_items
from workbench_handlers.files.read import MAX_COUNTED_BYTES
from workbench_handlers.workspace.decode import SAMPLE_BYTES, configured_codec, sniff_encoding, sniff_media_type
from workbench_handlers.workspace.open import entries_of, open_directory, open_file
from workbench_handlers.workspace.probe import is_directory
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import Walk, WalkEntry, kind_of

MAX_LISTED: Final = 1000
"""Maximum entries of a list."""
MAX_IN_TREE: Final = 1000
"""Maximum lines of a tree."""
MAX_IN_DIRECTORY: Final = 100
"""Maximum entries of one directory in a tree."""
NOTES_SIZE: Final = 4_000
"""Maximum size of the notes on a tree."""

_ORDER: Final = ("directory", "file", "link", "other")
_MARKS: Final = {"directory": "DIR", "file": "FILE", "link": "LINK", "other": "OTHER"}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a directory; `size` in bytes, only for files."""

    name: str
    type: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a directory, directories first, then by name. The sums include entries omitted from `entries`."""

    path: str
    entries: list[Entry]
    files: int
    directories: int
    total_size: int
    omitted: int


def list_entries(directory: Located) -> Listing:
    """List one directory, including ignored entries; not recursive."""
    with open_directory(directory) as descriptor:
        listed = [_entry(entry) for entry in entries_of(directory, descriptor)]
    listed.sort(key=lambda entry: (_ORDER.index(entry.type), entry.name))
    shown = fitting_items(listed[:MAX_LISTED], lambda entry: json.dumps(asdict(entry), ensure_ascii=False))
    return Listing(
        directory.shown,
        shown,
        sum(entry.type == "file" for entry in listed),
        sum(entry.type == "directory" for entry in listed),
        sum(entry.size or 0 for entry in listed),
        len(listed) - len(shown),
    )


def render_names(listing: Listing) -> str:
    """Return the names of a listing, one a line after its kind. Invisible characters are escaped."""
    lines = [f"[{_MARKS[entry.type]}] {escape_invisible(entry.name, keep='')}" for entry in listing.entries]
    if listing.omitted:
        lines.insert(0, f"[{listing.omitted} more entries are not shown: find them with search_files]")
    return "\n".join(lines) or "[empty]"


def _entry(entry: os.DirEntry[str]) -> Entry:
    kind = kind_of(entry)
    try:
        return Entry(entry.name, kind, entry.stat(follow_symlinks=False).st_size if kind == "file" else None)
    except OSError:  # removed since it was listed
        return Entry(entry.name, kind, None)


def render_tree(top: Located, max_depth: int, exclude: Sequence[str], scan: Scan) -> str:
    """Return the entries below `top` as an indented tree without ignored ones; notes on omissions come first."""
    walk = Walk(top, scan, max_depth, tuple(glob.strip("/") for glob in exclude))
    lines = [f"{top.shown.rstrip('/')}/"]
    limits = _TreeLimits()
    remaining = text_budget() - NOTES_SIZE
    for entry in walk.entries():
        if limits.is_over_limit(entry):
            continue
        line = "  " * entry.depth + entry.located.parts[-1] + ("/" if entry.kind == "directory" else "")
        remaining -= size_of(f"{line}\n")
        if len(lines) > MAX_IN_TREE or remaining < 0:
            limits.notes.append(f"cut after {len(lines) - 1} lines: use a deeper `path` or a smaller `max_depth`")
            break
        lines.append(line)
    if walk.ignored:
        limits.notes.append(f"{walk.ignored} ignored entries (.gitignore, node_modules, ...) omitted")
    if scan.is_over:
        limits.notes.append("stopped at the time limit: use a deeper `path` or a smaller `max_depth`")
    notes = "".join(f"[{note}]\n" for note in limits.all_notes())
    return notes[: fitting_length(notes, NOTES_SIZE)] + "\n".join(lines)


class _TreeLimits:
    """Counts the entries of each directory, to omit those above the limit with everything below them."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._counts: dict[tuple[str, ...], int] = {}
        self._directories: dict[tuple[str, ...], str] = {}
        self._hidden: set[tuple[str, ...]] = set()

    def is_over_limit(self, entry: WalkEntry) -> bool:
        parts = entry.located.parts
        parent = parts[:-1]
        if parent in self._hidden:
            self._hidden.add(parts)
            return True
        self._counts[parent] = self._counts.get(parent, 0) + 1
        if self._counts[parent] <= MAX_IN_DIRECTORY:
            return False
        self._directories[parent] = entry.located.shown.rpartition("/")[0] or "."
        self._hidden.add(parts)
        return True

    def all_notes(self) -> list[str]:
        more = [
            f"{directory}: {self._counts[parent] - MAX_IN_DIRECTORY} more entries; see list_directory_with_sizes"
            for parent, directory in self._directories.items()
        ]
        return [*self.notes, *more]


@dataclass(frozen=True, slots=True)
class Info:
    """Metadata of one entry; `size` in bytes, times in UTC. `lines` and `encoding` only for text files."""

    path: str
    type: str
    size: int
    modified: str
    permissions: str
    media_type: str | None = None
    encoding: str | None = None
    lines: int | None = None
    entries: int | None = None


def file_info(located: Located) -> Info:
    """Return the metadata of a file or directory.

    Raises:
        ToolError: it is neither, or cannot be read.
    """
    if is_directory(located.path):
        with open_directory(located) as descriptor:
            status = os.fstat(descriptor) if descriptor >= 0 else located.path.stat()
            count = len(entries_of(located, descriptor))
        return Info(str(located.path), "directory", status.st_size, _time(status), _mode(status), entries=count)
    with open_file(located) as stream:
        status = os.fstat(stream.fileno())
        sample = stream.read(SAMPLE_BYTES)
        encoding = sniff_encoding(sample, charset=lambda: configured_codec(located))
        lines = None
        if encoding and status.st_size <= MAX_COUNTED_BYTES:
            stream.seek(0)
            with io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n") as text:
                lines = sum(1 for _ in text)
    kind = sniff_media_type(sample, located.path.name)
    codec = encoding.codec if encoding else None
    return Info(str(located.path), "file", status.st_size, _time(status), _mode(status), kind, codec, lines)


def _time(status: os.stat_result) -> str:
    return datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mode(status: os.stat_result) -> str:
    return stat.filemode(status.st_mode)
