"""Read the files and filters in the user's own git config.

They are trusted, unlike those of a repository, so git may use them in a sandbox too.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import Program

from workbench_handlers.git.run_git import Setting, list_settings

FILTER: Final = re.compile(r"filter\..*\.(clean|smudge|process)")
"""Settings with a command that filters files: `filter.lfs.process`."""

_FILES: Final = re.compile(
    r"include\.path|includeif\..*\.path|core\.(excludesfile|attributesfile)|mailmap\.file|blame\.ignorerevsfile"
    r"|commit\.template|diff\.orderfile"
)
"""Settings whose value is a file: `include.path`, `core.excludesfile`."""
_SHELL: Final = ("/bin/sh", "/usr/bin", "/usr/lib/git-core", "/usr/libexec/git-core", "/usr/local/bin")
"""Programs that a filter may run; git runs its command with a shell."""


@dataclass(frozen=True)
class UserSettings:
    """The settings of the user and of the system."""

    settings: tuple[Setting, ...]

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The config files, and the files in their settings."""
        return tuple(dict.fromkeys(path for setting in self.settings for path in _files(setting)))

    @cached_property
    def filters(self) -> tuple[str, ...]:
        """The commands of filters."""
        return tuple(setting.value for setting in self.settings if FILTER.fullmatch(setting.name))

    @cached_property
    def executes(self) -> tuple[str, ...]:
        """The programs that git starts for filters; empty without filters."""
        return (*_SHELL, *filter(None, map(_program, self.filters))) if self.filters else ()


_read: dict[tuple[object, ...], UserSettings] = {}


async def user_settings(program: Program) -> UserSettings:
    """Return the settings of the user. They are cached until one of their files changes.

    Raises:
        ToolError: git cannot read them.
    """
    home = os.environ.get("HOME", "")
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    paths = [f"{home}/.gitconfig", f"{config}/git/config", "/etc/gitconfig"]
    if (known := _read.get(_key(paths, ()))) is None or (known := _read.get(_key(paths, known.reads))) is None:
        # With an empty GIT_DIR, git reads no settings of a repository.
        nowhere = replace(program, env={**program.env, "GIT_DIR": os.devnull})
        settings = [
            setting for setting in await list_settings(nowhere, os.sep) if setting.scope in {"system", "global"}
        ]
        known = UserSettings(tuple(settings))
        _read.clear()
        _read[_key(paths, ())] = _read[_key(paths, known.reads)] = known
    return known


def _key(paths: list[str], more: tuple[str, ...]) -> tuple[object, ...]:
    return tuple((path, _modified(path)) for path in (*paths, *more))


def _modified(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def _files(setting: Setting) -> Iterator[str]:
    yield os.path.realpath(setting.origin)
    if _FILES.fullmatch(setting.name):
        path = os.path.expanduser(setting.value)  # noqa: PTH111  it raises for an unknown user
        yield os.path.realpath(os.path.join(os.path.dirname(setting.origin), path))  # noqa: PTH118, PTH120  texts


def _program(command: str) -> str:
    """Return the program of a filter, a path or a name; empty if only a shell can parse the command."""
    try:
        word = os.path.expanduser(shlex.split(command)[0])  # noqa: PTH111  it raises for an unknown user
    except (ValueError, IndexError):
        return ""
    return word if os.path.isabs(word) or os.sep not in word else ""  # noqa: PTH117  a text
