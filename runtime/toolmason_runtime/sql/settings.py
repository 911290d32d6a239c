"""The address of a database with the variable of its environment, and the secrets in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from toolmason_runtime.calls.secrets import protect, secret_forms
from toolmason_runtime.programs.argv import NOT_SET_UP
from toolmason_runtime.remote.parse import mask_text
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import Database, Dialect, dialect_of

_SECRET_OPTIONS = ("password", "passwd", "token", "key", "secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """A database with its URL. `secrets` are masked in messages, the longest first."""

    database: Database
    url: str
    secrets: tuple[str, ...]

    def mask(self, text: str) -> str:
        """Return a text without the URL and the passwords in it."""
        return mask_text(text, self.secrets)


def load_settings(database: Database, environ: Mapping[str, str]) -> DatabaseSettings:
    """Return the settings of a database. An empty variable counts as unset.

    Raises:
        ToolError: the variable is not set, or its value is not a URL of the dialect.
    """
    url = (environ.get(database.url_env, "") if database.url_env else "").strip() or database.url
    if not url:
        raise _not_set_up(database, f"the variable {database.url_env} is not set")
    secrets = url_secrets(url)
    protect(secrets)
    source = f"the variable {database.url_env}" if database.url_env else "`url`"
    found = dialect_of(url)
    if found is None:
        raise _not_set_up(database, f"{source} must be a URL such as {EXAMPLES[database.dialect]}")
    if found != database.dialect:
        raise _not_set_up(database, f"{source} is the URL of a {found} database, not of {database.dialect}")
    return DatabaseSettings(database=database, url=url, secrets=secret_forms((url, *secrets)))


EXAMPLES: Final[Mapping[Dialect, str]] = {
    "sqlite": "sqlite:////srv/books.db",
    "postgresql": "postgresql://USER:PASSWORD@HOST/NAME",
    "mysql": "mysql://USER:PASSWORD@HOST/NAME",
    "duckdb": "duckdb:////srv/books.duckdb",
}


def url_secrets(url: str) -> tuple[str, ...]:
    """Return the passwords in a URL, as written and decoded."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    written = parts.netloc.rpartition("@")[0].partition(":")[2]
    options = [value for name, value in parse_qsl(parts.query) if any(word in name.lower() for word in _SECRET_OPTIONS)]
    return tuple(dict.fromkeys(text for text in (written, unquote(written), *options) if text))


def timed_out(database: Database, timeout_s: float, advice: str = "") -> ToolError:
    """Return the error of a statement that was ended, or that reached its time limit."""
    advice = advice or "send arguments that select fewer rows, or try again later"
    return ToolError(f"The database {database.name} did not answer within {timeout_s:g} s: {advice}", code="TIMEOUT")


def _not_set_up(database: Database, problem: str) -> ToolError:
    message = f"This tool is not set up: {problem}, in the settings of the database `{database.name}`"
    return ToolError(message, code=NOT_SET_UP)
