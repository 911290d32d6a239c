"""The folder that a call runs in, as it is: what is judged, shown to a person and entered is one and the same."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolmason_runtime.programs.argv import folder_of, values_used
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.programs.spec import CommandTool, Place


def base_of(docker: Docker | None) -> str:
    """Give the folder that relative ones start from: the server's, or that of containers; empty if there is none."""
    if docker is not None:
        return docker.working_dir
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def with_folder(
    tool: CommandTool, values: Mapping[str, Any], *, environ: Mapping[str, str], docker: Docker | None
) -> dict[str, Any]:
    """Give `values` with the folder to run in resolved, if a parameter names one.

    Raises:
        ToolError: it can be no folder.
    """
    used = values_used(tool, values, environ=environ)
    named = next((each.name for each in tool.placements if each.place is Place.CWD), "")
    if named not in used:
        return dict(values)
    base = base_of(docker)
    folder = folder_of(tool, used, environ=environ, base=base) or base
    return {**values, named: _resolved(folder, is_here=docker is None)}


def _resolved(folder: str, *, is_here: bool) -> str:
    """Give a folder without `.` and `..`, and on this machine without links: those in a container are not seen."""
    if is_here and Path(folder).is_absolute():
        return os.path.realpath(folder)
    # Two slashes at the start would stay, since POSIX lets them mean something else. Nowhere that we run do they.
    return posixpath.normpath(folder).replace("//", "/") if folder else ""
