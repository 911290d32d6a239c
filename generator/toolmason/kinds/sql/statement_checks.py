"""Check a statement at generation: its effect, its syntax in the dialect, and its names in a SQLite schema."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from itertools import pairwise
from typing import Any, Final

from toolmason_runtime.shared.specs.database import Dialect
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.statement import Statement, render

_READS: Final = frozenset(
    {"select", "with", "values", "table", "from", "explain", "show", "describe", "desc", "summarize", "pivot"}
)
"""First words of statements that may only read."""
_WRITES: Final = frozenset({"insert", "update", "delete", "merge", "replace", "into", "truncate"})
"""First words of changes, which a common table expression may contain as well; `into` creates a table or a file."""
_LOCKS: Final = frozenset({("for", "share"), ("key", "share"), ("lock", "in")})
"""Words of a lock without `update`: `for share`, `for key share`, `lock in share mode`."""
_EXPLAINS: Final = frozenset({"explain", "describe", "desc"})
_ANALYZES: Final = frozenset({"analyze", "analyse"})
"""Words after which `explain` runs its statement."""
_SESSION: Final = frozenset(
    {
        *("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set", "reset", "use"),
        *("attach", "detach", "pragma", "load", "install", "lock", "unlock", "prepare", "execute", "deallocate"),
        *("declare", "fetch", "close", "listen", "notify", "unlisten", "discard", "handler", "vacuum", "shutdown"),
    }
)
"""First words of statements that change the session, or end the transaction of the call."""
_GLOT: Final[Mapping[Dialect, str]] = {
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "mysql": "mysql",
    "duckdb": "duckdb",
}
MAX_STEPS: Final = 2_000_000
"""Virtual instructions of SQLite for a whole schema; each statement is only prepared."""


class SqlCheckError(Exception):
    """A statement or schema that a database would refuse; the message is a clause about it, `hint` the fix."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def check_session(statement: Statement) -> None:
    """Raise an error for a statement that changes the session or the transaction."""
    word = statement.keywords[0]
    if word in _SESSION:
        raise SqlCheckError(f"it begins with `{word}`", "write a statement that reads or changes rows")


def inferred_risk(statement: Statement, tree: Any) -> Risk:
    """Return the risk of a statement: an insert writes, everything else that changes data destroys."""
    if not changes_data(statement, tree):
        return Risk.READ
    return Risk.WRITE if statement.keywords[0] == "insert" and "update" not in statement.keywords else Risk.DESTRUCTIVE


def changes_data(statement: Statement, tree: Any) -> bool:
    """Return whether a statement changes data. `tree` is its syntax tree; None if it was not parsed."""
    if statement.keywords[0] not in _READS:
        return True
    if statement.keywords[0] in _EXPLAINS:
        return not _ANALYZES.isdisjoint(statement.keywords) and _has_write(statement, "create", "execute", "refresh")
    if tree is None or "into" in statement.keywords:
        return _has_write(statement)
    from sqlglot import expressions

    kinds = ("Insert", "Update", "Delete", "Merge", "Create", "Drop", "Alter", "Into", "Copy", "TruncateTable", "Lock")
    return any(tree.find(kind) for name in kinds if (kind := getattr(expressions, name, None)))


def _has_write(statement: Statement, *further: str) -> bool:
    """Return whether a word of a change or a lock is in a statement, where it may also be a name."""
    is_lock = not _LOCKS.isdisjoint(pairwise(statement.keywords))
    return is_lock or not statement.plain_words.isdisjoint({*_WRITES, *further})


def parse_statement(statement: Statement, dialect: Dialect, lists: Collection[str]) -> Any:
    """Return the syntax tree of a statement.

    Raises:
        SqlCheckError: sqlglot is not installed, or finds an error.
    """
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ModuleNotFoundError:
        hint = 'run: python3 -m pip install "toolmason[sql]"'
        raise SqlCheckError("the statement cannot be checked: the module `sqlglot` is not installed", hint) from None
    text, _ = render(statement, _samples(statement, lists), dialect="sqlite", style="qmark", quote=_quoted(dialect))
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it would log statements that it does not know
    try:
        return sqlglot.parse_one(text, dialect=_GLOT[dialect])
    except SqlglotError as error:
        message = _syntax_message(error)
    except RecursionError:
        message = "it is nested too deeply"
    finally:
        logger.setLevel(level)
    hint = f"correct it; if {dialect} accepts it, add `check_syntax = false`"
    raise SqlCheckError(f"the syntax is invalid: {message}", hint)


def _syntax_message(error: Any) -> str:
    found = getattr(error, "errors", None)
    if not found:
        return " ".join(str(error).split())[:200]
    problem = found[0]
    description = str(problem.get("description") or "").partition(" <Token")[0].partition(" for <class")[0]
    near = " ".join(f"{problem.get('start_context') or ''}{problem.get('highlight') or ''}".split())[-40:]
    return f"{description.rstrip('. ')}, after `{near}`"


def _samples(statement: Statement, lists: Collection[str]) -> dict[str, Any]:
    values: dict[str, Any] = {part.name: "asc" for part in statement.identifiers}
    return values | {part.name: [None] if part.name in lists else None for part in statement.values}


def _quoted(dialect: Dialect) -> Any:
    mark = "`" if dialect in ("mysql", "sqlite") else '"'
    return lambda name: f"{mark}{name.replace(mark, mark * 2)}{mark}"


class SqliteSchema:
    """A database in memory with the tables of a schema, in which statements are prepared and never run."""

    def __init__(self, script: str) -> None:
        """Create the tables.

        Raises:
            SqlCheckError: the script fails, needs too many steps, or leaves the database.
        """
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("PRAGMA max_page_count = 10000")
        self._connection.set_authorizer(_authorize)
        steps = iter(range(MAX_STEPS // 1000))
        self._connection.set_progress_handler(lambda: int(next(steps, None) is None), 1000)
        try:
            self._connection.executescript(script)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            self._connection.close()
            raise SqlCheckError(str(error)) from None

    def prepare(self, statement: Statement, choices: Mapping[str, Collection[str]], lists: Collection[str]) -> None:
        """Prepare a statement, once for each choice of an identifier.

        Raises:
            SqlCheckError: SQLite refuses it.
        """
        samples = _samples(statement, lists)
        explained = Statement(("explain ", *statement.parts), ("explain", *statement.keywords))
        first = {name: next(iter(names)) for name, names in choices.items()}
        selections = [first, *({**first, name: choice} for name, names in choices.items() for choice in [*names][1:])]
        for selection in selections:
            text, values = render(
                explained, samples | selection, dialect="sqlite", style="qmark", quote=_quoted("sqlite")
            )
            try:
                with closing(self._connection.execute(text, values)):
                    pass
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise SqlCheckError(f"SQLite refuses it: {error}") from None


def _authorize(action: int, _first: str | None, second: str | None, _schema: Any, _source: Any) -> int:
    leaves = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)
    loads = action == sqlite3.SQLITE_FUNCTION and str(second).lower() == "load_extension"
    return sqlite3.SQLITE_DENY if leaves or loads else sqlite3.SQLITE_OK
