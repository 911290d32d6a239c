"""The command line with which a client starts this server: an absolute path, or `uvx`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final

from toolmason_runtime.install.clients import InstallFacts
from toolmason_runtime.install.errors import InstallError

_UV_CACHE: Final = frozenset({"archive-v0", "environments-v2", "builds-v0"})
"""Directories of uv's cache that contain the environments of `uvx`."""
_RUN: Final = "run"


def launch_command(facts: InstallFacts, requirement: str, *, is_shared: bool) -> list[str]:
    """Return the command line that starts the server.

    Args:
        facts: the server.
        requirement: the requirement for `uvx`; empty to use this installation.
        is_shared: whether other people read the file, for whom `uvx` has another path.

    Raises:
        InstallError: `uvx` is not installed, or this installation is temporary.
    """
    if requirement:
        program = shutil.which("uvx")
        if program is None:
            raise InstallError("--from needs `uvx`, which is not on PATH; install uv, or leave --from out")
        if is_shared:
            return ["uvx", "--from", requirement, facts.command]
        return [str(Path(program).absolute()), "--from", _absolute(requirement), facts.command]
    if _UV_CACHE & set(Path(sys.prefix).parts):
        message = "this installation is in the cache of uv, which is emptied at times: repeat its requirement"
        raise InstallError(f"{message} with --from REQUIREMENT, or install the server permanently")
    if facts.manifest and (toolmason := _program("toolmason")):
        return [toolmason, _RUN, str(_manifest(facts))]
    program = _program(facts.command)
    # `-P`: a client starts the server in a project, whose modules must not replace ours.
    return [program] if program else [str(Path(sys.executable).absolute()), "-P", "-m", facts.package]


def is_ours(command: Sequence[str], facts: InstallFacts) -> bool:
    """Return whether a command line starts this server, from whichever installation."""
    if not command:
        return False
    name = _stem(command[0])
    runs_module = any(pair == ("-m", facts.package) for pair in pairwise(command))
    by_uv = name in {"uv", "uvx"} and facts.command in command[1:]
    runs_manifest = bool(facts.manifest) and list(command[1:3]) == [_RUN, str(_manifest(facts))]
    return name == facts.command or runs_module or by_uv or runs_manifest


def _absolute(requirement: str) -> str:
    """Return a requirement without a relative path, which would be that of another directory in each project."""
    path, bracket, extras = requirement.partition("[")
    is_path = path in {".", ".."} or "/" in path or os.sep in path
    return f"{Path(path).absolute()}{bracket}{extras}" if is_path and Path(path).exists() else requirement


def _manifest(facts: InstallFacts) -> Path:
    """Return the manifest of a server without a command of its own; its package is in `generated/` of the project."""
    return Path(str(files(facts.package))).parents[1] / facts.manifest


def _program(name: str) -> str:
    """Return the absolute path of a console command of this installation; empty if there is none."""
    started = Path(sys.argv[0])
    candidates = [started, started.with_suffix(".exe")] if _stem(sys.argv[0]) == name else []
    scripts = Path(sys.executable).parent
    for path in (*candidates, scripts / name, scripts / f"{name}.exe"):
        if path.is_file():
            return str(path.absolute())
    return ""


def _stem(program: str) -> str:
    """Return the name of a program without its directory and `.exe`, from a path of any platform."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[: -len(".exe")] if name.lower().endswith(".exe") else name
