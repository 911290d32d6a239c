"""Compare rendered files with a snapshot of a directory, for both `write` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from toolmason_runtime.shared.checksum import CHECKSUM_FILE, Checksums, State, is_signable, verify, with_lf

from toolmason.model.checksum import checksum_file, parse_checksums
from toolmason.model.rendered_file import RenderedFile
from toolmason.write.changes import Change, ChangeKind
from toolmason.write.snapshot import MAX_FILE_BYTES, Kind, Snapshot, is_hidden, is_unchanged, locate

PathFilter = Callable[[PurePosixPath], bool]
"""Selects the paths of a run. Other files are not written, pruned or reported."""

_NOTES: Final = {
    Kind.FILE: "a file that was not generated",
    Kind.LINK: "a symbolic link",
    Kind.DIRECTORY: "a directory with other files",
    Kind.OTHER: "neither a file nor a directory",
    Kind.SKIPPED: "a directory that toolmason does not read",
}

CHECKSUMS_MISSING: Final = f"cannot be identified as generated, because {CHECKSUM_FILE} is missing"
"""Note on a file of a kind that cannot contain its own hash."""


def accept_all(_path: PurePosixPath) -> bool:
    """Select every path."""
    return True


def compare(files: Iterable[RenderedFile], snapshot: Snapshot, part: PathFilter = accept_all) -> tuple[Change, ...]:
    """Return the differences between `snapshot` and `files` in path order.

    The list of hashes is computed here: from `files`, and from the list on disk for paths outside `part`.
    """
    listed = _listing_on_disk(snapshot)
    rendered = _contents(files, listed, part)
    extra = {
        name: kind
        for name, kind in snapshot.kinds.items()
        if name not in rendered
        and kind not in {Kind.DIRECTORY, Kind.SKIPPED}
        and (name == CHECKSUM_FILE.as_posix() or part(PurePosixPath(name)))
    }
    directories = {parent.as_posix() for name in rendered for parent in PurePosixPath(name).parents[:-1]}
    changes: dict[str, Change] = {}
    for name, kind in extra.items():
        if change := _classify_extra(name, kind, snapshot, listed, is_needed=name in directories):
            changes[name] = change
    pruned = {name for name, change in changes.items() if change.kind is ChangeKind.PRUNED}
    for name, file in rendered.items():
        if change := _classify_rendered(name, file, snapshot, listed, pruned):
            changes[name] = change
        else:
            # Release it: the contents of a large project need much memory.
            snapshot.contents.pop(name, None)
    changes.update(_blocked_directories(directories, snapshot, changes))
    return tuple(changes[name] for name in sorted(changes))


def _listing_on_disk(snapshot: Snapshot) -> Checksums:
    name = CHECKSUM_FILE.as_posix()
    data = snapshot.read(name) if snapshot.kinds.get(name) is Kind.FILE else None
    return parse_checksums(data or b"")


def _contents(files: Iterable[RenderedFile], listed: Checksums, part: PathFilter) -> dict[str, RenderedFile]:
    """Return the files in `part` by their names, with the list of hashes."""
    selected = [file for file in files if file.path != CHECKSUM_FILE and part(file.path)]
    other_hashes = {name: hashes for name, hashes in listed.items() if not part(PurePosixPath(name))}
    hashes_file = checksum_file(selected, kept=other_hashes)
    if hashes_file is not None:
        selected.append(hashes_file)
    return {file.path.as_posix(): file for file in selected}


def _classify_extra(name: str, kind: Kind, snapshot: Snapshot, listed: Checksums, *, is_needed: bool) -> Change | None:
    """Return the change for an entry that is not a rendered file. `is_needed`: the path is a rendered directory."""
    path = PurePosixPath(name)
    data = None
    if kind is Kind.FILE and (is_signable(path) or name in listed):
        data = snapshot.read(name)
    state = State.UNSIGNED if data is None else verify(path, data, listed)
    if state is State.VALID:
        return Change(path=path, kind=ChangeKind.PRUNED, on_disk=data)
    if state is State.EDITED:
        return Change(path=path, kind=ChangeKind.EDITED, on_disk=data)
    if is_needed:
        on_disk = snapshot.read(name) if kind is Kind.FILE else None
        is_permanent = on_disk is None and kind is not Kind.LINK
        note = _NOTES[kind]
        return Change(path=path, kind=ChangeKind.BLOCKED, on_disk=on_disk, note=note, is_permanent=is_permanent)
    return None if is_hidden(name) else Change(path=_printable_path(name), kind=ChangeKind.FOREIGN)


def _classify_rendered(
    name: str, file: RenderedFile, snapshot: Snapshot, listed: Checksums, pruned: set[str]
) -> Change | None:
    """Return the change for the path of a rendered file, None if its content is right."""
    path = PurePosixPath(name)
    rendered = file.text
    kind = snapshot.kinds.get(name)
    if kind is None:
        return Change(path=path, kind=ChangeKind.CREATED, rendered=rendered)
    if kind is Kind.FILE:
        if name not in snapshot.contents and is_unchanged(locate(snapshot.directory, name), file.disk_state):
            return None
        is_list_missing = CHECKSUM_FILE.as_posix() not in snapshot.kinds and not is_signable(path)
        note = CHECKSUMS_MISSING if is_list_missing else _NOTES[Kind.FILE]
        # A rendered file may exceed the limit for other files. With CRLF line ends, it has up to twice its size.
        content = rendered.encode()
        on_disk = snapshot.read(name, max_bytes=max(MAX_FILE_BYTES, 2 * len(content)))
        if on_disk is not None and (on_disk == content or with_lf(on_disk) == content):
            return None
        return _classify_file(path, rendered, on_disk, listed, note)
    if kind is Kind.DIRECTORY:
        below = [entry for entry in snapshot.kinds if entry.startswith(f"{name}/")]
        if all(entry in pruned or snapshot.kinds[entry] is Kind.DIRECTORY or _is_bytecode(entry) for entry in below):
            return Change(path=path, kind=ChangeKind.CREATED, rendered=rendered)
    is_permanent = kind is not Kind.LINK
    note = _NOTES[kind]
    return Change(path=path, kind=ChangeKind.BLOCKED, rendered=rendered, note=note, is_permanent=is_permanent)


def _classify_file(
    path: PurePosixPath, rendered: str, on_disk: bytes | None, listed: Checksums, unsigned_note: str
) -> Change:
    if on_disk is None:
        note = "a file that cannot be read"
        return Change(path=path, kind=ChangeKind.BLOCKED, rendered=rendered, note=note, is_permanent=True)
    state = verify(path, on_disk, listed)
    if state is State.UNSIGNED:
        return Change(path=path, kind=ChangeKind.BLOCKED, on_disk=on_disk, rendered=rendered, note=unsigned_note)
    kind = ChangeKind.CHANGED if state is State.VALID else ChangeKind.EDITED
    return Change(path=path, kind=kind, on_disk=on_disk, rendered=rendered)


def _blocked_directories(
    directories: Iterable[str], snapshot: Snapshot, changes: dict[str, Change]
) -> Iterator[tuple[str, Change]]:
    """Yield other entries at the paths of directories, outside the part that was compared."""
    for name in directories:
        kind = snapshot.kinds.get(name)
        if kind not in {None, Kind.DIRECTORY} and name not in changes:
            note = _NOTES[kind]
            yield name, Change(path=PurePosixPath(name), kind=ChangeKind.BLOCKED, note=note, is_permanent=True)


def _is_bytecode(name: str) -> bool:
    return name.rpartition("/")[2] == "__pycache__"


def _printable_path(name: str) -> PurePosixPath:
    """Return the path with escapes for bytes that are not UTF-8."""
    return PurePosixPath(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
