"""docs/sql-tools.md: its example runs as printed, and its tables are complete."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from pages import quoted, read
from toolmason_runtime.shared.specs.database import dialect_of
from toolmason_runtime.shared.toml.tables import keys_of
from toolmason_runtime.sql.packages import EXTRAS

from toolmason.commands import toolmason
from toolmason.kinds.sql.tables import DatabaseTable

PAGE: Final = read("docs/sql-tools.md")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The generated server of the page beside its database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.sql").write_text(PAGE.block("sql"), encoding="utf-8")
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "shop.toml").write_text(PAGE.block("toml"), encoding="utf-8")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(PAGE.block("sql"))
    connection.close()
    result = CliRunner().invoke(toolmason, ["generate"])
    assert result.exit_code == 0, result.output
    return tmp_path


@pytest.mark.usefixtures("shop")
def test_the_calls_of_the_page_print_their_output() -> None:
    _, *calls = PAGE.block("console").split("$ toolmason ")
    assert len(calls) == 3
    for call in calls[1:]:
        command, _, expected = call.partition("\n")
        result = CliRunner().invoke(toolmason, shlex.split(command))
        assert result.stdout.strip() == expected.strip()


def test_a_write_of_the_page_needs_approval(shop: Path) -> None:
    arguments = json.dumps({"id": 2})
    refused = CliRunner().invoke(toolmason, ["call", "mark_paid", arguments])
    assert "Mark the order 2 as paid?" in refused.output
    assert "Not run: the user declined (mark_paid)" in refused.output
    with sqlite3.connect(shop / "shop.db") as connection:
        assert connection.execute("select paid from orders where id = 2").fetchone() == (0,)
    connection.close()


def test_the_keys_and_databases_of_the_page_are_complete() -> None:
    keys = [key for names, _ in PAGE.rows("key", "meaning") for key in quoted(names)]
    assert sorted(keys) == sorted(keys_of(DatabaseTable))
    for _, install, url in PAGE.rows("database", "install", "URL"):
        dialect = dialect_of(quoted(url)[0])
        assert dialect is not None
        assert quoted(install) == [f"toolmason[{EXTRAS[dialect]}]"]
