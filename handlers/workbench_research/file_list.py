"""The files that `analyze_directory` lists: those nearest to the top, nothing ignored, in a stable order."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import sniff_encoding
from workbench_handlers.workspace.ignore import ALWAYS_IGNORED, IgnoreRules, rules_above
from workbench_handlers.workspace.open import entries_of, open_directory, open_file, open_subdirectory
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import MAX_DEPTH, kind_of

EXCLUDED_DIRECTORIES: Final = ALWAYS_IGNORED | {"dist", "build", "out", ".next", "coverage"}
"""Directories that are excluded unless the path names them: section 6.3 of the specification, and similar ones."""

DEFAULT_MAX_FILES: Final = 500
MAX_FILES: Final = 2_000
"""Maximum of `maxFiles`: each file costs a sentence to write and to read."""
MAX_ENTRIES: Final = 500_000
"""Maximum entries of a walk."""
MAX_EXCLUDED: Final = 100
"""Maximum excluded names in the result."""
MAX_REPORTED: Final = 5
"""Maximum directories in one warning."""
LARGE_BYTES: Final = 1_000_000
"""Minimum size of a file that is marked as large."""
SAMPLE_BYTES: Final = 8_192
"""Bytes that are read to distinguish text from binary files."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the list. `note` is the reason why the model should not read it: `binary, 34 kB`."""

    located: Located
    note: str = ""

    @property
    def path(self) -> str:
        """The path from the root, with forward slashes, in the form of `readable`."""
        return readable("/".join(self.located.parts))


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a directory, in path order. `total` also counts files beyond the limit.

    `excluded` has the names of excluded directories, each once, and the paths that `.gitignore` files exclude. `depth`
    is the deepest level that was listed; the directory itself is 1.
    """

    files: tuple[ListedFile, ...]
    total: int
    excluded: tuple[str, ...]
    depth: int
    warnings: tuple[str, ...]


def readable(text: str) -> str:
    r"""Return `text` as valid UTF-8: undecodable bytes of a file name become `\xe9`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # unpaired surrogates in names on Windows
        return text.encode("utf-8", "backslashreplace").decode()


def list_files(top: Located, scan: Scan, *, depth: int | None = None, limit: int | None = None) -> FileList:
    """List the files below `top`, at most `depth` levels down and at most `limit` files, without following links.

    The files nearest to the top are preferred, so that no large directory hides the others.

    Raises:
        ToolError: `top` is not a readable directory.
        ScanStoppedError: the scan was stopped.
    """
    max_files = min(limit or DEFAULT_MAX_FILES, MAX_FILES)
    walk = _Walk(scan, min(depth or MAX_DEPTH, MAX_DEPTH))
    located = list(walk.files(top))
    nearest = heapq.nsmallest(max_files, located, key=lambda file: (len(file.parts), file.parts))
    warnings = list(walk.warnings(is_limited=bool(depth and depth <= MAX_DEPTH)))
    if len(located) > len(nearest):
        total = f"{len(located):,}" if not walk.is_cut else f"at least {len(located):,}"
        warnings.insert(0, f"Exceeded maxFiles limit; showing first {len(nearest):,} of {total} files")
    if limit and limit > MAX_FILES:
        warnings.insert(0, f"maxFiles is {MAX_FILES:,} at most: give a deeper path for the rest")
    excluded = sorted(walk.excluded)
    if len(excluded) > MAX_EXCLUDED:
        warnings.append(f"{len(excluded):,} names are excluded; showing the first {MAX_EXCLUDED}")
    files = tuple(_listed(file, scan) for file in sorted(nearest, key=lambda file: file.parts))
    return FileList(files, len(located), tuple(excluded[:MAX_EXCLUDED]), walk.depth, tuple(warnings))


@dataclass(slots=True)
class _Walk:
    """A walk that skips ignored entries and records them."""

    scan: Scan
    max_depth: int
    excluded: set[str] = field(default_factory=set)
    depth: int = 1
    links: int = 0
    is_cut: bool = False
    unreadable: list[str] = field(default_factory=list)
    deeper: list[str] = field(default_factory=list)

    def files(self, top: Located) -> Iterator[Located]:
        rules = rules_above(top)
        with open_directory(top) as descriptor:
            yield from self._walk_directory(top, descriptor, rules.entering(top, descriptor), 1)

    def _walk_directory(self, directory: Located, descriptor: int, rules: IgnoreRules, depth: int) -> Iterator[Located]:
        self.depth = max(self.depth, depth)
        for entry in entries_of(directory, descriptor):
            self.scan.step()
            self.is_cut = self.is_cut or self.scan.is_over or self.scan.seen > MAX_ENTRIES
            if self.is_cut:
                return
            kind, located = kind_of(entry), directory.child(entry.name)
            if self._is_excluded(located, rules, is_directory=kind == "directory"):
                continue
            if kind == "file":
                yield located
            elif kind == "directory":
                yield from self._walk_subdirectory(located, descriptor, rules, depth)
            self.links += kind == "link"

    def _walk_subdirectory(self, located: Located, parent: int, rules: IgnoreRules, depth: int) -> Iterator[Located]:
        if depth >= self.max_depth:
            self.deeper.append(_display(located))
            return
        try:
            with open_subdirectory(located, parent) as descriptor:
                yield from self._walk_directory(located, descriptor, rules.entering(located, descriptor), depth + 1)
        except ToolError:  # no permission, deleted, or replaced by a link
            self.unreadable.append(_display(located))

    def _is_excluded(self, located: Located, rules: IgnoreRules, *, is_directory: bool) -> bool:
        name = located.parts[-1]
        if name in ALWAYS_IGNORED or (is_directory and name in EXCLUDED_DIRECTORIES):
            self.excluded.add(name)
        elif rules.ignores(located.parts, is_directory=is_directory):
            self.excluded.add(_display(located))
        else:
            return False
        return True

    def warnings(self, *, is_limited: bool) -> Iterator[str]:
        """Yield the reasons for missing files that the caller did not exclude."""
        if self.is_cut:
            yield f"The directory is too large: stopped after {self.scan.seen:,} entries; give a deeper path"
        if self.unreadable:
            yield f"Could not be read: {_join(self.unreadable)}"
        if self.deeper and not is_limited:
            yield f"Excluded because they are deeper than {MAX_DEPTH} levels: {_join(self.deeper)}"
        if self.links:
            yield f"{self.links:,} symbolic {'link was' if self.links == 1 else 'links were'} not followed"


def _display(located: Located) -> str:
    return readable("/".join(located.parts))


def _join(names: list[str]) -> str:
    more = f" and {len(names) - MAX_REPORTED:,} more" if len(names) > MAX_REPORTED else ""
    return ", ".join(names[:MAX_REPORTED]) + more


def _listed(located: Located, scan: Scan) -> ListedFile:
    """Sample a file, as far as time allows."""
    scan.step()
    if scan.is_over:
        return ListedFile(located)
    try:
        with open_file(located) as stream:
            size = os.fstat(stream.fileno()).st_size
            sample = stream.read(SAMPLE_BYTES)
    except (OSError, ToolError):
        return ListedFile(located, "cannot be read")
    if not sample:
        return ListedFile(located, "empty")
    if sniff_encoding(sample) is None:
        return ListedFile(located, f"binary, {_size(size)}")
    return ListedFile(located, f"large, {_size(size)}" if size >= LARGE_BYTES else "")


def _size(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} kB" if size < LARGE_BYTES else f"{size / 1_000_000:.1f} MB"
