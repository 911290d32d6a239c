"""Move files and directories inside the roots, without replacing anything and without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from toolmason_runtime import ToolError

from workbench_handlers.workspace.atomic import Entry, rename_new, sync_directory
from workbench_handlers.workspace.open import CAN_WALK, near
from workbench_handlers.workspace.roots import Located, Root, candidates, locate
from workbench_handlers.workspace.write import check_not_uri, check_writable_path, is_directory, open_for_change


def locate_entry(path: str, roots: Sequence[Root]) -> Located:
    """Locate a path without following a link in its last component. The entry may be missing.

    Raises:
        RefusedPathError: see `locate_for_writing`.
    """
    located = locate(path, roots)
    directory, name = os.path.split(candidates(path, roots)[0].rstrip("/"))
    if located.parts and name not in {"", ".", ".."}:
        located = locate(directory, roots).child(name)
    check_not_uri(path, located, roots)
    check_writable_path(path, located)
    return located


def check_move(source: Located, destination: Located) -> None:
    """Raise the error that `move_path` would raise now."""
    with _open_move(source, destination):
        return


def move_path(source: Located, destination: Located, *, walk: bool = CAN_WALK) -> None:
    """Move a file or directory to a path that does not exist, in an existing directory.

    Raises:
        ToolError: the source is neither a file nor a directory, the destination exists, or the move failed.
    """
    with _open_move(source, destination, walk=walk) as (old, new):
        try:
            rename_new(Entry.of(source, old), Entry.of(destination, new))
        except FileExistsError:
            raise _existing_error(destination) from None
        sync_directory(new)
        sync_directory(old)


@contextmanager
def _open_move(source: Located, destination: Located, *, walk: bool = CAN_WALK) -> Iterator[tuple[int, int]]:
    """Open the directories of a valid move and yield their descriptors."""
    if not os.path.lexists(source.path):
        raise _missing_error(source)
    if not is_directory(destination.parent):
        message = f"no such directory: `{destination.parent.shown}`; create it with create_directory"
        raise ToolError(message, code="NOT_FOUND")
    if destination.path != source.path and destination.path.is_relative_to(source.path):
        raise ToolError(
            f"`{source.shown}` cannot be moved into itself: use another destination", code="INVALID_ARGUMENT"
        )
    with open_for_change(source, walk=walk) as old, open_for_change(destination, walk=walk) as new:
        _check_movable(source, Entry.of(source, old).status())
        if Entry.of(destination, new).status() is not None:
            raise _existing_error(destination)
        yield old, new


def _missing_error(source: Located) -> ToolError:
    return ToolError(f"no such file or directory: `{source.shown}`{near(source)}", code="NOT_FOUND")


def _existing_error(destination: Located) -> ToolError:
    message = f"`{destination.shown}` exists and is not replaced: use another destination, with its file name"
    return ToolError(message, code="FILE_EXISTS")


def _check_movable(source: Located, status: os.stat_result | None) -> None:
    if status is None:
        raise _missing_error(source)
    if stat.S_ISLNK(status.st_mode):
        message = f"`{source.shown}` is a symbolic link: send the path of its target, or ask the user to move the link"
        raise ToolError(message, code="NOT_A_FILE")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ToolError(f"`{source.shown}` is a pipe, socket or device and cannot be moved", code="NOT_A_FILE")
