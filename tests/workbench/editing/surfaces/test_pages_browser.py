"""The review pages in Chromium, on a phone and on a desktop, used by keyboard and by touch."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from chromium import CTRL, Page, chromium
from proposals import LINES, SEVERAL, Desk

from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.surfaces.pages import serve_pages

pytestmark = pytest.mark.anyio
PHONE, DESKTOP = (390, 844), (1280, 800)
LONG = "a_name_without_any_space_" * 12
OLD = "".join(f"line {number}\n" for number in range(1, 61))
NEW = OLD.replace("line 3\n", "third line\n").replace("line 30\n", f"{LONG}\n").replace("line 50\n", "") + "end\u202e\n"
OpenPage = Callable[..., Awaitable[Page]]
DECIDED = "document.querySelector('#status').textContent.startsWith('{}')"


@pytest.fixture
async def open_page(desk: Desk, tmp_path: Path) -> AsyncIterator[OpenPage]:
    """Open the list or a review with the address that a person receives; problems in the browser fail the test."""
    async with serve_pages(desk.store) as pages, chromium(tmp_path / "profile") as browser:
        opened: list[Page] = []

        async def open_page(size: tuple[int, int], review_id: str | None = None) -> Page:
            page = await browser.open(pages.url(review_id), *size)
            opened.append(page)
            assert await page.evaluate("location.href") == f"http://127.0.0.1:{pages.port}{pages.path(review_id)}"
            return page

        yield open_page
        for page in opened:
            # A directory for looking at the pages: `REVIEW_SCREENSHOTS=/tmp/pages pytest ...`.
            if directory := os.environ.get("REVIEW_SCREENSHOTS"):
                name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
                await anyio.Path(directory, f"{name}.png").write_bytes(await page.screenshot())
            assert page.problems == []
            assert {url.split("/")[2] for url in page.requests if not url.startswith("data:")} == {
                f"127.0.0.1:{pages.port}"
            }


@pytest.mark.parametrize("size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop")])
async def test_a_person_reviews_by_keyboard(desk: Desk, open_page: OpenPage, size: tuple[int, int]) -> None:
    first, second = (
        desk.propose("src/a.py", OLD.encode(), NEW.encode(), notes=("a note",)),
        desk.propose("b", b"1", b"2"),
    )
    page = await open_page(size, first.id)

    positions = []
    for key in "jjjkk":
        await page.press(key)
        await page.wait("document.activeElement.classList.contains('change')")
        positions.append(
            await page.evaluate("[...document.querySelectorAll('.change')].indexOf(document.activeElement)")
        )
    await page.press("?")
    await page.wait("document.querySelector('dialog').open")
    await page.press("a")
    await page.press("Escape")
    await page.wait("!document.querySelector('dialog').open")
    assert not desk.store.is_decided(first)
    await page.press("a")
    await page.wait(DECIDED.format("Committed"))
    await page.wait("document.activeElement.id === 'next'")
    written = desk.read("src/a.py")
    await page.press("n")
    await page.wait(
        f"document.readyState === 'complete' && document.querySelector('main')?.dataset.id === '{second.id}'"
    )
    await page.press("r")
    await page.wait(DECIDED.format("Rejected"))

    assert positions == [0, 1, 2, 1, 0]
    assert written == NEW.encode()
    assert (desk.store.status(second), desk.read("b")) == ("REJECTED", b"1")


@pytest.mark.parametrize("size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop")])
async def test_an_edit_keeps_the_line_breaks_of_the_file(
    desk: Desk, open_page: OpenPage, size: tuple[int, int]
) -> None:
    proposed = b"\r\n\r\n<b>one</b>\r\n&amp;\nthree\n"
    review = desk.propose("a.html", b"", proposed)
    page = await open_page(size, review.id)

    await page.tap("[data-key=e]")
    await page.wait("document.activeElement.id === 'text'")
    await page.press("Enter", CTRL)
    await page.wait(DECIDED.format("The text was not changed"))
    await page.evaluate("document.querySelector('#text').setSelectionRange(2, 2)")
    await page.type("a?")
    await page.press("Enter", CTRL)
    await page.wait(DECIDED.format("Sent back"))

    assert desk.store.edited(review) == b"\r\n\r\na?<b>one</b>\r\n&amp;\nthree\n"
    assert desk.read("a.html") == b""


async def test_letters_in_a_comment_decide_nothing(desk: Desk, open_page: OpenPage) -> None:
    review = desk.propose("a.txt", b"1\n", b"2\n")
    page = await open_page(PHONE, review.id)

    await page.press("c")
    await page.wait("document.activeElement.id === 'note'")
    await page.type("are ")
    await page.evaluate("document.activeElement.blur()")
    await page.press("a")
    assert not desk.store.is_decided(review)
    await page.tap("#note")
    await page.type("you sure")
    await page.tap("#comment [type=submit]")
    await page.wait(DECIDED.format("Sent back"))

    decision = desk.store.decision(review)
    assert decision is not None
    assert (decision.action, decision.comment) == ("comment", "are you sure")


async def test_a_phone_shows_one_column_and_a_desktop_two_without_horizontal_scrolling(
    desk: Desk, open_page: OpenPage
) -> None:
    review = desk.propose(f"{LONG[:200]}.txt", OLD.encode(), NEW.encode(), notes=(LONG,), client=LONG)
    sides = (
        "[...document.querySelectorAll('.changed .side')].slice(0, 2).map((side) => side.getBoundingClientRect().{})"
    )
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for size, is_phone in ((PHONE, True), (DESKTOP, False)):
        page, listed = await open_page(size, review.id), await open_page(size)

        assert await page.evaluate(overflow) == 0
        assert await listed.evaluate(overflow) == 0
        left, top = await page.evaluate(sides.format("left")), await page.evaluate(sides.format("top"))
        assert (left[0] == left[1], top[0] < top[1]) == (is_phone, is_phone)
        smallest = "Math.min(...[...document.querySelectorAll('nav button')].map((button) => button.offsetHeight))"
        assert await page.evaluate(smallest) >= 40
        assert "\\u202e" in await page.evaluate("document.querySelector('.diff').textContent")


async def test_pages_follow_decisions_and_proposals_made_elsewhere(desk: Desk, open_page: OpenPage) -> None:
    review = desk.propose("a.txt", b"1\n", b"2\n")
    page, listed = await open_page(DESKTOP, review.id), await open_page(PHONE)

    assert desk.store.decide(review, Decision("reject", "terminal"))
    following = desk.propose("b.txt", b"1\n", b"2\n")

    await page.wait(DECIDED.format("Rejected"))
    await page.wait("document.querySelector('nav [data-key=a]').disabled")
    await page.wait("!document.querySelector('#next').hidden")
    await listed.wait(f"document.querySelector('main')?.dataset.pending === '{following.id}'")
    await page.press("a")
    assert desk.read("a.txt") == b"1\n"


@pytest.mark.parametrize("size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop")])
async def test_files_and_changes_are_left_out_by_key_and_by_touch(
    desk: Desk, open_page: OpenPage, size: tuple[int, int]
) -> None:
    review = desk.propose_files(SEVERAL)
    page = await open_page(size, review.id)

    await page.tap("input.file[data-file='1']")
    await page.press("j")
    await page.press("j")
    await page.press("j")
    await page.press("x")
    await page.wait("document.querySelector('nav [data-key=a]').textContent.startsWith('Approve 2 of 4')")
    assert await page.evaluate("document.querySelector(\"input.file[data-file='2']\").indeterminate")
    await page.press("a")
    await page.wait(DECIDED.format("Committed"))

    assert {name: desk.read(name) for name in SEVERAL} == {
        "src/app.py": SEVERAL["src/app.py"][1],
        "docs/new.md": None,
        "list.txt": LINES.replace(b"ten", b"10"),
    }
