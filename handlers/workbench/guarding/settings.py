"""Holds the settings of a repository against what they may name: no program, and no file outside of the roots.

They come with the repository, from whoever made it; those of the user and of the system are trusted. Three rules,
of which the first is in the manifest:

1. A setting of fixed name that has git run a program, and that the user would not miss in a tool, is overridden for
   all git tools with `GIT_CONFIG_COUNT`, in submodules too: hooks, signatures, the monitor of files, diffs inside of
   submodules and so on. Options of the command lines switch off programs that compare or convert files for a diff.
2. A program of free name, which nothing switches off (`FILTERS`, `ANYWHERE`), is refused unless the user names the
   same.
3. Any other value is taken for a path, since a list of the settings that hold one would miss those of the next git.
   It is refused if it leads out of the roots, unless the user names the same, or git does not act on it in these
   tools (`UNUSED`: mostly of the network, which `GIT_ALLOW_PROTOCOL` closes, and of programs of rules 1 and 2).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolwright_runtime import ToolError
from toolwright_runtime.command_line.spec import Program

from workbench.guarding.asking import ask
from workbench.guarding.inside import is_inside
from workbench.roots import RefusedPathError, Root

TRUSTED: Final = frozenset({"system", "global", "command"})
"""The scopes of settings that are not the repository's."""

FILTERS: Final = re.compile(r"filter\..*\.(clean|smudge|process)|lfs\.(extension|customtransfer)\..*")
"""Settings that name a program for files to go through.

Git LFS, which the user's own settings may name as a filter, runs programs of the repository's settings in turn.
"""

ANYWHERE: Final = re.compile(r"remote\..*\.vcs|hook\..*\.command")
"""Settings that name a program for any tool to run.

The first is what git fetches with, objects that are missing too: `git remote-NAME`, perhaps an alias. The second is a
hook that is in no folder, so that `core.hooksPath` does not switch it off; a git of 2.39 does not know it.
"""

UNUSED: Final = re.compile(
    r"(alias|author|branch|browser|bundle|committer|credential|difftool|fetch|filter|gc|gpg|gui|guitool|http|imap|init"
    r"|instaweb|lfs|man|maintenance|merge|mergetool|pager|protocol|pull|push|rebase|receive|remote|remotes|sendemail"
    r"|sequence|submodule|svn|svn-remote|trailer|transfer|uploadpack|url|user|web)\..*"
    r"|core\.(alternaterefs.*|askpass|editor|fsmonitor|gitproxy|hookspath|pager|sshcommand|worktree)"
    r"|commit\.template|diff\.external|diff\..*\.(command|textconv)|interactive\.difffilter"
)
"""Settings whose values lead nowhere here. Where `core.worktree` leads is asked of git itself."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, its name in lower case but for the middle. `origin` is the file that holds it."""

    scope: str
    origin: str
    name: str
    value: str


async def check_settings(
    program: Program, folder: str, places: Sequence[str], roots: Sequence[Root], *, filters: bool
) -> None:
    """Make sure that the settings of the repository around `folder` have git run and read nothing they may not.

    `places` are the folders that relative paths in them start from; `filters` says whether git compares files there.

    Raises:
        ToolError: they do, or cannot be read.
    """
    found = await _settings(program, folder)
    trusted = {(each.name, each.value) for each in found if each.scope in TRUSTED}
    for each in found:
        if each.scope in TRUSTED or (each.name, each.value) in trusted:
            continue
        if ANYWHERE.fullmatch(each.name) or (filters and FILTERS.fullmatch(each.name)):
            raise _program(each)
        origin = os.path.dirname(each.origin)  # noqa: PTH120  text: a file that may not be there
        if not is_inside(each.origin, roots):
            raise _outside(each, each.origin)
        if each.name.startswith("include"):  # from the file that it is in, and nowhere else
            _check_value(each, (origin,), roots)
        elif not UNUSED.fullmatch(each.name):
            _check_value(each, (*places, origin), roots)


async def _settings(program: Program, folder: str) -> tuple[Setting, ...]:
    said = await ask(program, folder, "config", "--list", "--null", "--show-scope", "--show-origin")
    fields = said.text.split("\0")
    if said.is_failure or len(fields) % 3 != 1:
        message = f"the settings of the repository cannot be read: {said.error or 'git wrote something unexpected'}"
        raise ToolError(message, code="CANNOT_READ")
    return tuple(
        Setting(scope, os.path.join(folder, origin.removeprefix("file:")), *_split(setting))  # noqa: PTH118  text
        for scope, origin, setting in zip(fields[:-1:3], fields[1::3], fields[2::3], strict=True)
    )


def _split(setting: str) -> tuple[str, str]:
    name, _, value = setting.partition("\n")
    return name, value


def _check_value(setting: Setting, places: Sequence[str], roots: Sequence[Root]) -> None:
    for path in _paths(setting.value):
        for place in places:
            leads_to = os.path.join(place, path)  # noqa: PTH118  `Path` would fold a `..` away
            if "\ufffd" in path or path.startswith("%(prefix)") or not is_inside(leads_to, roots):
                raise _outside(setting, path)


def _paths(value: str) -> Iterator[str]:
    """Give what git may take a value for, as a path."""
    text = value.removeprefix(":(optional)")
    for path in (text, text.partition("://")[2]):
        if path and path != os.devnull:
            yield os.path.expanduser(path)  # noqa: PTH111  it raises for an unknown user


def _program(setting: Setting) -> ToolError:
    return ToolError(
        f"the settings of this repository name a program for git to run on its files, which the user's own settings "
        f"do not (`{setting.name}`): ask the user to look at it with `git config --show-origin --get-all "
        f"{setting.name}`, and to set the same with `git config --global` if they trust it",
        code="PROGRAM_NOT_ALLOWED",
    )


def _outside(setting: Setting, path: str) -> ToolError:
    message = (
        f"`{setting.name}` in the settings of this repository leads outside of the allowed directories: ask the user "
        f"to look at it with `git config --show-origin --get-all {setting.name}`, and to set the same with "
        "`git config --global` if they trust it"
    )
    return RefusedPathError(message, reason="Setting is outside project root", resolved=path)
