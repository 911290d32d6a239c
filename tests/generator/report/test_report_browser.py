"""The page in Chromium, on a phone and on a desktop."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import anyio
import pytest
from browser_pages import CONTRAST, LABELS_OUTSIDE, OVERFLOW, OVERLAPS, SMALL_TEXTS, served
from chromium import chromium
from click.testing import Result
from report_pages import NAMES, SCHEMA, page_of

pytestmark = pytest.mark.anyio
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
THEMES = ("light", "dark")
UNNAMED = """[...document.querySelectorAll('svg')].filter(svg =>
    svg.ariaHidden !== 'true' && !svg.querySelector(':scope > title')).length"""
"""Number of pictures without a title, except those that only repeat a text."""
PAGES = ("full", "names", "many", "one")


@pytest.fixture
def pages(toolmason_run: Callable[..., Result], desk: Path) -> Path:
    """A directory with the page of a project, and those of servers with odd names, with many tools and with one."""
    assert toolmason_run("release").exit_code == 0
    text = (desk / "desk.toml").read_text(encoding="utf-8")
    (desk / "desk.toml").write_text(text.replace("[tools.find_mail]", "[tools.seek_mail]"), encoding="utf-8")
    queries = (desk / "queries.toml").read_text(encoding="utf-8").replace("find_mail", "seek_mail")
    (desk / "queries.toml").write_text(queries, encoding="utf-8")
    assert toolmason_run("report", "--queries", "queries.toml", "-o", "full.html").exit_code == 0
    odd = [
        {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {name: {"type": "string"}}}}
        for name in NAMES.values()
    ]
    many = [{"name": f"tool_{number}_{'w' * 60}", "inputSchema": SCHEMA} for number in range(300)]
    for name, tools in (("names", odd), ("many", many), ("one", many[:1])):
        (desk / f"{name}.html").write_text(page_of(tools), encoding="utf-8")
    return desk


@pytest.mark.uncovered
async def test_the_page_is_readable(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(pages) as address:
        async with chromium(tmp_path_factory.mktemp("profile")) as browser:
            for name, device, theme in product(PAGES, SIZES, THEMES):
                page = await browser.open(f"{address}/{name}.html", *SIZES[device])
                features = [{"name": "prefers-color-scheme", "value": theme}]
                await page.send("Emulation.setEmulatedMedia", features=features)
                closed = await page.evaluate(OVERFLOW)
                await page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
                # A directory for looking at the pages: `REPORT_SCREENSHOTS=/tmp/pages pytest ...`.
                if directory := os.environ.get("REPORT_SCREENSHOTS"):
                    path = anyio.Path(directory, f"report-{name}-{device}-{theme}.png")
                    await path.write_bytes(await page.screenshot())
                found = {
                    "overflow": max(closed, await page.evaluate(OVERFLOW)),
                    "outside": await page.evaluate(LABELS_OUTSIDE),
                    "overlaps": await page.evaluate(OVERLAPS),
                    "small": await page.evaluate(SMALL_TEXTS),
                }
                contrast = await page.evaluate(CONTRAST)

                assert page.problems == [], (name, device, theme)
                assert found == {"overflow": 0, "outside": [], "overlaps": [], "small": []}, (name, device, theme)
                assert contrast["text"] >= 4.5, (name, device, theme)
                assert contrast["part"] >= 3, (name, device, theme)


@pytest.mark.uncovered
async def test_the_page_asks_for_no_other_file(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(pages) as address:
        async with chromium(tmp_path_factory.mktemp("profile")) as browser:
            page = await browser.open(f"{address}/full.html", 1280, 800)
            headings = await page.evaluate("[...document.querySelectorAll('h1, h2')].map(each => each.textContent)")
            unnamed = await page.evaluate(UNNAMED)
            requests = [url for url in page.requests if url.startswith(address)]

    assert requests == [f"{address}/full.html"]
    assert headings[1:] == [
        "Tools and tokens",
        "Schemas",
        "Search",
        "Look-alike tools",
        "Risk and approval",
        "Changes",
    ]
    assert unnamed == 0
