"""The packages that only some tools need. Who installs the server alone has none of them, and all other tools."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Final

from toolmason_runtime import ToolError

FOR_QUESTIONS: Final = ("tenacity",)
"""What tools need that ask a model."""


class NotInstalledError(ToolError):
    """A tool needs a package that is not there. The model cannot help that, but can pass it on."""

    def __init__(self, package: str) -> None:
        message = f"the package `{package}` is not installed: pip install 'toolmason[workbench]'"
        super().__init__(message, code="NOT_INSTALLED")


def require(package: str) -> ModuleSpec:
    """Say where `package` is installed, without importing it.

    Raises:
        NotInstalledError: it is not.
    """
    spec = find_spec(package)
    if spec is None:
        raise NotInstalledError(package)
    return spec


def require_for_questions() -> None:
    """Find out whether a model can be asked and its answer be given, before it is paid for.

    Raises:
        ToolError: a package is not installed. Its code is INTERNAL: research tools have no code of their own for that.
    """
    try:
        for package in FOR_QUESTIONS:
            require(package)
    except NotInstalledError as error:
        raise ToolError(error.message, code="INTERNAL", details={"reason": error.code}) from None
