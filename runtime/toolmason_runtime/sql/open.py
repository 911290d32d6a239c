"""Open the connections of a database, or report the package that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolmason_runtime.programs.argv import NOT_SET_UP
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import Database
from toolmason_runtime.sql.packages import missing_package
from toolmason_runtime.sql.settings import load_settings

if TYPE_CHECKING:
    from toolmason_runtime.sql.connections import Connections


def shares_mode(database: Database) -> bool:
    """Return whether all connections to a database must be opened in the same mode."""
    return database.dialect == "duckdb"


def open_connections(database: Database, environ: Mapping[str, str], *, read_only: bool) -> Connections:
    """Return the connections of a database; none is opened yet.

    Raises:
        ToolError: the environment lacks the URL, the URL is invalid, or a package is missing.
    """
    settings = load_settings(database, environ)
    try:
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ModuleNotFoundError as error:
        raise missing_package(database.dialect, str(error.name)) from None
    from toolmason_runtime.sql.connections import Connections

    try:
        return Connections(settings, read_only=read_only)
    except ModuleNotFoundError as error:
        raise missing_package(database.dialect, str(error.name)) from None
    except NoSuchModuleError:
        raise missing_package(database.dialect, "of its driver") from None
    except (ArgumentError, ValueError):
        message = f"This tool is not set up: the URL of the database `{database.name}` is invalid"
        raise ToolError(message, code=NOT_SET_UP) from None
