"""Read saved queries from `.sql` files: plain ones, and those of aiosql and sqlc.

| form | name | result |
| --- | --- | --- |
| a file without `-- name:` | the name of the file | rows |
| aiosql: `-- name: get_book^` | `get_book` | `^` and `$` one row, `!` and `*!` no rows, `<!` rows of a change |
| sqlc: `-- name: GetBook :one` | `get_book` | `:one` one row, `:exec` and `:execrows` no rows, else rows |

Comment lines before the statement are its description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.toml.positions import Position

from toolmason.importers.notes import ImporterError, Notes

MAX_FILE_BYTES: Final = 1024 * 1024
_NAME: Final = re.compile(r"^[ \t]*(?:--|/\*)[ \t]*name[ \t]*:[ \t]*([^\s^$!<*:#(]+)[ \t]*(\S*).*$", re.MULTILINE)
_ONE: Final = ("^", "$", ":one")
_NO_ROWS: Final = ("!", "*!", ":exec", ":execrows", ":execresult", "#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A saved query. `line` is that of its name in `path`."""

    path: Path
    line: int
    name: str
    comment: str
    sql: str
    is_one: bool = False
    has_rows: bool = True


def read_queries(directory: Path, notes: Notes) -> list[Query]:
    """Return the queries of all `.sql` files below a directory, sorted by file. A file that cannot be read is a note.

    Raises:
        ImporterError: there are none.
    """
    paths = sorted(path for path in directory.rglob("*.sql") if path.is_file())
    if not paths:
        raise ImporterError(f"{directory} has no files `*.sql`")
    return [query for path in paths for query in _queries(path, notes)]


def _queries(path: Path, notes: Notes) -> Iterator[Query]:
    text = ""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            problem = f"more than {MAX_FILE_BYTES:,} bytes"
        else:
            text, problem = path.read_text(encoding="utf-8-sig"), ""
    except OSError as error:
        problem = f"it cannot be read: {(error.strerror or str(error)).lower()}"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 at byte {error.start}"
    if problem:
        notes.add(path.as_posix(), Position(1, 1), "", f"left out: {problem}")
        return
    names = list(_NAME.finditer(text))
    if not names:
        comment, sql = split_comment(text)
        if sql:
            yield Query(path=path, line=1, name=_snake_case(path.stem), comment=comment, sql=sql)
        return
    ends = [*(match.start() for match in names[1:]), len(text)]
    for match, end in zip(names, ends, strict=True):
        comment, sql = split_comment(text[match.end() : end])
        mark = match[2].removesuffix("*/")
        yield Query(
            path=path,
            line=text.count("\n", 0, match.start()) + 1,
            name=_snake_case(match[1]),
            comment=comment,
            sql=sql,
            is_one=mark in _ONE,
            has_rows=mark not in _NO_ROWS,
        )


def split_comment(text: str) -> tuple[str, str]:
    """Return the comment lines before a statement, and the statement without its semicolon."""
    lines = text.strip().split("\n")
    comment: list[str] = []
    while lines and (not lines[0].strip() or lines[0].lstrip().startswith("--")):
        comment.append(lines.pop(0).strip().removeprefix("--").strip())
    return "\n".join(comment).strip(), "\n".join(lines).strip().rstrip(";").rstrip()


def _snake_case(name: str) -> str:
    """Return `get_book` for `GetBook` and `get-book`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
