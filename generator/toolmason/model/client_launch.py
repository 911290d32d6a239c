"""Read the console commands that a project declares and its requirement of toolmason, from its pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason.manifest.input_files import read_input

PYPROJECT: Final = "pyproject.toml"


class PyprojectError(Exception):
    """The project's `pyproject.toml` cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The facts of a pyproject.toml."""

    scripts: frozenset[str] = frozenset()
    """Names in `[project.scripts]`."""
    extras: frozenset[str] | None = None
    """Extras of toolmason in `dependencies`; None if toolmason is not in that list."""


def read_declared(root: Path) -> Declared:
    """Return the facts of the project at `root`; none without a `pyproject.toml`.

    Raises:
        PyprojectError: it cannot be read, is not UTF-8 or not TOML.
    """
    try:
        content: dict[str, Any] = tomllib.loads(read_input(root / PYPROJECT, root).decode("utf-8"))
    except FileNotFoundError:
        return Declared()
    except OSError as error:
        raise PyprojectError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise PyprojectError(f"not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise PyprojectError(str(error)) from error
    project = content.get("project")
    if not isinstance(project, dict):
        return Declared()
    scripts, dependencies = project.get("scripts"), project.get("dependencies")
    return Declared(
        scripts=frozenset(scripts if isinstance(scripts, dict) else ()),
        extras=required_extras(dependencies if isinstance(dependencies, list) else ()),
    )


def required_extras(dependencies: Iterable[object]) -> frozenset[str] | None:
    """Return the extras with which `dependencies` require toolmason; None if they do not.

    Example: `["toolmason[http, jq]>=0.1"]` gives `{"http", "jq"}`.
    """
    # Imported late: a run without changes needs only `PYPROJECT`.
    from toolmason.model.requirements import normal_extras, normal_name, parse_requirement

    parsed = [parse_requirement(text) for text in dependencies if isinstance(text, str)]
    extras = [normal_extras(found) for found in parsed if found and normal_name(found.name) == "toolmason"]
    return frozenset[str]().union(*extras) if extras else None
