"""The tutorial works line by line and ends in Codex; the pages about debugging and upgrading continue from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pages import read
from walkthrough import AnsweringModel, Walkthrough, reader

PAGE: Final = read("docs/tutorial.md")
BOOKS: Final = ("call", {"tool_name": "find_books", "args": {"query": "Le Guin"}})
ANSWER: Final = PAGE.sessions()[-1][1].strip()
MODEL: Final = AnsweringModel([("search", {"query": "books of an author"}), BOOKS], ANSWER)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walkthrough]:
    with reader(tmp_path_factory.mktemp("tutorial").resolve(), MODEL) as walkthrough:
        walkthrough.follow(PAGE)
        yield walkthrough


def test_every_command_of_the_tutorial_prints_its_output(shelf: Walkthrough) -> None:
    assert list(shelf.done) == [command for command, _ in PAGE.sessions()]


def test_codex_found_the_tool_and_got_the_books_of_the_answer(shelf: Walkthrough) -> None:
    found, books = MODEL.results
    assert "find_books" in found
    for title, year in (("The Left Hand of Darkness", 1969), ("The Dispossessed", 1974)):
        assert f"{title} ({year})" in ANSWER
        assert title in books
    assert "Kindred" not in books
    assert MODEL.outside == []
    assert shelf.directory.name == "bookshelf"


def test_commands_about_debugging_print_their_output(shelf: Walkthrough) -> None:
    handler = Path(shelf.directory, "handlers/bookshelf/books.py")
    written = handler.read_text(encoding="utf-8")
    shelf.follow(read("docs/debugging.md"))
    handler.write_text(written, encoding="utf-8")
