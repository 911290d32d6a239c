"""Add an extra of toolmason to the pyproject.toml of a project whose new manifest needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolmason_runtime.shared.extras import contained_in

from toolmason.manifest.input_files import read_input
from toolmason.model.client_launch import PYPROJECT, PyprojectError, read_declared, required_extras
from toolmason.model.requirements import with_extras


def add_extra(root: Path, extra: str) -> str:
    """Require toolmason with `extra` in the project at `root`, and return a line for the user.

    The line is empty if nothing changes: the project already requires it, its pyproject.toml does not list toolmason or
    is invalid (TM337), or there is no such file.
    """
    try:
        declared = read_declared(root).extras
    except PyprojectError:
        return ""
    if declared is None or extra in declared | contained_in(declared):
        return ""
    path = root / PYPROJECT
    try:
        path.write_text(_with_extra(read_input(path, root).decode("utf-8"), extra), encoding="utf-8", newline="")
    except OSError as error:
        return f"{PYPROJECT}: require `toolmason[{extra}]`; it cannot be written: {error.strerror or error}"
    return f"{PYPROJECT}: requires `toolmason[{extra}]` now; install the project again"


def _with_extra(text: str, extra: str) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text)
    dependencies = document["project"]["dependencies"]
    for index, requirement in enumerate(dependencies):
        if (extras := required_extras([requirement])) is not None:
            dependencies[index] = with_extras(str(requirement), extras | {extra})
    return tomlkit.dumps(document)
