"""Resolve the working directory of a call once, so that policy, approval prompt and program use the same path."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolmason_runtime.programs.argv import effective_values, resolve_working_dir
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.shared.specs.program import CommandTool, PlacementKind


def base_directory(docker: Docker | None) -> str:
    """Return the directory that relative ones start from, the server's or the container's; empty if it was removed."""
    if docker is not None:
        return docker.working_dir
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def with_working_dir(
    tool: CommandTool, values: Mapping[str, Any], *, environ: Mapping[str, str], docker: Docker | None
) -> dict[str, Any]:
    """Return `values` with a resolved working directory, if a parameter specifies one.

    Raises:
        ToolError: the value cannot be a directory.
    """
    used = effective_values(tool, values, environ=environ)
    parameter = next((placement.name for placement in tool.placements if placement.place is PlacementKind.CWD), "")
    if parameter not in used:
        return dict(values)
    base = base_directory(docker)
    directory = resolve_working_dir(tool, used, environ=environ, base=base) or base
    return {**values, parameter: _normalize(directory, is_local=docker is None)}


def _normalize(directory: str, *, is_local: bool) -> str:
    """Return a directory without `.` and `..`; on this machine also without links."""
    if is_local and Path(directory).is_absolute():
        return os.path.realpath(directory)
    # normpath keeps two leading slashes, which POSIX reserves; on Linux, macOS and Windows they mean one.
    return posixpath.normpath(directory).replace("//", "/") if directory else ""
