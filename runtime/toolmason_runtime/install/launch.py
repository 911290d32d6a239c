"""The command line with which a client starts this server: an absolute path, or `uvx`.

In the file of a project, which other people read, it contains no path of this machine.
"""

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


def launch_command(facts: InstallFacts, requirement: str, *, project: Path | None = None) -> list[str]:
    """Return the command line that starts the server.

    Args:
        facts: the server.
        requirement: the requirement for `uvx`; empty to use this installation.
        project: the project whose file other people read: programs have no directory, and paths start at the project.
            None for a file of this user.

    Raises:
        InstallError: `uvx` is not installed, this installation is temporary, or a path is outside of the project.
    """
    if requirement:
        program = shutil.which("uvx")
        if program is None:
            raise InstallError("--from needs `uvx`, which is not on PATH; install uv, or leave --from out")
        if project:
            return ["uvx", "--from", _shared_requirement(requirement, project), facts.command]
        return [str(Path(program).absolute()), "--from", _absolute(requirement), facts.command]
    if project:
        if facts.manifest:
            shared = shared_arguments(facts.run_arguments, project)
            return ["toolmason", _RUN, _shared_path(str(_manifest(facts)), project), *shared]
        return [facts.command]
    if _UV_CACHE & set(Path(sys.prefix).parts):
        message = "this installation is in the cache of uv, which is emptied at times: repeat its requirement"
        raise InstallError(f"{message} with --from REQUIREMENT, or install the server permanently")
    if facts.manifest and (toolmason := _program("toolmason")):
        return [toolmason, _RUN, str(_manifest(facts)), *facts.run_arguments]
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
    return name == facts.command or runs_module or by_uv or _runs_manifest(command, facts)


def _runs_manifest(command: Sequence[str], facts: InstallFacts) -> bool:
    """Return whether a command line runs the manifest of this server; in the file of a project its path is relative."""
    if not facts.manifest or list(command[1:2]) != [_RUN] or len(command) < 3:
        return False
    manifest = _manifest(facts)
    return manifest == Path(command[2]) or f"/{manifest.as_posix()}".endswith(f"/{command[2].removeprefix('./')}")


def shared_arguments(arguments: Sequence[str], project: Path) -> list[str]:
    """Return arguments of the server for the file of a project: paths in the project become relative to it.

    Example: `--root=/home/ada/books/notes` becomes `--root=notes` in the project `/home/ada/books`.

    Raises:
        InstallError: a path is outside of the project.
    """
    shared = []
    for argument in arguments:
        option, equals, value = argument.rpartition("=")
        shared.append(option + equals + _shared_path(value, project) if Path(value).is_absolute() else argument)
    return shared


def _shared_path(path: str, project: Path) -> str:
    """Return the path in a project that other people also have, relative to it and with slashes.

    Raises:
        InstallError: it is outside of the project.
    """
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(project)):
        raise InstallError(
            f"other people also read the file of a project, but `{path}` is a path of this machine: use a path in the"
            " project, --from REQUIREMENT with a published distribution, or --scope user"
        )
    return target.relative_to(os.path.realpath(project)).as_posix()


def _shared_requirement(requirement: str, project: Path) -> str:
    """Return a requirement for the file of a project; a path begins with `./`."""
    path, bracket, extras = requirement.partition("[")
    return f"./{_shared_path(path, project)}{bracket}{extras}" if _is_path(path) else requirement


def _absolute(requirement: str) -> str:
    """Return a requirement without a relative path, which would be that of another directory in each project."""
    path, bracket, extras = requirement.partition("[")
    return f"{Path(path).absolute()}{bracket}{extras}" if _is_path(path) else requirement


def _is_path(text: str) -> bool:
    return (text in {".", ".."} or "/" in text or os.sep in text) and Path(text).exists()


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
