"""Which programs there may be, and how the settings and PATH choose one. It is cheap to import and runs nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import SearchPath

BACKEND: Final = "WORKBENCH_BACKEND"
AUTO: Final = "auto"
COMMANDS: Final = {"gemini": "WORKBENCH_GEMINI_COMMAND", "agy": "WORKBENCH_AGY_COMMAND"}
"""The programs in the order of preference, and the variable that names another executable for each."""


def wanted(environ: Mapping[str, str]) -> str:
    """Give what `WORKBENCH_BACKEND` says, which may be anything; `auto` if it says nothing."""
    return environ.get(BACKEND, "").strip().lower() or AUTO


def named_command(name: str, environ: Mapping[str, str]) -> str:
    """Give the executable that a variable names for a program; empty if none does."""
    return environ.get(COMMANDS[name], "").strip()


def without_projects(environ: Mapping[str, str], projects: Iterable[Path]) -> dict[str, str]:
    """Give the environment with those folders of PATH alone that no project chose: relative ones, and those in one."""
    return SearchPath.of(environ, projects).narrow(environ)


def located(command: str, environ: Mapping[str, str]) -> str | None:
    """Give the executable of a name or a path. In relative folders of PATH, the project would choose it."""
    if Path(command).name != command:
        return shutil.which(str(Path(command).expanduser().absolute()))
    return SearchPath.of(environ, ()).find(command)
