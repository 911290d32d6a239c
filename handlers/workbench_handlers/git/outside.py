"""Decide whether git may read a repository that is partly outside the roots, and which part of it.

The opened folder chooses its repository: git looks for `.git` upwards from it. A `.git` directory above the folder was
there before the folder was opened, so it may be read, restricted to the opened folder. A `.git` file or link inside
the folder could point anywhere, so the git directory must point back to the working tree: in a linked working tree by
its file `gitdir`, in a submodule by `core.worktree`. Both are written by git outside of the opened folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program

from workbench_handlers.git.run_git import run_git
from workbench_handlers.workspace.probe import exists, is_directory, is_file, is_link
from workbench_handlers.workspace.roots import RefusedPathError, Root, real_path

MAX_POINTER_BYTES: Final = 8192
"""Maximum bytes of the file `gitdir` of a linked working tree, which contains one path, and of `alternates`."""
_FILES_OF_TOP: Final = (".git", ".mailmap", ".gitmodules")
_FILES_OF_PARENTS: Final = (".gitignore", ".gitattributes")


@dataclass(frozen=True, slots=True)
class Repository:
    """The directories of a repository. `own` and `common` differ in a linked working tree; `top` is empty if bare."""

    own: str
    common: str
    top: str

    @property
    def directory(self) -> str:
        """The directory in which git runs."""
        return self.top or self.own

    @property
    def directories(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(filter(None, (self.own, self.common, self.top)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The part of a repository that a call may show.

    `reads` are paths outside the roots that git needs. `limit` is the directory to show, empty for the whole
    repository; `top` is the top of the working tree, empty if it is unknown or bare.
    """

    reads: tuple[str, ...] = ()
    limit: str = ""
    top: str = ""


async def reach(program: Program, repository: Repository, directory: str, roots: Sequence[Root]) -> Reach:
    """Return the part of a repository that git may show in `directory`, which is inside the roots.

    Raises:
        RefusedPathError: directories of the repository are outside the roots and must not be read.
    """
    outside = tuple(dict.fromkeys(path for path in repository.directories if not is_inside(path, roots)))
    if not outside:
        return Reach()
    own, common, top = (real_path(path) if path else "" for path in (repository.own, repository.common, repository.top))
    limit = _limit(top, directory, roots) if repository.top in outside else ""
    has_limit = bool(limit) or repository.top not in outside
    if not (top and has_limit and await _belongs_to(program, own, common, top, roots)):
        raise outside_error(directory, outside, roots, "and its git directory does not point back to this folder")
    files = _settings_above(top, limit) if limit else ()
    return Reach(reads=tuple(dict.fromkeys((own, common, *files))), limit=limit, top=top if limit else "")


def is_inside(path: str, roots: Sequence[Root]) -> bool:
    """Return whether a path, with its links followed, is inside a root."""
    real = Path(real_path(path))
    return any(real.is_relative_to(root.path) for root in roots)


def outside_error(directory: str, outside: Sequence[str], roots: Sequence[Root], reason: str) -> RefusedPathError:
    """Return the error for a repository with directories outside the roots, with the flags that allow all of them."""
    missing = _outermost(map(real_path, outside))
    flags = " ".join(f"--root {_quoted(path)}" for path in _outermost([*(str(root.path) for root in roots), *missing]))
    message = (
        f"`{directory}` belongs to a repository outside the allowed directories, at "
        f"{' and '.join(f'`{path}`' for path in missing)}, {reason}: ask the user to allow that too, by starting the "
        f"server with `{flags}`"
    )
    return RefusedPathError(message, reason="Repository is outside project root", resolved=missing[0])


def check_borrowed(repository: Repository, directory: str, roots: Sequence[Root]) -> None:
    """Refuse a repository with objects of another one outside the roots, as `git clone --shared` creates.

    Accesses the disk, so it may block.

    Raises:
        RefusedPathError: it has; the message names the directories of the others.
        ToolError: the list of the others is not a file, such as a pipe, for which git would wait.
    """
    objects = Path(repository.common, "objects")
    alternates = objects / "info" / "alternates"
    try:
        if is_link(alternates) or not exists(alternates):
            return
        if not is_file(alternates):
            raise ToolError(
                "`objects/info/alternates` of the repository is not a file: ask the user to remove it",
                code="NOT_ALLOWED",
            )
        with alternates.open("rb") as file:
            lines = os.fsdecode(file.read(MAX_POINTER_BYTES)).splitlines()
    except OSError:
        return
    # Only directories of objects are named: any other path is the choice of the project's files.
    others = [
        path.parent for path in (Path(os.path.normpath(objects / line)) for line in lines) if path.name == "objects"
    ]
    outside = [str(path) for path in others if str(path).isprintable() and not is_inside(str(path), roots)]
    if outside:
        raise outside_error(directory, outside, roots, "where a part of its objects is (`git clone --shared`)")


async def _belongs_to(program: Program, own: str, common: str, top: str, roots: Sequence[Root]) -> bool:
    """Return whether a git directory belongs to the working tree `top`. All paths are real ones."""
    entry = Path(top, ".git")
    if own == common and own == str(entry) and not is_link(entry) and is_directory(entry):
        return True
    if is_inside(own, roots):  # its files are part of the opened folder, so they prove nothing
        return False
    if Path(own).parent == Path(common, "worktrees"):  # so that `common` cannot be chosen by others
        return _pointer(Path(own, "gitdir")) == str(entry) and is_file(entry) and not is_link(entry)
    if own != common:
        return False
    output = await run_git(program, own, "config", "--file", f"{own}/config", "--null", "--get", "core.worktree")
    value = output.text.removesuffix("\0")
    return bool(value) and real_path(os.path.join(own, value)) == top  # noqa: PTH118  `value` may be absolute


def _pointer(path: Path) -> str:
    """Return the path in the file `gitdir` of a linked working tree, its directory with links followed."""
    try:
        if is_link(path) or not is_file(path):
            return ""
        with path.open("rb") as file:
            target = Path(path.parent, os.fsdecode(file.read(MAX_POINTER_BYTES)).removesuffix("\n"))
            return str(Path(real_path(target.parent), target.name))
    except (OSError, ValueError):
        return ""


def _limit(top: str, directory: str, roots: Sequence[Root]) -> str:
    """Return the outermost root around a directory below `top`; empty if there is none."""
    around = [str(root.path) for root in roots if Path(directory).is_relative_to(root.path)]
    return next(iter(_outermost(path for path in around if Path(path).is_relative_to(top))), "")


def _settings_above(top: str, limit: str) -> Iterator[str]:
    """Return the files above the opened folder that git reads: its `.git` file, ignore rules, attributes, names."""
    parents = [path for path in Path(limit).parents if path.is_relative_to(top)]
    files = [Path(top, name) for name in _FILES_OF_TOP]
    files += [Path(parent, name) for parent in parents for name in _FILES_OF_PARENTS]
    return (str(path) for path in files if is_file(path) and not is_link(path))


def _outermost(paths: Iterator[str] | Sequence[str] | map[str]) -> list[str]:
    """Return paths without those inside another one of them."""
    unique = list(dict.fromkeys(paths))
    return [path for path in unique if not any(path != other and Path(path).is_relative_to(other) for other in unique)]


def _quoted(path: str) -> str:
    return path if not any(mark in path for mark in " '\"\\$`*?") else "'" + path.replace("'", "'\\''") + "'"
