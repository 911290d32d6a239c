"""Keeps the programs that tools run to the folders that may be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import Commands, CommandTool, Guarded, Place, isolation, items

from workbench_handlers.git.ask import pinned
from workbench_handlers.git.github import check_github
from workbench_handlers.git.repositories import Reach, check_repository
from workbench_handlers.git.user_settings import user_settings
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.roots import RefusedPathError, Root, locate

PATHS: Final = frozenset({"path", "paths"})
"""The parameters of command tools that name files and folders, besides those that say where a program runs."""

REACH: Final = {
    **dict.fromkeys(("git_log", "git_show", "git_branch"), Reach()),
    **dict.fromkeys(("git_status", "git_diff", "git_blame"), Reach(files=True)),
    "git_add": Reach(files=True),
}
"""How far tools of git go; one that is not named goes all the way."""


async def guard(tool: CommandTool, values: Mapping[str, Any], call: ToolCall) -> Guarded:
    """Give the paths of a call as its program is to have them, and what that may use.

    The folder it runs in becomes absolute, links followed, and so do the paths of a tool that has no such folder. Those
    of one that has stay as they are: relative to it.

    Raises:
        ToolError: one leads outside of the allowed folders, or the repository that it is in does; or gh is sent to
            a host.
    """
    if call.state(Commands).policy.docker is not None:
        return Guarded(values={})  # paths are those inside a container, which sees what the policy mounts alone
    folders = [each.name for each in tool.placements if each.place is Place.CWD]
    named = [each.name for each in tool.placements if each.name in PATHS and each.name in values]
    if not (folders or named):
        return Guarded(values={})
    roots = await roots_for(call)
    if not folders:
        return Guarded(values={name: _absolute(values[name], roots) for name in named})
    folder = str(locate(values[folders[0]], roots).path)
    for path in (path for name in named for path in items(values[name])):
        _check_inside(path, folder, roots)
    if tool.program.name == "git":
        return await _guard_git(tool, {folders[0]: folder}, roots)
    if tool.program.name == "gh":
        await check_github(values, folder, roots)
    return Guarded(values={folders[0]: folder})


async def _guard_git(tool: CommandTool, values: Mapping[str, str], roots: Sequence[Root]) -> Guarded:
    """Look at the repository, and let git use what the user's own settings name.

    Filters of theirs, such as Git LFS, need a shell and places to write to. Whoever could have git run another program
    then, by changing its settings in time, can write to the roots anyway.
    """
    reach = REACH.get(tool.name, Reach(files=True, commits=True))
    git = pinned(tool.program, roots)
    mine = await user_settings(git) if isolation() else None
    has_filters = bool(mine and mine.filters and reach.files)
    (folder,) = values.values()
    await check_repository(git, folder, roots, reach, runs_filters=has_filters)
    return Guarded(
        values=values,
        reads=mine.reads if mine else (),
        writes=tuple(str(each.path) for each in roots) if has_filters else (),
        executes=mine.executes if mine and has_filters else (),
    )


def _absolute(value: Any, roots: Sequence[Root]) -> Any:
    found = [str(locate(path, roots).path) for path in items(value)]
    for path in found:
        _check_ends(path)
    return found if isinstance(value, list) else found[0]


def _check_ends(path: str) -> None:
    """Refuse pipes, sockets and devices: a program that reads them may wait for ever."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return  # for the program to tell
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        message = f"`{path}` is a pipe, a socket or a device: give a regular file or a directory"
        raise ToolError(message, code="INVALID_ARGUMENT")


def _check_inside(path: str, folder: str, roots: Sequence[Root]) -> None:
    if not path.strip():
        raise RefusedPathError("the path is empty: give a file or folder, such as `.`", reason="Path is empty")
    locate(os.path.join(folder, path), roots)  # noqa: PTH118  `Path` would fold a `..` away
