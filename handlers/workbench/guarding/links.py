"""Looks for ways out of the folder where a repository keeps its history: links, and objects borrowed elsewhere.

git follows both, to read and to write, whatever the roots are. Looked at is every entry of that folder that git reads
or writes by a name of its own, and what is borrowed of other repositories, likewise. Not looked at are:

- single loose objects, since there may be very many: a link in place of one shows at most an object of git, of another
  repository, whose hash is known to whoever made the link;
- hooks, which do not run, and what Git LFS and git-annex keep there;
- hard links, which are files like any other, and what changes between this look and the run of git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from toolwright_runtime import ToolError

from workbench.guarding.inside import is_inside
from workbench.roots import RefusedPathError, Root, real_path

MOST_ENTRIES: Final = 500_000
"""Entries that are looked at: a second or two. Packed references are one entry."""
MOST_BORROWED: Final = 64
"""Repositories that objects are borrowed from; git itself goes five deep."""
MOST_ALTERNATES: Final = 256 * 1024
"""Bytes of a list of such repositories."""
PASSED_OVER: Final = frozenset({"hooks", "lfs", "annex", "modules"})
"""Folders of git's folder that are not gone into. Those of submodules are checked as repositories of their own."""

_LOOSE = re.compile("[0-9a-f]{2}")


def check_links(places: Sequence[str], roots: Sequence[Root]) -> None:
    """Make sure that no link in git's folders leads outside of the roots, nor the list of borrowed objects.

    Raises:
        ToolError: one does, or there is too much to look at.
    """
    seen: set[str] = set()
    left = MOST_ENTRIES
    for place in places:
        left = _check_folder(place, roots, seen, left)
    stores = [os.path.join(place, "objects") for place in places]  # noqa: PTH118  text, as everywhere here
    for store in stores:  # grows
        borrowed = list(_borrowed(store))
        for path in borrowed:
            if not is_inside(path, roots):
                raise _refused(f"{store}/info/alternates", path)
        stores += [path for path in borrowed if path not in stores]
        left = _check_folder(store, roots, seen, left, is_store=True)
        if len(stores) > MOST_BORROWED:
            raise _too_much()


def _check_folder(top: str, roots: Sequence[Root], seen: set[str], left: int, *, is_store: bool = False) -> int:
    """Look at what is below `top`; give how many entries may still be looked at. Links to folders are followed."""
    waiting = [(top, is_store)]
    while waiting:
        folder, is_store = waiting.pop()
        real = real_path(folder)
        if real in seen:
            continue
        seen.add(real)
        for entry in _entries(real):
            left -= 1
            if left < 0:
                raise _too_much()
            is_top = folder == top and not is_store
            if is_top and entry.name in PASSED_OVER:
                continue
            if entry.is_symlink() and not is_inside(entry.path, roots):
                raise _refused(entry.path, real_path(entry.path))
            if _is_folder(entry) and not (is_store and _LOOSE.fullmatch(entry.name)):
                waiting.append((entry.path, is_top and entry.name == "objects"))
    return left


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # git cannot go there either
        return False


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Give what is in a folder; nothing if it is not there or cannot be read, which git cannot either."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _borrowed(store: str) -> Iterator[str]:
    """Give the folders of objects that those in `store` are completed by."""
    try:
        with Path(store, "info", "alternates").open("rb") as file:
            lines = file.read(MOST_ALTERNATES + 1)
    except OSError:  # there is none, as nearly always
        return
    if len(lines) > MOST_ALTERNATES:
        raise _too_much()
    for line in lines.split(b"\n"):
        if line.startswith(b'"'):
            message = f"`{store}/info/alternates` has a quoted path, which is not understood here: ask the user to look"
            raise ToolError(message, code="CANNOT_READ")
        if line and not line.startswith(b"#"):
            yield os.path.join(store, os.fsdecode(line))  # noqa: PTH118  `Path` would fold a `..` away


def _refused(path: str, resolved: str) -> ToolError:
    message = (
        f"the repository leads outside of the allowed directories, at `{path}`: ask the user to look at it, and to "
        "allow the other directory too if git shall follow"
    )
    return RefusedPathError(message, reason="Repository leads outside project root", resolved=resolved)


def _too_much() -> ToolError:
    message = (
        "the repository has too many files of its own to be looked at: ask the user to run `git pack-refs --all` and "
        "`git gc` there"
    )
    return ToolError(message, code="TOO_LARGE")
