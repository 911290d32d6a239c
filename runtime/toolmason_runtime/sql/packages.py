"""The packages of each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason_runtime.programs.argv import NOT_SET_UP
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.extras import needs_extra
from toolmason_runtime.shared.specs.database import Dialect

EXTRAS: Final[Mapping[Dialect, str]] = {
    "sqlite": "sql",
    "postgresql": "postgresql",
    "mysql": "mysql",
    "duckdb": "duckdb",
}
"""The extra of `toolmason` with the packages of each dialect."""


def missing_package(dialect: Dialect, module: str) -> ToolError:
    """Return the error of a module that is not installed."""
    top = module.partition(".")[0]
    name = f"the module `{top}`" if top.isidentifier() else f"the module {module}"
    return ToolError(f"This tool is not set up: {needs_extra(name, EXTRAS[dialect])}", code=NOT_SET_UP)
