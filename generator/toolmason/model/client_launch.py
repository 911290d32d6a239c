"""Read the console commands that a project declares, for client files that start its server."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from toolmason.manifest.input_files import read_input

PYPROJECT: Final = "pyproject.toml"


class PyprojectError(Exception):
    """The project's `pyproject.toml` cannot be read."""


def declared_scripts(root: Path) -> frozenset[str]:
    """Return the names in `[project.scripts]` of the project at `root`; empty without a `pyproject.toml`.

    Raises:
        PyprojectError: it cannot be read, is not UTF-8 or not TOML.
    """
    try:
        content: dict[str, Any] = tomllib.loads(read_input(root / PYPROJECT, root).decode("utf-8"))
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise PyprojectError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise PyprojectError(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise PyprojectError(str(error)) from error
    project = content.get("project")
    scripts = project.get("scripts") if isinstance(project, dict) else None
    return frozenset(scripts) if isinstance(scripts, dict) else frozenset()
