"""Which files of a folder a map of it shows: those nearest to its top, nothing ignored, the same ones each time."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import sniff_encoding
from workbench_handlers.workspace.ignore import ALWAYS_IGNORED, IgnoreRules, rules_above
from workbench_handlers.workspace.open import entries_of, open_file, open_folder, open_subfolder
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import DEEPEST, kind_of

LEFT_OUT: Final = ALWAYS_IGNORED | {"dist", "build", "out", ".next", "coverage"}
"""Folders that are never shown, unless they are asked for by name: section 6.3 of the specification, and their like."""

DEFAULT_FILES: Final = 500
MAX_FILES: Final = 2_000
"""Files of one map, whatever is asked for: each costs a sentence to write and to read."""
MAX_ENTRIES: Final = 500_000
"""Entries that are looked at."""
MAX_EXCLUDED: Final = 100
"""Names of what was left out that are given."""
MAX_MESSAGES: Final = 5
"""Folders that one warning names."""
LARGE_BYTES: Final = 1_000_000
"""From this size on a file is marked as large."""
SAMPLE_BYTES: Final = 8_192
"""How much of a file is looked at to tell text from the rest."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the map. `note` says what keeps it from being read, if something does: `binary, 34 kB`."""

    located: Located
    note: str = ""

    @property
    def path(self) -> str:
        """Its path from the root, with forward slashes, as `readable` writes it."""
        return readable("/".join(self.located.parts))


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a folder, in path order. `total` counts those that were found, also those that are not listed.

    `excluded` names what was left out: a name of the fixed list once, wherever it stands, and paths that `.gitignore`
    files name. `depth` is the deepest level of folders that was looked into; the folder itself is 1.
    """

    files: tuple[ListedFile, ...]
    total: int
    excluded: tuple[str, ...]
    depth: int
    warnings: tuple[str, ...]


def readable(text: str) -> str:
    r"""Give `text` as it can be sent: in file names, bytes that are no UTF-8 stand as `\xe9`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # halves of characters, which names of Windows may hold
        return text.encode("utf-8", "backslashreplace").decode()


def file_list(top: Located, scan: Scan, *, depth: int | None = None, most: int | None = None) -> FileList:
    """List the files below `top`, no link followed, at most `depth` levels down and at most `most` files.

    If there are more, those nearest to the top are taken, so that no large folder hides the others.

    Raises:
        ToolError: `top` is no folder that can be read.
        ScanStoppedError: the scan was stopped.
    """
    wanted = min(most or DEFAULT_FILES, MAX_FILES)
    survey = _Survey(scan, min(depth or DEEPEST, DEEPEST))
    found = list(survey.files(top))
    taken = heapq.nsmallest(wanted, found, key=lambda file: (len(file.parts), file.parts))
    warnings = list(survey.warnings(is_limited=bool(depth and depth <= DEEPEST)))
    if len(found) > len(taken):
        total = f"{len(found):,}" if not survey.is_cut else f"at least {len(found):,}"
        warnings.insert(0, f"Exceeded maxFiles limit; showing first {len(taken):,} of {total} files")
    if most and most > MAX_FILES:
        warnings.insert(0, f"maxFiles is {MAX_FILES:,} at most: give a deeper path for the rest")
    excluded = sorted(survey.excluded)
    if len(excluded) > MAX_EXCLUDED:
        warnings.append(f"{len(excluded):,} names are excluded; showing the first {MAX_EXCLUDED}")
    files = tuple(_listed(file, scan) for file in sorted(taken, key=lambda file: file.parts))
    return FileList(files, len(found), tuple(excluded[:MAX_EXCLUDED]), survey.depth, tuple(warnings))


@dataclass(slots=True)
class _Survey:
    """A walk that leaves out what is ignored, and remembers what that was."""

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
        with open_folder(top) as descriptor:
            yield from self._folder(top, descriptor, rules.entering(top, descriptor), 1)

    def _folder(self, folder: Located, descriptor: int, rules: IgnoreRules, depth: int) -> Iterator[Located]:
        self.depth = max(self.depth, depth)
        for entry in entries_of(folder, descriptor):
            self.scan.step()
            self.is_cut = self.is_cut or self.scan.is_over or self.scan.seen > MAX_ENTRIES
            if self.is_cut:
                return
            kind, located = kind_of(entry), folder.child(entry.name)
            if self._is_left_out(located, rules, is_folder=kind == "directory"):
                continue
            if kind == "file":
                yield located
            elif kind == "directory":
                yield from self._subfolder(located, descriptor, rules, depth)
            self.links += kind == "link"

    def _subfolder(self, located: Located, parent: int, rules: IgnoreRules, depth: int) -> Iterator[Located]:
        if depth >= self.max_depth:
            self.deeper.append(_shown(located))
            return
        try:
            with open_subfolder(located, parent) as descriptor:
                yield from self._folder(located, descriptor, rules.entering(located, descriptor), depth + 1)
        except ToolError:  # no permission, or it is gone or became a link since it was listed
            self.unreadable.append(_shown(located))

    def _is_left_out(self, located: Located, rules: IgnoreRules, *, is_folder: bool) -> bool:
        name = located.parts[-1]
        if name in ALWAYS_IGNORED or (is_folder and name in LEFT_OUT):
            self.excluded.add(name)
        elif rules.ignores(located.parts, is_folder=is_folder):
            self.excluded.add(_shown(located))
        else:
            return False
        return True

    def warnings(self, *, is_limited: bool) -> Iterator[str]:
        """Say what is missing that nobody asked to leave out."""
        if self.is_cut:
            yield f"The folder is too large: stopped after {self.scan.seen:,} entries; give a deeper path"
        if self.unreadable:
            yield f"Could not be read: {_some(self.unreadable)}"
        if self.deeper and not is_limited:
            yield f"Deeper than {DEEPEST} levels, so left out: {_some(self.deeper)}"
        if self.links:
            yield f"{self.links:,} symbolic {'link was' if self.links == 1 else 'links were'} not followed"


def _shown(located: Located) -> str:
    return readable("/".join(located.parts))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MAX_MESSAGES:,} more" if len(names) > MAX_MESSAGES else ""
    return ", ".join(names[:MAX_MESSAGES]) + more


def _listed(located: Located, scan: Scan) -> ListedFile:
    """Look into a file, as far as time allows."""
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
