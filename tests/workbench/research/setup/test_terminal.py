"""How a page prints: marks, colour and width as far as the stream has them."""

from __future__ import annotations

import io

import pytest

from workbench_handlers.setup.terminal import Page, visible


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="\n")


def printed(page: Page) -> str:
    assert isinstance(page.stream, io.TextIOWrapper)
    page.stream.flush()
    assert isinstance(page.stream.buffer, io.BytesIO)
    return page.stream.buffer.getvalue().decode(page.stream.encoding)


@pytest.mark.parametrize(
    ("encoding", "marks"),
    [
        ("utf-8", ["✓", "✗", "!", "-"]),
        ("ascii", ["[ok]", "[x]", "[!]", "[-]"]),
        ("cp437", ["[ok]", "[x]", "[!]", "[-]"]),
    ],
)
def test_marks_are_plain_where_the_encoding_has_none(encoding: str, marks: list[str]) -> None:
    page = Page.of(stream(encoding), {})
    for kind in ("good", "bad", "mind", "skipped"):
        page.say(kind, "so")

    assert printed(page).splitlines() == [f"  {mark} so" for mark in marks]


def test_file_has_no_colour_and_no_line_that_comes_and_goes() -> None:
    page = Page.of(stream(), {"TERM": "xterm"})
    page.heading("Title", "green")
    with page.status() as status:
        status.show("working")

    assert printed(page) == "Title\n=====\n"


def test_status_is_erased() -> None:
    page = Page(stream(), is_terminal=True)
    with page.status() as status:
        status.show("working")

    assert printed(page).endswith("\r\x1b[K")


def test_long_text_is_broken_and_hangs_below_its_first_word() -> None:
    page = Page(stream(), width=40)
    page.say("good", "word " * 20)
    page.text("- " + "point " * 20)
    lines = printed(page).splitlines()

    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("    word")
    assert lines[-1].startswith("      point")


def test_what_is_to_be_copied_is_not_broken() -> None:
    page = Page(stream(), width=40)
    page.code("x" * 200)

    assert printed(page) == f"      {'x' * 200}\n"


def test_what_a_program_says_cannot_move_the_cursor() -> None:
    assert visible("0.61\x1b[2J\u202e\tx\r\nq") == "0.61[2J x  q"
