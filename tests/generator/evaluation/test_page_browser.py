"""The HTML report in Chromium, on a phone and on a desktop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from browser_pages import CONTRAST, LABELS_OUTSIDE, OVERFLOW, OVERLAPS, SMALL_TEXTS, served
from chromium import chromium
from click.testing import Result

pytestmark = pytest.mark.anyio
LONG = "a_query_without_any_space_" * 12
QUERIES = f"""\
[queries]
find_notes = ["xylophone", "{LONG}", "<script>alert(1)</script>"]
find_mail = ["find notes in my letters", "find notes from Ada in letters"]
rename_note = ["change the title of a note"]
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desktop"])
async def test_the_page_fits_and_shows_each_part(
    evaluate: Callable[..., Result],
    desk: Path,
    tmp_path_factory: pytest.TempPathFactory,
    size: tuple[int, int],
    theme: str,
) -> None:
    assert evaluate(QUERIES, "--top", "1", "--suggest", "--html", "page.html").exit_code == 0
    with served(desk) as address:
        async with chromium(tmp_path_factory.mktemp("profile")) as browser:
            page = await browser.open(f"{address}/page.html", *size)
            features = [{"name": "prefers-color-scheme", "value": theme}]
            await page.send("Emulation.setEmulatedMedia", features=features)
            # A directory for looking at the page: `EVAL_SCREENSHOTS=/tmp/pages pytest ...`.
            if directory := os.environ.get("EVAL_SCREENSHOTS"):
                await anyio.Path(directory, f"eval-{size[0]}-{theme}.png").write_bytes(await page.screenshot())
            text = await page.evaluate("document.body.innerText")
            overflow = await page.evaluate(OVERFLOW)
            diagonal = await page.evaluate("document.querySelectorAll('.heat .right').length")
            labels_outside = await page.evaluate(LABELS_OUTSIDE)
            overlaps = await page.evaluate(OVERLAPS)
            small_texts = await page.evaluate(SMALL_TEXTS)
            contrast = await page.evaluate(CONTRAST)

    assert page.problems == []
    assert overflow <= 0
    assert diagonal > 0
    assert labels_outside == []
    assert overlaps == []
    assert small_texts == []
    assert contrast["text"] >= 4.5
    for part in (
        "Search evaluation: Desk <of> Ada",
        "Recall by category",
        "(nothing)",
        "<script>alert(1)</script>",
        "Proposals",
        "Only in find_notes:",
        "Suggestions",
        "find_mail: add",
    ):
        assert part in text, part
