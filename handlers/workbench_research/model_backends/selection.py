"""Selection of the program and its models by settings and PATH, without running anything. Cheap to import."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import SearchPath

BACKEND: Final = "WORKBENCH_BACKEND"
BACKENDS: Final = ("gemini", "auto")
"""The values of `BACKEND`. Both select the Gemini CLI, which is the only backend."""
PROGRAM: Final = "gemini"
COMMAND: Final = "WORKBENCH_GEMINI_COMMAND"
"""The variable that names another executable than `PROGRAM`."""

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


def backend_problem(environ: Mapping[str, str]) -> str:
    """Return why `WORKBENCH_BACKEND` is invalid; empty if it is valid or not set."""
    name = environ.get(BACKEND, "").strip()
    return "" if name.lower() in ("", *BACKENDS) else f"{BACKEND} is {name!r}: set it to {' or '.join(BACKENDS)}"


def configured_command(environ: Mapping[str, str]) -> str:
    """Return the executable that `WORKBENCH_GEMINI_COMMAND` names; empty if it is not set."""
    return environ.get(COMMAND, "").strip()


def without_project_paths(environ: Mapping[str, str], projects: Iterable[Path]) -> dict[str, str]:
    """Return the environment without PATH directories that a project could choose: relative ones, and those in it."""
    return SearchPath.of(environ, projects).narrow(environ)


def find_executable(command: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a command, or None. Relative PATH directories are skipped, as the project chooses them."""
    if Path(command).name != command:
        return shutil.which(str(Path(command).expanduser().absolute()))
    return SearchPath.of(environ, ()).find(command)
