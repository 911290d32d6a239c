"""Guard of command tools: restrict git, gh and other programs to the allowed directories."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import CommandTool, Guarded, PlacementKind, ProgramSettings, isolation, items

from workbench_handlers.git.github import check_github
from workbench_handlers.git.limits import Limits
from workbench_handlers.git.repositories import GitAccess, check_repository
from workbench_handlers.git.run_git import with_absolute_path
from workbench_handlers.git.user_settings import user_settings
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.probe import check_size
from workbench_handlers.workspace.roots import RefusedPathError, Root, locate

PATHS: Final = frozenset({"path", "paths"})
"""Parameters of command tools that are paths, besides those with the working directory."""

TOOL_ACCESS: Final = {
    **dict.fromkeys(("git_log", "git_show", "git_branch"), GitAccess()),
    **dict.fromkeys(("git_status", "git_diff", "git_blame"), GitAccess(files=True)),
    "git_add": GitAccess(files=True, writes=True),
}
"""Access of the git tools; the default is full access."""


READS_WHOLE_FILES: Final = frozenset({"word_count"})
"""Command tools that read a file to its end."""
MAX_READ_BYTES: Final = 5_000_000_000
"""Maximum bytes of a file that they read: as many as `wc` reads in about half of its time limit."""


async def guard(tool: CommandTool, values: Mapping[str, Any], call: ToolCall) -> Guarded:
    """Return the checked paths of a call, and the further access of its program.

    The working directory becomes absolute, with links resolved. Paths stay relative to it; those of a tool without a
    working directory become absolute too.

    Raises:
        ToolError: a path or its repository is outside the allowed directories, or gh would use another host.
    """
    if call.state(ProgramSettings).policy.docker is not None:
        return Guarded(values={})  # paths are in the container, which has only the volumes of the policy
    directories = [placement.name for placement in tool.placements if placement.place is PlacementKind.CWD]
    path_parameters = [
        placement.name for placement in tool.placements if placement.name in PATHS and placement.name in values
    ]
    if not (directories or path_parameters):
        return Guarded(values={})
    roots = await roots_for(call)
    if not directories:
        limit = MAX_READ_BYTES if tool.name in READS_WHOLE_FILES else None
        checked = {name: await asyncio.to_thread(_absolute, values[name], roots, limit) for name in path_parameters}
        return Guarded(values=checked)
    directory = str(locate(values[directories[0]], roots).path)
    for path in (path for name in path_parameters for path in items(values[name])):
        _check_inside(path, directory, roots)
    if tool.program.name == "git":
        return await _guard_git(tool, {**values, directories[0]: directory}, directories[0], roots)
    reads = await check_github(values, directory, roots) if tool.program.name == "gh" else ()
    return Guarded(values={directories[0]: directory}, reads=reads)


async def _guard_git(tool: CommandTool, values: Mapping[str, Any], parameter: str, roots: Sequence[Root]) -> Guarded:
    """Check the repository, and allow git the files and filters in the user's own settings.

    A git directory outside the roots that belongs to the opened folder is read-only; if the folder is a part of a
    larger repository, the values restrict git to it.

    Filters such as Git LFS need a shell and write access to the roots. An attacker who could exploit that by changing
    the repository's settings meanwhile can already write to the roots.
    """
    access = TOOL_ACCESS.get(tool.name, GitAccess(files=True, writes=True, commits=True))
    git = with_absolute_path(tool.program, roots)
    mine = await user_settings(git) if isolation() else None
    has_filters = bool(mine and mine.filters and access.files)
    directory = values[parameter]
    reach = await check_repository(git, directory, roots, access, runs_filters=has_filters)
    limited = await Limits(git, directory, reach, roots).values(tool, values) if reach.limit else {}
    return Guarded(
        values={parameter: directory, **limited},
        reads=(*(mine.reads if mine else ()), *reach.reads),
        writes=tuple(str(root.path) for root in roots) if has_filters else (),
        executes=mine.executes if mine and has_filters else (),
    )


def _absolute(value: Any, roots: Sequence[Root], limit: int | None) -> Any:
    """Return absolute paths. With `limit`, larger files are refused."""
    located = [locate(path, roots) for path in items(value)]
    absolute = [str(each.path) for each in located]
    for each in located:
        _check_regular(str(each.path))
        if limit is not None:
            check_size(each, limit, "get_file_info returns its size, and read_files a part of it")
    return absolute if isinstance(value, list) else absolute[0]


def _check_regular(path: str) -> None:
    """Refuse pipes, sockets and devices: a program could wait for their input forever."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return  # the program reports it
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        message = f"`{path}` is a pipe, socket or device: use a regular file or a directory"
        raise ToolError(message, code="INVALID_ARGUMENT")


def _check_inside(path: str, directory: str, roots: Sequence[Root]) -> None:
    if not path.strip():
        raise RefusedPathError("the path is empty: use a file or directory, such as `.`", reason="Path is empty")
    locate(os.path.join(directory, path), roots)  # noqa: PTH118  `Path` would fold a `..` away
