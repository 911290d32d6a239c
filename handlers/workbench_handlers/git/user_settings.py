"""Read what the user's own settings of git name: files that it reads, and filters that it runs.

They are trusted, as those of a repository are not, so that git may use them in a sandbox too.
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

from workbench_handlers.git.ask import Setting, ask_settings

FILTER: Final = re.compile(r"filter\..*\.(clean|smudge|process)")
"""Settings that name a program for files to go through, as Git LFS does."""

_FILES: Final = re.compile(
    r"include\.path|includeif\..*\.path|core\.(excludesfile|attributesfile)|mailmap\.file|blame\.ignorerevsfile"
    r"|commit\.template|diff\.orderfile"
)
_SHELL: Final = ("/bin/sh", "/usr/bin", "/usr/lib/git-core", "/usr/libexec/git-core", "/usr/local/bin")
"""What a filter may run: git gives its command to a shell."""


@dataclass(frozen=True)
class UserSettings:
    """The settings of the user and of the system."""

    settings: tuple[Setting, ...]

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The files that hold them, and those that they name."""
        return tuple(dict.fromkeys(path for each in self.settings for path in _files(each)))

    @cached_property
    def filters(self) -> tuple[str, ...]:
        """The commands of filters."""
        return tuple(each.value for each in self.settings if FILTER.fullmatch(each.name))

    @cached_property
    def executes(self) -> tuple[str, ...]:
        """What git must be able to start for them; nothing without filters."""
        return (*_SHELL, *filter(None, map(_program, self.filters))) if self.filters else ()


_read: dict[tuple[object, ...], UserSettings] = {}


async def user_settings(program: Program) -> UserSettings:
    """Return the settings of the user, which are read again only when one of their files has changed.

    Raises:
        ToolError: git cannot read them.
    """
    home = os.environ.get("HOME", "")
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    places = [f"{home}/.gitconfig", f"{config}/git/config", "/etc/gitconfig"]
    if (known := _read.get(_key(places, ()))) is None or (known := _read.get(_key(places, known.reads))) is None:
        # No repository is here, so that none of their settings are the answer.
        nowhere = replace(program, env={**program.env, "GIT_DIR": os.devnull})
        found = [each for each in await ask_settings(nowhere, os.sep) if each.scope in {"system", "global"}]
        known = UserSettings(tuple(found))
        _read.clear()
        _read[_key(places, ())] = _read[_key(places, known.reads)] = known
    return known


def _key(places: list[str], more: tuple[str, ...]) -> tuple[object, ...]:
    return tuple((path, _modified(path)) for path in (*places, *more))


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
    """Return the program of a filter, a path or a name; empty if a shell alone can read it."""
    try:
        word = os.path.expanduser(shlex.split(command)[0])  # noqa: PTH111  it raises for an unknown user
    except (ValueError, IndexError):
        return ""
    return word if os.path.isabs(word) or os.sep not in word else ""  # noqa: PTH117  a text
