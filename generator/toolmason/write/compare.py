"""The one comparison that `write` and `check` share, so that they cannot disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from toolmason.model.checksum import LISTING, Listing, State, is_signable, listing, parse_listing, verify
from toolmason.model.rendered_file import RenderedFile
from toolmason.write.changes import Change, ChangeKind
from toolmason.write.snapshot import MAX_FILE_BYTES, Kind, Snapshot, is_hidden

Part = Callable[[PurePosixPath], bool]
"""Says which paths a run is about. Files outside are neither written nor pruned nor reported."""

_NOTES = {
    Kind.FILE: "a file that toolmason did not make",
    Kind.LINK: "a symbolic link",
    Kind.FOLDER: "a folder with other files in it",
    Kind.OTHER: "something that is neither file nor folder",
    Kind.UNSEEN: "a folder that toolmason does not look into",
}

UNLISTED: Final = f"a file that only {LISTING} could tell to be ours, and that list is missing"
"""Note on a file that cannot carry its own hash, where the list of hashes is gone."""


def everything(_path: PurePosixPath) -> bool:
    """Take every path: the part that is the whole."""
    return True


def compare(files: Iterable[RenderedFile], snapshot: Snapshot, part: Part = everything) -> tuple[Change, ...]:
    """List how `snapshot` differs from `files`, in path order.

    The list of unsigned kinds is made here from those of `files` and, outside `part`, from the present list.
    """
    listed = _present_listing(snapshot)
    wanted = _wanted(files, listed, part)
    found = {
        name: kind
        for name, kind in snapshot.kinds.items()
        if kind not in {Kind.FOLDER, Kind.UNSEEN} and (name == LISTING.as_posix() or part(PurePosixPath(name)))
    }
    folders = {parent.as_posix() for name in wanted for parent in PurePosixPath(name).parents[:-1]}
    changes: dict[str, Change] = {}
    for name, kind in found.items():
        if name not in wanted:
            change = _unwanted(name, kind, snapshot, listed, is_needed=name in folders)
            if change is not None:
                changes[name] = change
    pruned = {name for name, change in changes.items() if change.kind is ChangeKind.PRUNED}
    for name, data in wanted.items():
        change = _compared(name, data, snapshot, listed, pruned)
        if change is not None:
            changes[name] = change
    changes.update(_blocking_parents(folders, snapshot, changes))
    return tuple(changes[name] for name in sorted(changes))


def _present_listing(snapshot: Snapshot) -> Listing:
    name = LISTING.as_posix()
    data = snapshot.read(name) if snapshot.kinds.get(name) is Kind.FILE else None
    return parse_listing(data or b"")


def _wanted(files: Iterable[RenderedFile], listed: Listing, part: Part) -> dict[str, bytes]:
    chosen = [file for file in files if file.path != LISTING and part(file.path)]
    kept = {name: hashes for name, hashes in listed.items() if not part(PurePosixPath(name))}
    sums = listing(chosen, kept=kept)
    if sums is not None:
        chosen.append(sums)
    return {file.path.as_posix(): file.text.encode("utf-8") for file in chosen}


def _unwanted(name: str, kind: Kind, snapshot: Snapshot, listed: Listing, *, is_needed: bool) -> Change | None:
    """Judge an entry at a path where no file is rendered. `is_needed` says that a folder is needed there."""
    path = PurePosixPath(name)
    data = None
    if kind is Kind.FILE and (is_signable(path) or name in listed):
        data = snapshot.read(name)
    state = State.UNSIGNED if data is None else verify(path, data, listed)
    if state is State.VALID:
        return Change(path=path, kind=ChangeKind.PRUNED, found=data)
    if state is State.EDITED:
        return Change(path=path, kind=ChangeKind.EDITED, found=data)
    if is_needed:
        found = snapshot.read(name) if kind is Kind.FILE else None
        fixed = found is None and kind is not Kind.LINK
        return Change(path=path, kind=ChangeKind.BLOCKED, found=found, note=_NOTES[kind], fixed=fixed)
    return None if is_hidden(name) else Change(path=_shown(name), kind=ChangeKind.FOREIGN)


def _compared(name: str, wanted: bytes, snapshot: Snapshot, listed: Listing, pruned: set[str]) -> Change | None:
    """Judge what stands where the file `name` is rendered. None if that is what is rendered."""
    path = PurePosixPath(name)
    kind = snapshot.kinds.get(name)
    if kind is None:
        return Change(path=path, kind=ChangeKind.CREATED, wanted=wanted)
    if kind is Kind.FILE:
        is_list_missing = LISTING.as_posix() not in snapshot.kinds and not is_signable(path)
        note = UNLISTED if is_list_missing else _NOTES[Kind.FILE]
        # Our own may be larger than others; twice, for CRLF line ends.
        found = snapshot.read(name, max_bytes=max(MAX_FILE_BYTES, 2 * len(wanted)))
        return _compared_file(path, wanted, found, listed, note)
    if kind is Kind.FOLDER:
        below = [entry for entry in snapshot.kinds if entry.startswith(f"{name}/")]
        if all(entry in pruned or snapshot.kinds[entry] is Kind.FOLDER or _is_bytecode(entry) for entry in below):
            return Change(path=path, kind=ChangeKind.CREATED, wanted=wanted)
    fixed = kind is not Kind.LINK
    return Change(path=path, kind=ChangeKind.BLOCKED, wanted=wanted, note=_NOTES[kind], fixed=fixed)


def _compared_file(
    path: PurePosixPath, wanted: bytes, found: bytes | None, listed: Listing, unsigned: str
) -> Change | None:
    """Judge a file; `unsigned` is the note on one that has no signature of ours."""
    if found is None:
        note = "a file that cannot be read"
        return Change(path=path, kind=ChangeKind.BLOCKED, wanted=wanted, note=note, fixed=True)
    if found == wanted or found.replace(b"\r\n", b"\n") == wanted:
        return None
    state = verify(path, found, listed)
    if state is State.UNSIGNED:
        return Change(path=path, kind=ChangeKind.BLOCKED, found=found, wanted=wanted, note=unsigned)
    kind = ChangeKind.CHANGED if state is State.VALID else ChangeKind.EDITED
    return Change(path=path, kind=kind, found=found, wanted=wanted)


def _blocking_parents(
    folders: Iterable[str], snapshot: Snapshot, changes: dict[str, Change]
) -> Iterator[tuple[str, Change]]:
    """Find what stands in the place of needed folders and lies outside the part that was compared."""
    for name in folders:
        kind = snapshot.kinds.get(name)
        if kind not in {None, Kind.FOLDER} and name not in changes:
            yield name, Change(path=PurePosixPath(name), kind=ChangeKind.BLOCKED, note=_NOTES[kind], fixed=True)


def _is_bytecode(name: str) -> bool:
    return name.rpartition("/")[2] == "__pycache__"


def _shown(name: str) -> PurePosixPath:
    """Give a path that can be printed, also where a file's name is not UTF-8."""
    return PurePosixPath(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
