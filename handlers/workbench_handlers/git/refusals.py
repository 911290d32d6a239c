"""Refuse repositories that could have git run a program or leave the roots, where no sandbox holds it.

Nothing is analysed: whatever is not known to be harmless is refused, unless the user's own settings have the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program

from workbench_handlers.git.ask import Setting, ask, ask_settings
from workbench_handlers.git.user_settings import FILTER
from workbench_handlers.workspace.roots import RefusedPathError

MAX_ENTRIES: Final = 500_000
"""Entries of a repository's own directory that are looked at; single objects are not."""
PASSED_OVER: Final = frozenset({"hooks", "lfs", "annex"})
"""Directories there that git does not use in these tools."""

FILTERS: Final = re.compile(rf"{FILTER.pattern}|lfs\..*")
"""Settings that name a program for files to go through; Git LFS runs those of its own settings in turn."""
PROGRAMS: Final = re.compile(r"remote\..*\.vcs|hook\..*\.command")
"""Settings that name a program for any tool, and that no setting of ours overrides."""

HARMLESS: Final = re.compile(
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
"""Settings whose values name neither a file nor a program."""

_TRUSTED: Final = frozenset({"system", "global", "command"})
_LOOSE = re.compile("[0-9a-f]{2}")
_SUBMODULE: Final = "160000"


async def check_settings(program: Program, folder: str, *, files: bool, harmless_only: bool) -> None:
    """Refuse settings of a repository that name a program or, if `harmless_only`, any other that is not harmless.

    `files` says whether git looks at files of the working tree.

    Raises:
        ToolError: there is one, or they cannot be read.
    """
    found = await ask_settings(program, folder)
    trusted = {(each.name, each.value) for each in found if each.scope in _TRUSTED}
    for each in found:
        if each.scope in _TRUSTED or (each.name, each.value) in trusted:
            continue
        is_filter = FILTERS.fullmatch(each.name) is not None
        if PROGRAMS.fullmatch(each.name) or (is_filter and files):
            raise _refused(each, "has git run a program", "PROGRAM_NOT_ALLOWED")
        if harmless_only and not is_filter and not HARMLESS.fullmatch(each.name):
            raise _refused(each, "is not known to be harmless, and no sandbox holds git on this system", "NOT_ALLOWED")


def check_git_folders(folders: Sequence[str]) -> None:
    """Refuse a link in the directories that a repository has for itself, and objects borrowed from another one.

    Raises:
        ToolError: there is one, or there is too much to look at.
    """
    left = MAX_ENTRIES
    for top in dict.fromkeys(folders):
        if _size(Path(top, "objects", "info", "alternates")):
            raise _outside(f"{top}/objects/info/alternates")
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        message = "the repository has too many files of its own: ask the user to run `git gc` there"
                        raise ToolError(message, code="TOO_LARGE")
                    if folder == top and entry.name in PASSED_OVER:
                        continue
                    if entry.is_symlink():
                        raise _outside(entry.path)
                    is_loose = os.path.basename(folder) == "objects" and _LOOSE.fullmatch(entry.name)  # noqa: PTH119
                    if entry.is_dir() and not is_loose:
                        waiting.append(entry.path)


async def check_index(program: Program, top: str) -> None:
    """Refuse an index that names a file outside of the repository, and submodules: git runs in them too.

    Raises:
        ToolError: it does, or cannot be read.
    """
    said = await ask(program, top, "ls-files", "--stage", "-z")
    if said.is_failure:
        raise ToolError(f"the index of the repository cannot be read: {said.error}", code="CANNOT_READ")
    for line in filter(None, said.text.split("\0")):
        about, _, name = line.partition("\t")
        if name.startswith("/") or ".." in name.split("/"):
            message = f"the index of the repository names a file outside of it, `{name}`: ask the user to look at it"
            raise RefusedPathError(message, reason="Index leads outside project root", resolved=name)
        if about.startswith(_SUBMODULE) and _size(Path(top, name, ".git")):
            message = f"`{name}` is a submodule, and no sandbox holds git on this system: leave it to the user"
            raise ToolError(message, code="NOT_ALLOWED")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _refused(setting: Setting, reason: str, code: str) -> ToolError:
    return ToolError(
        f"`{setting.name}` in the settings of this repository {reason}: ask the user to look at it with `git config "
        f"--show-origin --get-all {setting.name}`, and to set the same with `git config --global` if they trust it",
        code=code,
    )


def _outside(path: str) -> ToolError:
    message = (
        f"the repository can lead outside of the allowed directories, at `{path}`, and no sandbox holds git on this "
        "system: ask the user to look at it"
    )
    return RefusedPathError(message, reason="Repository leads outside project root", resolved=path)
