"""What Gemini CLI is given to authenticate with when we run it: settings, and the variables of a `.env` file.

It follows version 0.61 of the program in the home that `workbench_handlers.model_backends.readonly` gives it, so that what is said here
is what a run would do: nothing of the project counts. Values of variables are looked at, and never given to anyone:
callers ask whether a name has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Final

from workbench_handlers.model_backends.gemini_files import (
    FOLDER,
    SYSTEM,
    assigned,
    read_settings,
    read_text,
    users_home,
)

Environ = Mapping[str, str]

_ALWAYS_READ: Final = frozenset({"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"})
"""Variables that the program takes from a `.env` file before it chooses how to authenticate."""


def home(environ: Environ) -> Path:
    """Return the directory that contains the user's `.gemini`."""
    return users_home(environ)


def shown(path: Path, environ: Environ) -> str:
    """Return a path for people, with `~` for their home."""
    with suppress(ValueError):
        return f"~/{path.relative_to(home(environ)).as_posix()}"
    return str(path)


def is_file(path: Path) -> bool:
    """Return whether `path` is a file; false if it cannot be checked."""
    try:
        return path.is_file()
    except OSError:
        return False


# Settings


@dataclass(frozen=True, slots=True)
class Settings:
    """What the settings files say together.

    `files` is what each holds, the one that decides first. `problem` tells of one that makes the program end at once,
    `unread` of one of the user that cannot be read and so counts for nothing; both are empty if there is none.
    """

    files: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""
    unread: str = ""

    def get(self, *path: str) -> Any:
        """Give the value at `path` in the first file that has one; None if none has."""
        for each in self.files:
            found: Any = each
            for key in path:
                found = found.get(key) if isinstance(found, Mapping) else None
            if found is not None:
                return found
        return None


def settings(environ: Environ) -> Settings:
    """Read the settings of the machine and of the user. Those of a project count for nothing."""
    system = Path(environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or SYSTEM / "settings.json")
    defaults = Path(environ.get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") or system.with_name("system-defaults.json"))
    read = [_read_settings(path, environ) for path in (system, user_settings(environ), defaults)]
    problems = [problem for _held, problem in read]
    return Settings(tuple(held for held, _problem in read), problems[0] or problems[2], problems[1])


def _read_settings(path: Path, environ: Environ) -> tuple[Mapping[str, Any], str]:
    """Return the settings in a file, and why there are none if it is invalid."""
    try:
        return read_settings(path), ""
    except JSONDecodeError as error:
        return {}, f"{shown(path, environ)} is not valid JSON (line {error.lineno})"
    except ValueError as error:
        return {}, f"{shown(path, environ)} is not valid JSON: {error}"


def user_settings(environ: Environ) -> Path:
    """Give where the user's settings stand."""
    return home(environ) / FOLDER / "settings.json"


# Variables


@dataclass(frozen=True, slots=True)
class Variables:
    """Which variables the program has, and where from. It holds values: they are for comparing, never for showing.

    `file` is a `.env` file as a person would write its path, and `held` what is taken from it.
    """

    environ: Environ
    file: str = ""
    held: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> str:
        """Say where a variable that is not empty is set; empty if nowhere."""
        if name in self.environ:
            return "the environment" if self.environ[name] else ""
        return self.file if self.held.get(name) else ""

    def has(self, *names: str) -> bool:
        """Whether all of these are set and not empty."""
        return all(self.source(name) for name in names)

    def says(self, name: str) -> bool:
        """Whether this one is set to `true`, the only word the program takes for yes."""
        return self.environ.get(name, self.held.get(name)) == "true"


def variables(environ: Environ) -> Variables:
    """Give all that the program has in the end."""
    for path in (home(environ) / FOLDER / ".env", home(environ) / ".env"):
        if is_file(path):
            return Variables(environ, shown(path, environ), assigned_in(path))
    return Variables(environ)


def variables_at_first(environ: Environ) -> Variables:
    """Give what the program has when it chooses how to authenticate: of the file, a few names are taken by then."""
    found = variables(environ)
    return Variables(environ, found.file, {name: found.held[name] for name in _ALWAYS_READ & found.held.keys()})


def assigned_in(path: Path) -> Mapping[str, str]:
    """Give what a `.env` file says; nothing if there is none."""
    return assigned(read_text(path) or "")
