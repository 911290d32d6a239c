"""Selection of a program by the settings and PATH, without running it. Cheap to import."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import SearchPath

BACKEND: Final = "WORKBENCH_BACKEND"
AUTO: Final = "auto"
COMMANDS: Final = {"gemini": "WORKBENCH_GEMINI_COMMAND", "agy": "WORKBENCH_AGY_COMMAND"}
"""The programs in order of preference, with the variable that names another executable."""

FLASH: Final = ("gemini-3-flash-preview", "gemini-2.5-flash", "")
PRO: Final = ("gemini-3-pro-preview", "gemini-2.5-pro", "")
MODELS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "flash": ("WORKBENCH_FLASH_MODELS", FLASH),
    "pro": ("WORKBENCH_PRO_MODELS", PRO),
}
"""The environment variable and the default of each kind of model; with an empty name the program chooses.

Appendix A of the specification of the research proxy.
"""


def models(kind: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the models to try in order, for `flash` or `pro`; empty for `auto`, the program's choice."""
    variable, default = MODELS[kind]
    names = (name.strip() for name in environ.get(variable, "").split(","))
    return tuple(dict.fromkeys("" if name == "auto" else name for name in names if name)) or default


def configured_backend(environ: Mapping[str, str]) -> str:
    """Return the value of `WORKBENCH_BACKEND`, which may be invalid; `auto` if it is not set."""
    return environ.get(BACKEND, "").strip().lower() or AUTO


def configured_command(name: str, environ: Mapping[str, str]) -> str:
    """Return the executable that a variable names for a program; empty if the variable is not set."""
    return environ.get(COMMANDS[name], "").strip()


def without_project_paths(environ: Mapping[str, str], projects: Iterable[Path]) -> dict[str, str]:
    """Return the environment without PATH directories that a project could choose: relative ones, and those in it."""
    return SearchPath.of(environ, projects).narrow(environ)


def find_executable(command: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a command, or None. Relative PATH directories are skipped, as the project chooses them."""
    if Path(command).name != command:
        return shutil.which(str(Path(command).expanduser().absolute()))
    return SearchPath.of(environ, ()).find(command)
