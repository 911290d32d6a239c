"""docs/graphql.md: its tool is that of the import, its options and limits those of the code."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from pages import quoted, read

from toolmason.commands import toolmason
from toolmason.commands.import_graphql import graphql
from toolmason.importers.graphql.selection import MAX_DEPTH, MAX_FIELDS, MAX_INNER_FIELDS, MAX_MEMBERS

PAGE: Final = read("docs/graphql.md")


def test_the_tool_of_the_page_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("library.graphql").write_text(PAGE.block("graphql"), encoding="utf-8")
    (command,) = [line.removeprefix("$ ") for line in PAGE.block("console").splitlines()]

    result = CliRunner().invoke(toolmason, shlex.split(command)[1:])

    assert result.exit_code == 0, result.output
    tools = tomllib.loads(Path("manifest/library.toml").read_text(encoding="utf-8"))["tools"]
    shown = tomllib.loads(PAGE.block("toml"))["tools"]
    assert shown == {"get_book": tools["get_book"]}
    assert list(tools) == ["get_book", "list_books", "lend_book"]


def test_the_options_of_the_page_are_complete() -> None:
    shown = {name.split()[0] for cell, _ in PAGE.rows("option", "effect") for name in quoted(cell)}
    assert shown == {name for option in graphql.params for name in option.opts if name.startswith("-")}


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert f"at most {MAX_FIELDS} plain values on {MAX_DEPTH} levels" in PAGE.words
    assert f"An inner object gives at most {MAX_INNER_FIELDS}" in PAGE.words
    assert f"the first {MAX_MEMBERS} types" in PAGE.words
