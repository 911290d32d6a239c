"""Optional packages that only some tools need; without them, the other tools work."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Final

from toolmason_runtime import ToolError

FOR_QUESTIONS: Final = ("tenacity",)
"""Packages of the research tools."""
FOR_PAGES: Final = ("starlette", "uvicorn")
"""Packages of the review pages."""


class NotInstalledError(ToolError):
    """A tool needs a package that is not installed; only the user can install it."""

    def __init__(self, package: str) -> None:
        message = f"the package `{package}` is not installed: pip install 'toolmason[workbench]'"
        super().__init__(message, code="NOT_INSTALLED")


def require(package: str) -> ModuleSpec:
    """Return the spec of `package` without importing it.

    Raises:
        NotInstalledError: it is not installed.
    """
    spec = find_spec(package)
    if spec is None:
        raise NotInstalledError(package)
    return spec


def require_for_questions() -> None:
    """Check the packages of the research tools, before a model request costs money.

    Raises:
        ToolError: a package is missing. The code is INTERNAL: research tools have no code for it.
    """
    try:
        for package in FOR_QUESTIONS:
            require(package)
    except NotInstalledError as error:
        raise ToolError(error.message, code="INTERNAL", details={"reason": error.code}) from None
