"""Makes sure that git stays inside of the roots and runs nothing of a repository's own, before it is run on one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolwright_runtime import ToolError
from toolwright_runtime.command_line.spec import Program

from workbench.guarding.asking import ask
from workbench.guarding.inside import is_inside
from workbench.guarding.links import check_links
from workbench.guarding.settings import check_settings
from workbench.roots import RefusedPathError, Root

MOST_SUBMODULES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a tool of git goes.

    `files` says whether it looks at files of the working tree, `submodules` whether it runs git in submodules, and
    `commits` whether it makes a commit.
    """

    files: bool = False
    submodules: bool = False
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


async def check_repository(program: Program, folder: str, roots: Sequence[Root], reach: Reach) -> None:
    """Make sure of the repository around a folder: where it is, what it leads to, and what its settings name.

    Raises:
        ToolError: there is none, or git may not be run on it.
    """
    waiting, seen = [folder], set[str]()
    while waiting:
        if len(seen) > MOST_SUBMODULES:
            message = f"the repository has more than {MOST_SUBMODULES} submodules: leave it to the user"
            raise ToolError(message, code="TOO_LARGE")
        found = await _repository(program, waiting.pop(), roots)
        if found.own in seen:
            continue
        is_first = not seen
        seen.add(found.own)
        await asyncio.to_thread(check_links, (found.own, found.common), roots)
        await check_settings(
            program,
            found.folder,
            (found.folder, found.own, found.common, *([folder] if is_first else [])),
            roots,
            filters=reach.files and (is_first or reach.submodules),
        )
        if reach.commits and is_first:
            await _check_autostash(program, found)
        if reach.files and found.top:
            waiting += await _submodules(program, found.top)


async def _repository(program: Program, folder: str, roots: Sequence[Root]) -> Repository:
    said = await ask(program, folder, "rev-parse", *_ASKED)
    places = said.text.removesuffix("\n").split("\n") if said.text else []
    if not places:
        raise ToolError(said.error or "git finds no repository here", code="NO_REPOSITORY")
    if len(places) != (len(_ASKED) - 1 if not said.is_failure else len(_ASKED) - 2):
        raise ToolError("git does not say where the repository is: 2.31 or later is needed", code="CANNOT_READ")
    for place in places:
        if not (Path(place).is_absolute() and is_inside(place, roots)):
            message = (
                f"`{folder}` belongs to a repository outside of the allowed directories, at `{place}`: ask the user to "
                "allow that one too"
            )
            raise RefusedPathError(message, reason="Repository is outside project root", resolved=place)
    own, common, *top = places
    return Repository(own, common, *top or [""])


async def _submodules(program: Program, top: str) -> list[str]:
    """Give the folders of submodules that are there, and look at the names of all files on the way.

    git believes its index: a file that is called `../x` there is read.
    """
    said = await ask(program, top, "ls-files", "--stage", "-z")
    if said.is_failure:
        raise ToolError(f"the index of the repository cannot be read: {said.error}", code="CANNOT_READ")
    found = []
    for mode, name in _listed(said.text):
        if name.startswith("/") or ".." in name.split("/"):
            message = f"the index of the repository names a file outside of it, `{name}`: ask the user to look at it"
            raise RefusedPathError(message, reason="Index leads outside project root", resolved=name)
        folder = os.path.join(top, name)  # noqa: PTH118  text
        if mode == _SUBMODULE and _is_there(folder, ".git"):
            found.append(folder)
    return found


def _is_there(folder: str, name: str) -> bool:
    return os.path.lexists(f"{folder}/{name}")


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """Give mode and name of each file of an index."""
    for line in text.split("\0"):
        if line:
            about, _, name = line.partition("\t")
            yield about.partition(" ")[0], name


async def _check_autostash(program: Program, found: Repository) -> None:
    """Make sure that a commit ends no `git merge --autostash`: that would merge files, with programs of settings."""
    said = await ask(program, found.folder, "rev-parse", "--quiet", "--verify", _AUTOSTASH)
    if _is_there(found.own, _AUTOSTASH) or not said.is_failure:
        message = "this commit would end a merge with `--autostash`, which changes files: leave it to the user"
        raise ToolError(message, code="NOT_ALLOWED")


_ASKED: Final = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
"""`--path-format` is of git 2.31, as `GIT_CONFIG_COUNT` is, which an older one would not heed."""
_AUTOSTASH: Final = "MERGE_AUTOSTASH"
_SUBMODULE: Final = "160000"
