"""Refuse repositories in which git, without a sandbox, could run a program or leave the roots.

This is an allow list: a setting that is neither known to be harmless nor in the user's own config is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program

from workbench_handlers.git.run_git import Setting, list_settings, run_git
from workbench_handlers.git.user_settings import FILTER
from workbench_handlers.workspace.roots import RefusedPathError

MAX_ENTRIES: Final = 500_000
"""Maximum entries of a repository's `.git` that are checked, without loose objects."""
UNCHECKED_DIRECTORIES: Final = frozenset({"hooks", "lfs", "annex"})
"""Directories in `.git` that git does not use in these tools."""

FILTER_COMMANDS: Final = re.compile(rf"{FILTER.pattern}|lfs\..*")
"""Settings with a command that filters files; Git LFS runs those in its own settings: `filter.lfs.clean`."""
COMMAND_SETTINGS: Final = re.compile(r"remote\..*\.vcs|hook\..*\.command")
"""Settings with a command for any tool, which our own options cannot override: `remote.origin.vcs`."""

INACTIVE_SETTINGS: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf"
    r"|eol|safecrlf|quotepath|abbrev|compression|bigfilethreshold|untrackedcache|preloadindex|fscache|longpaths"
    r"|protecthfs|protectntfs|hidedotfiles|sparsecheckout|sparsecheckoutcone|commitgraph|multipackindex)"
    r"|remote\..*\.(url|pushurl|fetch|push|prune|tagopt|gh-resolved)|branch\..*|user\..*|author\..*|committer\..*"
    r"|color\..*|column\..*|advice\..*|init\..*|push\..*|fetch\..*|pull\.(ff|rebase)|rebase\.(autostash|autosquash)"
    r"|commit\.(gpgsign|cleanup|verbose)|log\.(date|decorate|follow|abbrevcommit|showsignature)|format\.pretty"
    r"|diff\.(noprefix|mnemonicprefix|renames|renamelimit|context|algorithm|submodule|indentheuristic)"
    r"|status\..*|submodule\..*\.(url|active|branch)|index\.(version|threads)|gc\..*|maintenance\..*|pack\..*"
    r"|extensions\.(objectformat|worktreeconfig|partialclone|refstorage)|merge\.(ff|conflictstyle|log|renames)"
    r"|rerere\..*|i18n\..*|tag\.(sort|gpgsign)|blame\.(coloring|date|showroot)"
)
"""Settings whose values are neither files nor programs: `core.bare`, `remote.origin.url`."""

_TRUSTED: Final = frozenset({"system", "global", "command"})
_LOOSE = re.compile("[0-9a-f]{2}")
_SUBMODULE: Final = "160000"


async def check_settings(program: Program, directory: str, *, files: bool, inactive_only: bool) -> None:
    """Refuse settings of a repository that run a program; with `inactive_only`, all that are not in the allow list.

    `files` is true if git reads files of the working tree, through filters.

    Raises:
        ToolError: there is such a setting, or the settings cannot be read.
    """
    settings = await list_settings(program, directory)
    trusted = {(setting.name, setting.value) for setting in settings if setting.scope in _TRUSTED}
    for setting in settings:
        if setting.scope in _TRUSTED or (setting.name, setting.value) in trusted:
            continue
        is_filter = FILTER_COMMANDS.fullmatch(setting.name) is not None
        if COMMAND_SETTINGS.fullmatch(setting.name) or (is_filter and files):
            raise _setting_error(setting, "makes git run a program", "PROGRAM_NOT_ALLOWED")
        if inactive_only and not is_filter and not INACTIVE_SETTINGS.fullmatch(setting.name):
            raise _setting_error(
                setting, "is not known to be harmless, and this system has no sandbox for git", "NOT_ALLOWED"
            )


def check_git_directories(directories: Sequence[str]) -> None:
    """Refuse links inside `.git`, and alternates: objects of another repository.

    Raises:
        ToolError: there is one, or there are too many entries.
    """
    remaining = MAX_ENTRIES
    for top in dict.fromkeys(directories):
        if _size(Path(top, "objects", "info", "alternates")):
            raise _outside_error(f"{top}/objects/info/alternates")
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            with os.scandir(directory) as entries:
                for entry in entries:
                    remaining -= 1
                    if remaining < 0:
                        message = "`.git` of the repository has too many files: ask the user to run `git gc` there"
                        raise ToolError(message, code="TOO_LARGE")
                    if directory == top and entry.name in UNCHECKED_DIRECTORIES:
                        continue
                    if entry.is_symlink():
                        raise _outside_error(entry.path)
                    is_loose = os.path.basename(directory) == "objects" and _LOOSE.fullmatch(entry.name)  # noqa: PTH119
                    if entry.is_dir() and not is_loose:
                        waiting.append(entry.path)


async def check_index(program: Program, top: str) -> None:
    """Refuse an index with a file outside of the repository, and submodules: git runs in them too.

    Raises:
        ToolError: the index has such an entry, or cannot be read.
    """
    output = await run_git(program, top, "ls-files", "--stage", "-z")
    if output.is_failure:
        raise ToolError(f"the index of the repository cannot be read: {output.error}", code="CANNOT_READ")
    for line in filter(None, output.text.split("\0")):
        about, _, name = line.partition("\t")
        if name.startswith("/") or ".." in name.split("/"):
            message = f"the index of the repository contains `{name}`, outside of it: ask the user to review it"
            raise RefusedPathError(message, reason="Index leads outside project root", resolved=name)
        if about.startswith(_SUBMODULE) and _size(Path(top, name, ".git")):
            message = (
                f"`{name}` is a submodule, and this system has no sandbox for git: ask the user to run this command"
            )
            raise ToolError(message, code="NOT_ALLOWED")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _setting_error(setting: Setting, reason: str, code: str) -> ToolError:
    return ToolError(
        f"`{setting.name}` in the git config of this repository {reason}: ask the user to review it with `git config "
        f"--show-origin --get-all {setting.name}`, and to set the same with `git config --global` if they trust it",
        code=code,
    )


def _outside_error(path: str) -> ToolError:
    message = (
        f"the repository refers to files outside the allowed directories, at `{path}`, and this system has no sandbox "
        "for git: ask the user to review it"
    )
    return RefusedPathError(message, reason="Repository leads outside project root", resolved=path)
