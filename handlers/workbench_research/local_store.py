"""A file of this user with the cost of questions, and with answers for equal questions about equal files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.state_files import make_private, reviews_directory, state_problem

KEPT_DAYS: Final = 30
"""Days that an answer is kept."""
MAX_ANSWERS: Final = 1_000
MAX_CHARS: Final = 1_000_000
"""Maximum characters of an answer that is kept."""
_TIMEOUT_S: Final = 5.0
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS costs (id INTEGER PRIMARY KEY, day TEXT, project TEXT, dollars REAL);
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, day TEXT, text TEXT);
"""


class StoreError(Exception):
    """The file cannot be used. The text says why."""


@dataclass(frozen=True, slots=True)
class LocalStore:
    """The file, shared by all servers of this user. Each method blocks.

    Raises:
        StoreError: every method, if the file cannot be used.
    """

    path: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], projects: Sequence[Path]) -> LocalStore | None:
        """Return the store in the state directory; None if a project could choose its content."""
        if state_problem(environ, projects):
            return None
        return cls(reviews_directory(environ).parent / "research" / "store.sqlite")

    def answer(self, key: str) -> str:
        """Return the answer of a question; empty if there is none."""
        with self._connection() as connection:
            row = connection.execute("SELECT text FROM answers WHERE key = ? AND day >= ?", (key, _oldest())).fetchone()
        return str(row[0]) if row else ""

    def keep(self, key: str, text: str) -> None:
        """Keep an answer, and forget old ones."""
        if len(text) > MAX_CHARS:
            return
        with self._connection() as connection:
            day = datetime.now(UTC).date().isoformat()
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, day, text))
            connection.execute("DELETE FROM answers WHERE day < ?", (_oldest(),))
            newest = "SELECT rowid FROM answers ORDER BY rowid DESC LIMIT ?"
            connection.execute(f"DELETE FROM answers WHERE rowid NOT IN ({newest})", (MAX_ANSWERS,))  # noqa: S608

    def reserve(
        self, day: str, project: str, dollars: float, day_limit: float | None, project_limit: float | None
    ) -> tuple[float, float, int]:
        """Count the estimated cost of a question, unless a limit would be exceeded.

        Return the cost of the day and of the project before it, and the number of the entry; 0 if it was not counted.
        """
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            of_day = _sum(connection, "day", day)
            of_project = _sum(connection, "project", project)
            if (day_limit is not None and of_day + dollars > day_limit) or (
                project_limit is not None and of_project + dollars > project_limit
            ):
                return of_day, of_project, 0
            values = (day, project, dollars)
            cursor = connection.execute("INSERT INTO costs (day, project, dollars) VALUES (?, ?, ?)", values)
            return of_day, of_project, cursor.lastrowid or 0

    def settle(self, entry: int, dollars: float) -> None:
        """Replace an estimated cost by the real one."""
        with self._connection() as connection:
            if dollars:
                connection.execute("UPDATE costs SET dollars = ? WHERE id = ?", (dollars, entry))
            else:
                connection.execute("DELETE FROM costs WHERE id = ?", (entry,))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            make_private(self.path.parent)
            with closing(sqlite3.connect(self.path, timeout=_TIMEOUT_S, isolation_level=None)) as connection:
                connection.executescript(_TABLES)
                yield connection
                if connection.in_transaction:
                    connection.commit()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(str(error)) from None
        except ToolError as error:
            raise StoreError(error.message) from None


def _sum(connection: sqlite3.Connection, column: str, value: str) -> float:
    row = connection.execute(f"SELECT sum(dollars) FROM costs WHERE {column} = ?", (value,)).fetchone()  # noqa: S608
    return float(row[0] or 0.0)


def _oldest() -> str:
    return (datetime.now(UTC).date() - timedelta(days=KEPT_DAYS)).isoformat()
