"""Check that the repository of a call is inside the roots, before git runs in it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program, isolation

from workbench_handlers.git.refusals import check_git_directories, check_index, check_settings
from workbench_handlers.git.run_git import run_git
from workbench_handlers.workspace.probe import exists, is_directory, is_file, is_link
from workbench_handlers.workspace.roots import RefusedPathError, Root, real_path


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAccess:
    """Access of a git tool: `files` if it reads the working tree, `commits` if it creates commits."""

    files: bool = False
    commits: bool = False


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


async def check_repository(
    program: Program, directory: str, roots: Sequence[Root], access: GitAccess, *, runs_filters: bool = False
) -> None:
    """Check that the repository around a directory is inside the roots and safe for git.

    In a sandbox its settings need no check, unless git may run filters there (`runs_filters`).

    Raises:
        ToolError: there is no repository, or git must not run in it.
    """
    how = isolation()
    checks: list[Coroutine[Any, Any, None]] = []
    if how == "landlock" and not access.commits and _is_ordinary(directory, roots):
        top = directory
    else:
        repository = await _repository(program, directory, roots)
        top = repository.directory
        if access.commits:
            await _check_autostash(program, repository)
        if not how:  # no sandbox
            await asyncio.to_thread(check_git_directories, (repository.own, repository.common))
            if access.files and repository.top:
                checks.append(check_index(program, repository.top))
    if how != "landlock" or runs_filters:
        checks.append(check_settings(program, top, files=access.files, inactive_only=not how))
    # Side by side, since each waits for a git of its own.
    for result in await asyncio.gather(*checks, return_exceptions=True):
        if result is not None:
            raise result


def _is_ordinary(directory: str, roots: Sequence[Root]) -> bool:
    """Return whether the repository is an ordinary `.git` directory inside the roots, so git need not locate it."""
    path = Path(directory)
    for ancestor in (path, *path.parents):
        if not any(ancestor.is_relative_to(root.path) for root in roots):
            return False
        git_path = ancestor / ".git"
        if is_link(git_path) or is_file(git_path) or exists(ancestor / "HEAD"):
            return False
        if is_directory(git_path):
            return not exists(git_path / "commondir") and b"worktree" not in _read_config(git_path / "config").lower()
    return False


def _read_config(path: Path) -> bytes:
    """Return the start of a repository's config; `worktree` if it is unusual, so that git checks it."""
    try:
        if not is_file(path):
            return b"worktree"
        with path.open("rb") as file:
            return file.read(64 * 1024)
    except OSError:
        return b"worktree"


async def _repository(program: Program, directory: str, roots: Sequence[Root]) -> Repository:
    output = await run_git(program, directory, "rev-parse", *_REV_PARSE_OPTIONS)
    paths = output.text.removesuffix("\n").split("\n") if output.text else []
    if not paths:
        raise ToolError(output.error or "not a git repository", code="NO_REPOSITORY")
    if len(paths) != (len(_REV_PARSE_OPTIONS) - 1 if not output.is_failure else len(_REV_PARSE_OPTIONS) - 2):
        raise ToolError("git cannot locate the repository: git 2.31 or later is required", code="CANNOT_READ")
    for path in paths:
        if not (Path(path).is_absolute() and _is_inside(path, roots)):
            message = (
                f"`{directory}` belongs to a repository outside the allowed directories, at `{path}`: ask the user "
                "to allow it too"
            )
            raise RefusedPathError(message, reason="Repository is outside project root", resolved=path)
    own, common, *top = paths
    return Repository(own, common, *top or [""])


def _is_inside(path: str, roots: Sequence[Root]) -> bool:
    real = Path(real_path(path))
    return any(real.is_relative_to(root.path) for root in roots)


def _exists(path: str) -> bool:
    return is_link(path) or exists(path)


async def _check_autostash(program: Program, repository: Repository) -> None:
    """Check that a commit does not end a `git merge --autostash`, which would merge files and could run programs."""
    output = await run_git(program, repository.directory, "rev-parse", "--quiet", "--verify", _AUTOSTASH)
    if not output.is_failure or _exists(f"{repository.own}/{_AUTOSTASH}"):
        message = "this commit would end a merge with `--autostash`, which changes files: ask the user to run it"
        raise ToolError(message, code="NOT_ALLOWED")


_REV_PARSE_OPTIONS: Final = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
"""`--path-format` needs git 2.31, and so does `GIT_CONFIG_COUNT`, which older versions ignore."""
_AUTOSTASH: Final = "MERGE_AUTOSTASH"
