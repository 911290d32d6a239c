"""What Gemini CLI is given to authenticate with when we run it: settings, and the variables of a `.env` file.

It follows version 0.61 of the program in the home that `workbench_handlers.model_backends.readonly` gives it, so that what is said here
is what a run would do: nothing of the project counts. Values of variables are looked at, and never given to anyone:
callers ask whether a name has one.
"""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workbench_handlers.model_backends.env_files import assigned

Environ = Mapping[str, str]

FOLDER: Final = ".gemini"
MAX_BYTES: Final = 1_000_000
"""How much of a file is read: settings are small, and what is larger is none."""
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_ALWAYS_READ: Final = frozenset({"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"})
"""What counts of a `.env` file in a folder that is not trusted."""


def home(environ: Environ) -> Path:
    """Give the folder that `.gemini` stands in."""
    given = environ.get("GEMINI_CLI_HOME") or environ.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(given) if given else Path.home()


def shown(path: Path, environ: Environ) -> str:
    """Write a path for a person, with `~` for their home folder."""
    with suppress(ValueError):
        return f"~/{path.relative_to(home(environ)).as_posix()}"
    return str(path)


def read_text(path: Path) -> str | None:
    """Give the text of a file; None if there is none, or it is something else or too large."""
    try:
        found = path.stat()
        # Opening a pipe would wait for its other end.
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def is_file(path: Path) -> bool:
    """Whether there is a file at `path`, as far as one may look."""
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
    system = Path(environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or _system_settings())
    defaults = Path(environ.get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") or system.with_name("system-defaults.json"))
    read = [_read_settings(path, environ) for path in (system, user_settings(environ), defaults)]
    problems = [problem for _held, problem in read]
    return Settings(tuple(held for held, _problem in read), problems[0] or problems[2], problems[1])


def _read_settings(path: Path, environ: Environ) -> tuple[Mapping[str, Any], str]:
    """Give what a file holds, and why that is nothing if it should hold something."""
    text = read_text(path)
    if text is None:
        return {}, ""
    try:
        held = json.loads(_COMMENT.sub(_blanked, text))
    except (ValueError, RecursionError) as error:
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        return {}, f"{shown(path, environ)} is not valid JSON{line}"
    return (held, "") if isinstance(held, dict) else ({}, f"{shown(path, environ)} does not hold an object")


def _blanked(match: re.Match[str]) -> str:
    """Give a string as it is, and blanks in place of a comment."""
    return match[1] or re.sub(r"[^\r\n]", " ", match[0])


def user_settings(environ: Environ) -> Path:
    """Give where the user's settings stand."""
    return home(environ) / FOLDER / "settings.json"


def _system_settings() -> str:
    if sys.platform == "darwin":
        return "/Library/Application Support/GeminiCli/settings.json"
    if sys.platform == "win32":
        return "C:\\ProgramData\\gemini-cli\\settings.json"
    return "/etc/gemini-cli/settings.json"


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
