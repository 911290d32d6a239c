"""Packages of the extra `research`. Without them, only questions to the model fail."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.packages import NotInstalledError, require

EXTRA: Final = "research"
PACKAGES: Final = ("tenacity",)


def require_for_questions() -> None:
    """Check the packages of the research tools, before a model request costs money.

    Raises:
        ToolError: a package is missing. The code is INTERNAL: research tools have no code for it.
    """
    try:
        for package in PACKAGES:
            require(package, extra=EXTRA)
    except NotInstalledError as error:
        raise ToolError(error.message, code="INTERNAL", details={"reason": error.code}) from None


def is_installed(library: str) -> bool:
    """Return whether a library is installed, without importing it. `library` may be a module of a package."""
    try:
        return find_spec(library) is not None
    except (ModuleNotFoundError, ValueError):  # its parent package is not installed, or not a package
        return False


def require_library(library: str, *, extra: str) -> None:
    """Check a library of a backend.

    Raises:
        ToolError: it is missing. The code is INTERNAL: research tools have no code for it.
    """
    if not is_installed(library):
        error = NotInstalledError(library, extra)
        raise ToolError(error.message, code="INTERNAL", details={"reason": error.code})
