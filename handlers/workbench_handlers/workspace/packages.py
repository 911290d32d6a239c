"""Optional packages that only some tools need; without them, the other tools work."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Final

from toolmason_runtime import ToolError

FOR_PAGES: Final = ("starlette", "uvicorn")
"""Packages of the review pages."""


class NotInstalledError(ToolError):
    """A tool needs a package of an extra that is not installed; only the user can install it."""

    def __init__(self, package: str, extra: str) -> None:
        # The wording of the runtime, whose function is not public.
        remedy = f"pip install 'toolmason[{extra}]'; in a project, add it to pyproject.toml"
        super().__init__(f"the package `{package}` needs an extra: {remedy}", code="NOT_INSTALLED")


def require(package: str, *, extra: str = "workbench") -> ModuleSpec:
    """Return the spec of `package`, which `extra` installs, without importing it.

    Raises:
        NotInstalledError: it is not installed.
    """
    spec = find_spec(package)
    if spec is None:
        raise NotInstalledError(package, extra)
    return spec
