"""The user's settings of Gemini CLI that checks need: its settings files and its `.env` file.

Values of variables are never returned: callers ask whether, and where, a variable is set. Files of a project do not
count, as in the runs of `workbench_research.model_backends.read_only`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench_research import gemini_files
from workbench_research.gemini_files import (
    GEMINI_DIRECTORY,
    SYSTEM_DIRECTORY,
    parse_dotenv,
    read_text,
    users_home,
)

Environ = Mapping[str, str]

GIT_IGNORE_SETTING: Final = "context.fileFiltering.respectGitIgnore"
_ENV_FILE_VARIABLES: Final = frozenset(
    {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"}
)
"""The variables that Gemini CLI takes from a `.env` file before it chooses how to authenticate."""


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """Settings files, those of the machine first, and the variables of the environment and of the `.env` file.

    `problem` describes a file that is not valid, or is empty.
    """

    environ: Environ
    files: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""
    env_file: str = ""
    env_variables: frozenset[str] = frozenset()

    def get(self, *keys: str) -> Any:
        """Return the value at `keys` in the first file that has one, or None."""
        for settings in self.files:
            value: Any = settings
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None

    def source(self, name: str) -> str:
        """Return where the variable `name` is set and not empty, for people; empty if nowhere."""
        if name in self.environ:
            return "the environment" if self.environ[name] else ""
        return self.env_file if name in self.env_variables else ""

    def has(self, *names: str) -> bool:
        """Whether all of these variables are set and not empty."""
        return all(self.source(name) for name in names)

    def is_true(self, name: str) -> bool:
        """Whether the variable is `true`, the only value that Gemini CLI accepts as yes."""
        return self.environ.get(name) == "true"


def read_settings(environ: Environ) -> GeminiSettings:
    """Read the settings of the machine and of the user, and the first `.env` file of the user."""
    system = Path(environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or SYSTEM_DIRECTORY / "settings.json")
    contents = [_read_file(path, environ) for path in (system, user_settings(environ))]
    problem = next((problem for _, problem in contents if problem), "")
    env_files = (users_home(environ) / GEMINI_DIRECTORY / ".env", users_home(environ) / ".env")
    env_file = next((path for path in env_files if is_file(path)), None)
    return GeminiSettings(
        environ,
        files=tuple(values for values, _ in contents),
        problem=problem,
        env_file=display_path(env_file, environ) if env_file else "",
        env_variables=variables_in(env_file) if env_file else frozenset(),
    )


def is_git_ignore_respected(environ: Environ) -> bool:
    """Whether Gemini CLI leaves out the files that `.gitignore` names: yes, unless its settings say no."""
    settings = read_settings(environ)
    for keys in (("context", "fileFiltering", "respectGitIgnore"), ("fileFiltering", "respectGitIgnore")):
        if isinstance(value := settings.get(*keys), bool):
            return value
    return True


def user_settings(environ: Environ) -> Path:
    """Return the path of the user's settings file."""
    return users_home(environ) / GEMINI_DIRECTORY / "settings.json"


def display_path(path: Path, environ: Environ) -> str:
    """Return a path for people, with `~` for their home directory."""
    with suppress(ValueError):
        return f"~/{path.relative_to(users_home(environ)).as_posix()}"
    return str(path)


def is_file(path: Path) -> bool:
    """Whether there is a file at `path`; False also where access is denied."""
    return os.path.isfile(path)  # noqa: PTH113  Path.is_file raises where access is denied


def variables_in(env_file: Path) -> frozenset[str]:
    """Return the names to which a `.env` file gives a value, of those that Gemini CLI takes from it."""
    variables = parse_dotenv(read_text(env_file) or "")
    return frozenset(name for name in _ENV_FILE_VARIABLES if variables.get(name))


def _read_file(path: Path, environ: Environ) -> tuple[Mapping[str, Any], str]:
    """Return the settings in a file, or none and the reason."""
    try:
        return gemini_files.read_settings(path), ""
    except ValueError:
        return {}, f"{display_path(path, environ)} is not a JSON object"
