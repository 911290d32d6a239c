"""Errors of databases as tool errors: the problem and a fix, without traceback, statement and password."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy.exc import (
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.sql.settings import DatabaseSettings, timed_out

MAX_MESSAGE_CHARS: Final = 500
_READ_ONLY: Final = ("25006", "1792", "not authorized", "readonly", "read-only", "prohibited")
"""Codes and words of a write in a read-only transaction."""
_INTERRUPTED: Final = ("57014", "3024", "1317", "1969", "interrupted")
"""Codes and words of a statement that was ended."""
_ADVICE: Final[Mapping[type[Exception], str]] = {
    IntegrityError: "change the arguments so that they fit the existing rows",
    DataError: "send a value that fits the type of its column",
    OperationalError: "try again later; if it remains, tell the user",
}
_DEFAULT_ADVICE: Final = "do not retry, tell the user: the statement of this tool does not fit the database"


def unavailable(error: BaseException, settings: DatabaseSettings) -> ToolError:
    """Return the error of a database to which there is no connection."""
    name = settings.database.name
    if isinstance(error, PoolTimeoutError):
        return ToolError(f"All connections to the database {name} are in use: try again later", code=UNAVAILABLE)
    return ToolError(
        f"The database {name} cannot be reached ({reason(error, settings)}): try again later", code=UNAVAILABLE
    )


UNAVAILABLE: Final = "DATABASE_UNAVAILABLE"


def failure(error: BaseException, settings: DatabaseSettings, timeout_s: float) -> ToolError:
    """Return the error of a statement."""
    name = settings.database.name
    if isinstance(error, OverflowError):
        return ToolError(
            f"The database {name} cannot store an integer this large: send one of at most 64 bits",
            code="INVALID_ARGUMENT",
        )
    words = f"{_code(error)} {_original(error)}".lower()
    if any(word in words for word in _INTERRUPTED):
        return timed_out(settings.database, timeout_s)
    why = reason(error, settings)
    if any(word in words for word in _READ_ONLY):
        message = f"The database {name} refused a write of a tool with risk `read` ({why}): do not retry, tell the user"
        return ToolError(message, code="READ_ONLY")
    advice = next((text for kind, text in _ADVICE.items() if isinstance(error, kind)), _DEFAULT_ADVICE)
    code = "INVALID_ARGUMENT" if isinstance(error, DataError | IntegrityError) else "DATABASE"
    return ToolError(f"The database {name} reported an error ({why}): {advice}", code=code)


def _original(error: BaseException) -> BaseException:
    original = error.orig if isinstance(error, DBAPIError) else None
    return original if original is not None else error


def _code(error: BaseException) -> str:
    """Return the SQLSTATE of PostgreSQL, or the number of MySQL."""
    original = _original(error)
    code = getattr(original, "sqlstate", None) or next(iter(original.args), "")
    return str(code) if isinstance(code, str | int) and len(str(code)) <= 5 else ""


def reason(error: BaseException, settings: DatabaseSettings) -> str:
    """Return the message of the database on one line, masked and shortened."""
    original = _original(error)
    texts = [arg for arg in original.args if isinstance(arg, str)]
    # PostgreSQL and DuckDB append the line of the statement.
    text = " ".join((texts[-1] if texts else "").partition("\nLINE ")[0].split()) or type(original).__name__
    masked = settings.mask(text)
    return masked if len(masked) <= MAX_MESSAGE_CHARS else f"{masked[:MAX_MESSAGE_CHARS]} ..."


ERRORS: Final = (SQLAlchemyError, DatabaseError, OverflowError)
"""What connections and statements raise."""
