"""Check that the repository of a call is inside the roots, before git runs in it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program, isolation

from workbench_handlers.git.outside import Reach, Repository, check_borrowed, is_inside, outside_error, reach
from workbench_handlers.git.refusals import check_git_directories, check_index, check_settings
from workbench_handlers.git.run_git import run_git
from workbench_handlers.workspace.probe import exists, is_directory, is_file, is_link
from workbench_handlers.workspace.roots import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAccess:
    """Access of a git tool.

    It reads the working tree (`files`), writes to the git directory (`writes`), and creates commits (`commits`).
    """

    files: bool = False
    writes: bool = False
    commits: bool = False


async def check_repository(
    program: Program, directory: str, roots: Sequence[Root], access: GitAccess, *, runs_filters: bool = False
) -> Reach:
    """Check that the repository around a directory may be read and is safe for git; return the part to show.

    In a sandbox its settings need no check, unless git may run filters there (`runs_filters`).

    Raises:
        ToolError: there is no repository, or git must not run in it.
    """
    how = isolation()
    checks: list[Coroutine[Any, Any, None]] = []
    if how == "landlock" and not access.commits and _is_ordinary(directory, roots):
        top, reached = directory, Reach()
    else:
        repository = await _repository(program, directory)
        reached = await reach(program, repository, directory, roots)
        if access.writes and reached.reads:
            outside = [path for path in repository.directories if not is_inside(path, roots)]
            raise outside_error(directory, outside, roots, "and this tool would write to it")
        if how:  # in a sandbox, git fails for each of its reads
            await asyncio.to_thread(check_borrowed, repository, directory, roots)
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
    return reached


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
            special = ("commondir", "objects/info/alternates")
            return (
                not any(exists(git_path / name) for name in special)
                and b"worktree" not in _read_config(git_path / "config").lower()
            )
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


async def _repository(program: Program, directory: str) -> Repository:
    output = await run_git(program, directory, "rev-parse", *_REV_PARSE_OPTIONS)
    paths = output.text.removesuffix("\n").split("\n") if output.text else []
    if not paths:
        code = "NOT_ALLOWED" if "safe.directory" in output.error else "NO_REPOSITORY"
        raise ToolError(output.error or "not a git repository", code=code)
    expected = len(_REV_PARSE_OPTIONS) - (2 if output.is_failure else 1)
    if len(paths) != expected or not all(Path(path).is_absolute() for path in paths):
        raise ToolError("git cannot locate the repository: git 2.31 or later is required", code="CANNOT_READ")
    own, common, *top = paths
    return Repository(own, common, *top or [""])


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
