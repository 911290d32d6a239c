"""Makes sure that git works on a repository inside of the roots, before it is run on one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program, isolation

from workbench_handlers.git.ask import ask
from workbench_handlers.git.refusals import check_git_folders, check_index, check_settings
from workbench_handlers.workspace.roots import RefusedPathError, Root, real_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a tool of git goes: `files` if it looks at the working tree, `commits` if it makes a commit."""

    files: bool = False
    commits: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository is. `own` differs from `common` in a linked working tree; `top` is empty without files."""

    own: str
    common: str
    top: str

    @property
    def folder(self) -> str:
        """The folder that git works from."""
        return self.top or self.own


async def check_repository(
    program: Program, folder: str, roots: Sequence[Root], reach: Reach, *, runs_filters: bool = False
) -> None:
    """Make sure that the repository around a folder is inside of the roots, and that git may run on it.

    In a sandbox there is no more to see to, unless `runs_filters` says that git can run programs there.

    Raises:
        ToolError: there is none, or git may not be run on it.
    """
    how = isolation()
    if how == "landlock" and not reach.commits and _is_plain(folder, roots):
        top = folder
    else:
        found = await _repository(program, folder, roots)
        top = found.folder
        if reach.commits:
            await _check_autostash(program, found)
        if not how:
            await asyncio.to_thread(check_git_folders, (found.own, found.common))
            if reach.files and found.top:
                await check_index(program, found.top)
    if how != "landlock" or runs_filters:
        await check_settings(program, top, files=reach.files, harmless_only=not how)


def _is_plain(folder: str, roots: Sequence[Root]) -> bool:
    """Whether the repository is an ordinary `.git` in a directory inside of the roots: git need not be asked then."""
    path = Path(folder)
    for each in (path, *path.parents):
        if not any(each.is_relative_to(root.path) for root in roots):
            return False
        place = each / ".git"
        if place.is_symlink() or place.is_file() or (each / "HEAD").exists():
            return False
        if place.is_dir():
            return not (place / "commondir").exists() and b"worktree" not in _start_of(place / "config").lower()
    return False


def _start_of(path: Path) -> bytes:
    """Return the settings of a repository; what is odd about them is for git to look at."""
    try:
        if not path.is_file():
            return b"worktree"
        with path.open("rb") as file:
            return file.read(64 * 1024)
    except OSError:
        return b"worktree"


async def _repository(program: Program, folder: str, roots: Sequence[Root]) -> Repository:
    said = await ask(program, folder, "rev-parse", *_ASKED)
    places = said.text.removesuffix("\n").split("\n") if said.text else []
    if not places:
        raise ToolError(said.error or "git finds no repository here", code="NO_REPOSITORY")
    if len(places) != (len(_ASKED) - 1 if not said.is_failure else len(_ASKED) - 2):
        raise ToolError("git does not say where the repository is: 2.31 or later is needed", code="CANNOT_READ")
    for place in places:
        if not (Path(place).is_absolute() and _is_inside(place, roots)):
            message = (
                f"`{folder}` belongs to a repository outside of the allowed directories, at `{place}`: ask the user to "
                "allow that one too"
            )
            raise RefusedPathError(message, reason="Repository is outside project root", resolved=place)
    own, common, *top = places
    return Repository(own, common, *top or [""])


def _is_inside(path: str, roots: Sequence[Root]) -> bool:
    real = Path(real_path(path))
    return any(real.is_relative_to(root.path) for root in roots)


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


async def _check_autostash(program: Program, found: Repository) -> None:
    """Make sure that a commit ends no `git merge --autostash`: that would merge files, with programs of settings."""
    said = await ask(program, found.folder, "rev-parse", "--quiet", "--verify", _AUTOSTASH)
    if not said.is_failure or _is_there(f"{found.own}/{_AUTOSTASH}"):
        message = "this commit would end a merge with `--autostash`, which changes files: leave it to the user"
        raise ToolError(message, code="NOT_ALLOWED")


_ASKED: Final = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
"""`--path-format` is of git 2.31, as `GIT_CONFIG_COUNT` is, which an older one would not heed."""
_AUTOSTASH: Final = "MERGE_AUTOSTASH"
