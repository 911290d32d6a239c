"""Which programs there may be, and how the settings and PATH choose one. It is cheap to import and runs nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from workbench.roots import is_too_wide

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
    named = environ.get("PATH", os.defpath).split(os.pathsep)
    kept = [each for each in named if all(is_outside(each, project) for project in (None, *projects))]
    return {**environ, "PATH": os.pathsep.join(kept)}


def is_outside(folder: str, project: Path | None) -> bool:
    """Whether a folder of PATH is not for a project to choose: a link counts where it is, and where it leads.

    A whole home or disk is nobody's project, and its owner's programs are in it.
    """
    path = Path(folder)
    if project is None or not path.is_absolute() or is_too_wide(real := project.resolve()):
        return path.is_absolute()
    return not any(each.is_relative_to(real) for each in (Path(os.path.normpath(path)), path.resolve()))


def located(command: str, environ: Mapping[str, str]) -> str | None:
    """Give the executable of a name or a path. In relative folders of PATH, the project would choose it."""
    if Path(command).name != command:
        return shutil.which(str(Path(command).expanduser().absolute()))
    return shutil.which(command, path=without_projects(environ, ())["PATH"])
