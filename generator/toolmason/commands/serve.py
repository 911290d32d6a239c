"""Run a project's server without installing it: import `generated/` and `handlers/` directly."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from toolmason.project import Project


class ServeError(Exception):
    """The project's server cannot be started. The message states the fix."""


def serve(project: Project, arguments: Sequence[str]) -> int:
    """Run the project's server with the command-line `arguments`; return its exit status.

    Raises:
        ServeError: the manifest has no `package`, or the package is not in `generated/`.
    """
    served_package(project)
    return serve_package(project, project.generated, arguments)


def serve_package(project: Project, generated: Path, arguments: Sequence[str]) -> int:
    """Run the server of a project from the directory `generated`; return its exit status.

    Raises:
        ServeError: the manifest has no `package`.
    """
    # Before installed packages, so that the project's own files are imported.
    sys.path[:0] = [str(generated), str(project.root / "handlers")]
    sys.argv[1:] = arguments
    module = importlib.import_module(f"{_package(project)}.__main__")
    status: int = module.main()
    return status


def is_generated(project: Project) -> bool:
    """Return whether the generated package exists. A manifest that cannot be read has none."""
    try:
        served_package(project)
    except ServeError:
        return False
    return True


def served_package(project: Project) -> str:
    """Return the name of the generated package. The rest of the manifest was checked by `generate`.

    Raises:
        ServeError: the manifest has no `package`, or the package is not in `generated/`.
    """
    package = _package(project)
    if not (project.generated / package / "__main__.py").is_file():
        path = f"generated/{package}/__main__.py"
        raise ServeError(f"no {path}; create it with: toolmason generate --manifest {project.shown_manifest}")
    return package


def _package(project: Project) -> str:
    try:
        server = _server_table(project.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ServeError(f"{project.shown_manifest} cannot be read: {error}; see toolmason check") from error
    package = server.get("package") if isinstance(server, dict) else None
    if not isinstance(package, str) or not package.isidentifier():
        raise ServeError(f"{project.shown_manifest} has no valid `package` in [server]; see toolmason check")
    return package


@lru_cache(maxsize=1)
def _server_table(manifest: str) -> object:
    """Return the table [server]. Parsing a manifest of 100 tools takes a third of the time of a start: do it once."""
    return tomllib.loads(manifest).get("server")
