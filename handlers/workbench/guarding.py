"""Keeps the programs that tools run to the folders that may be read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolwright_runtime import ToolCall, ToolError
from toolwright_runtime.command_line.argv import invocation, items
from toolwright_runtime.command_line.execute import run
from toolwright_runtime.command_line.settings import Commands
from toolwright_runtime.command_line.spec import CommandTool, Place, Program

from workbench.roots import RefusedPathError, Root, locate, real_path
from workbench.state import roots_for

PATHS: Final = frozenset({"path", "paths"})
"""The parameters of command tools that name files and folders, besides those that say where a program runs."""

HISTORY: Final = frozenset({"git_log", "git_show", "git_branch"})
"""The tools of git that look at no file of the working tree."""


async def guard(tool: CommandTool, values: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """Give the paths of a call as its program is to have them.

    The folder it runs in becomes absolute, links followed, and so do the paths of a tool that has no such folder. Those
    of one that has stay as they are: relative to it.

    Raises:
        ToolError: one leads outside of the allowed folders, or the repository that it is in does, or has git run a
            program of its own.
    """
    if call.state(Commands).policy.docker is not None:
        return {}  # paths are those inside a container, which sees what the policy mounts and nothing else
    folders = [each.name for each in tool.placements if each.place is Place.CWD]
    named = [each.name for each in tool.placements if each.name in PATHS and each.name in values]
    if not (folders or named):
        return {}
    roots = await roots_for(call)
    if not folders:
        return {name: _absolute(values[name], roots) for name in named}
    folder = str(locate(values[folders[0]], roots).path)
    for path in (path for name in named for path in items(values[name])):
        _check_inside(path, folder, roots)
    if tool.program.name == "git":
        await _check_repository(tool.program, folder, roots)
        if tool.name not in HISTORY:
            await _check_filters(tool.program, folder)
    return {folders[0]: folder}


def _absolute(value: Any, roots: Sequence[Root]) -> Any:
    found = [str(locate(path, roots).path) for path in items(value)]
    return found if isinstance(value, list) else found[0]


def _check_inside(path: str, folder: str, roots: Sequence[Root]) -> None:
    if not path.strip():
        raise RefusedPathError("the path is empty: give a file or folder, such as `.`", reason="Path is empty")
    locate(os.path.join(folder, path), roots)  # noqa: PTH118  `Path` would fold a `..` away


async def _check_repository(program: Program, folder: str, roots: Sequence[Root]) -> None:
    """Make sure that git will work inside of the roots: it looks for its repository upwards, and follows `.git` files.

    Where it finds none, git itself says so.
    """
    for found in await _places(program, folder):
        real = Path(real_path(found))
        if not Path(found).is_absolute() or not any(real.is_relative_to(root.path) for root in roots):
            message = (
                f"`{folder}` belongs to a repository outside of the allowed directories, at `{found}`: ask the user to "
                "allow that one too"
            )
            raise RefusedPathError(message, reason="Repository is outside project root", resolved=found)


async def _places(program: Program, folder: str) -> list[str]:
    """Ask git where the repository around a folder keeps its history, and where its files begin.

    Empty if there is no repository, and the first alone if it has no files.
    """
    return (await _answer(program, folder, "rev-parse", *_ASKED)).splitlines()


async def _check_filters(program: Program, folder: str) -> None:
    """Make sure that git runs no program on files which the settings of their repository alone name.

    Nothing switches such filters off, and comparing a file runs them. What the settings of the user name as well, such
    as Git LFS, is theirs.
    """
    said = (await _answer(program, folder, "config", "--show-scope", "--null", "--get-regexp", _FILTERS)).split("\0")
    found = set(zip(said[::2], said[1::2], strict=False))
    trusted = {setting for scope, setting in found if scope in {"system", "global"}}
    if any(setting not in trusted for _, setting in found):
        message = (
            "the settings of this repository name a program for git to run on its files, which the user's own settings "
            "do not: ask the user to look at it with `git config --show-origin --get-regexp ^filter`, and to set the "
            "same with `git config --global` if they trust it"
        )
        raise ToolError(message, code="PROGRAM_NOT_ALLOWED")


async def _answer(program: Program, folder: str, *argv: str) -> str:
    """Give what git writes, whether it succeeds or not.

    Raises:
        ToolError: git could not be asked.
    """
    ask = CommandTool(name=argv[0], program=program, argv=argv)
    outcome = await run(replace(invocation(ask, {}, environ=os.environ), cwd=folder))
    try:
        if outcome.timed_out:
            raise ToolError("git did not answer in time: try again", code="TIMEOUT")
        return "".join(outcome.stdout.texts())
    finally:
        outcome.close()


_ASKED: Final = ("--path-format=absolute", "--git-common-dir", "--show-toplevel")
_FILTERS: Final = r"^filter\..*\.(clean|process)$"
