"""Split PATH: programs are looked up only in directories outside of projects.

npm scripts, direnv and virtual environments add directories of a project to PATH. The author of the project would then
choose the programs that run.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime.calls.call import ToolCall

_OWN: Final = str(Path(sys.prefix, "Scripts" if os.name == "nt" else "bin"))
"""The server's own Python environment, whose programs it trusts already."""


@dataclass(frozen=True, slots=True)
class Projects:
    """Yielded by a lifespan: a function that returns a call's project directories. Programs in them are not used."""

    of: Callable[[ToolCall], Awaitable[Sequence[Path]]]


async def project_directories(call: ToolCall) -> tuple[str, ...]:
    """Return the project directories of a call from the server's `Projects`; none without them."""
    try:
        projects = call.state(Projects)
    except LookupError:
        return ()
    return tuple(map(str, await projects.of(call)))


@dataclass(frozen=True, slots=True)
class SearchPath:
    """The absolute directories of PATH: programs are looked up in `searched`, `skipped` are inside a project."""

    searched: tuple[str, ...]
    skipped: tuple[str, ...]

    @classmethod
    def of(cls, environ: Mapping[str, str], projects: Iterable[str | Path]) -> SearchPath:
        """Split the PATH of an environment. Relative directories are in neither part."""
        tops = _tops(projects)
        entries = environ.get("PATH", os.defpath).split(os.pathsep)
        directories = [entry for entry in entries if os.path.isabs(entry)]  # noqa: PTH117  a text
        skipped = {directory for directory in directories if _is_inside(directory, tops)}
        return cls(
            tuple(directory for directory in directories if directory not in skipped),
            tuple(directory for directory in directories if directory in skipped),
        )

    def narrow(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with only the searched directories on PATH."""
        return {**environ, "PATH": os.pathsep.join(self.searched)}

    def find(self, name: str) -> str | None:
        """Return the program `name` in the searched directories; None if no directory has it."""
        return shutil.which(name, path=os.pathsep.join(self.searched))


def working_directory() -> tuple[Path, ...]:
    """Return the directory of this process; empty if it was removed."""
    try:
        return (Path.cwd(),)
    except OSError:
        return ()


def is_outside(directory: str, project: Path | None) -> bool:
    """Return whether a directory of PATH is absolute and not in `project`."""
    return Path(directory).is_absolute() and (project is None or not _is_inside(directory, _tops((project,))))


def is_too_wide(path: Path) -> bool:
    """Return whether `path` is a disk, the home directory or a parent of it: too wide for a project."""
    home = Path.home().resolve()
    return path == path.parent or home.is_relative_to(path)


def _tops(projects: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the real paths of the projects, each with a separator at its end."""
    real = dict.fromkeys(os.path.realpath(project) for project in projects)
    return tuple(os.path.join(directory, "") for directory in real if not is_too_wide(Path(directory)))  # noqa: PTH118  text


def _is_inside(directory: str, tops: tuple[str, ...]) -> bool:
    """Return whether a directory is in one of `tops`, before or after links are resolved."""
    path = os.path.normpath(directory)
    if not tops or path == _OWN:
        return False
    return f"{path}{os.sep}".startswith(tops) or f"{os.path.realpath(path)}{os.sep}".startswith(tops)
