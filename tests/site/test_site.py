"""The documentation site: no broken link, nothing from other hosts, and no page that scrolls sideways."""

from __future__ import annotations

import os
import posixpath
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
import pytest
from browser_pages import OVERFLOW, served
from chromium import Page, chromium

PHONE, DESKTOP = (390, 844), (1280, 800)
LOADING = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that load a file, and the attribute with its address."""


class Html(HTMLParser):
    """The links, identifiers and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.names |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        if (loaded := values.get(LOADING.get(tag, ""))) and values.get("rel") != "canonical":
            self.loaded.append(loaded)


@cache
def parsed(path: Path) -> Html:
    return Html(path.read_text(encoding="utf-8"))


def pages_of(site: Path) -> list[Path]:
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    assert len(pages) > 40
    return pages


def test_every_link_leads_to_a_page_and_a_heading_that_exist(site: Path) -> None:
    broken = []
    for page in pages_of(site):
        for link in parsed(page).links + parsed(page).loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            target = Path(posixpath.normpath(page.parent / path)) if path else page
            target = target / "index.html" if target.is_dir() else target
            is_missing = not target.is_file()
            if is_missing or (parts.fragment and unquote(parts.fragment) not in parsed(target).names | {"__top"}):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_no_page_or_stylesheet_loads_anything_from_another_host(site: Path) -> None:
    foreign = [
        f"{page.name}: {address}"
        for page in pages_of(site)
        for address in parsed(page).loaded
        if urlsplit(address).netloc
    ]
    for sheet in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import )[\"']?(?!data:)([^\"')]+)", sheet.read_text(encoding="utf-8"))
        foreign += [f"{sheet.name}: {url}" for url in urls if urlsplit(url).netloc]
    for picture in site.rglob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        foreign += [f"{picture.name}: {url}" for url in re.findall(r"(?:url\(|href=)[\"']?(https?:[^\"')]+)", text)]
    assert foreign == []


async def resize(page: Page, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
    await page.send("Emulation.setDeviceMetricsOverride", **size)
    # Menus move to their places.
    await page.wait("document.getAnimations().length === 0")


async def photograph(page: Page, name: str) -> None:
    """Save a picture for people: `SITE_SCREENSHOTS=/tmp/pages pytest ...`."""
    if directory := os.environ.get("SITE_SCREENSHOTS"):
        await anyio.Path(directory, f"{name}.png").write_bytes(await page.screenshot())


@pytest.mark.anyio
async def test_no_page_scrolls_sideways_on_a_phone_or_a_desktop(site: Path, tmp_path: Path) -> None:
    wide = []
    with served(site) as address:
        async with chromium(tmp_path) as browser:
            page = await browser.open(f"{address}/index.html", *DESKTOP)
            await page.send("Animation.enable")
            await page.send("Animation.setPlaybackRate", playbackRate=100)
            for path in pages_of(site):
                name = path.relative_to(site).as_posix()
                await page.send("Page.navigate", url=f"{address}/{name}")
                await page.wait(f"document.readyState === 'complete' && location.pathname === '/{name}'")
                for width, height in (DESKTOP, PHONE):
                    await resize(page, width, height)
                    if (overflow := await page.evaluate(OVERFLOW)) > 0:
                        wide.append(f"{name} at {width} pixels: {overflow} too many")
                    await photograph(page, f"{name.replace('/', '-')}-{width}")
    assert wide == []
    assert page.problems == []
    assert [url for url in page.requests if not url.startswith(("data:", address))] == []


@pytest.mark.anyio
async def test_search_finds_a_key_of_the_manifest(site: Path, tmp_path: Path) -> None:
    with served(site) as address:
        async with chromium(tmp_path) as browser:
            page = await browser.open(f"{address}/index.html", *DESKTOP)
            await page.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
            await page.type("ok_exit_codes")
            await page.wait("document.querySelector('.md-search-result__link[href*=\"manifest-reference\"]')")


@pytest.mark.anyio
async def test_a_terminal_session_is_copied_without_prompts_and_output(site: Path, tmp_path: Path) -> None:
    with served(site) as address:
        async with chromium(tmp_path) as browser:
            page = await browser.open(f"{address}/tutorial.html", *DESKTOP)
            copied = await page.evaluate("""
                [...document.querySelectorAll('.highlight code:has(.gp)')].map(code => {
                    code.setAttribute('data-md-copying', '') // as the button does
                    return code.innerText
                })""")
    assert "cd bookshelf" in copied[1].split("\n")
    assert "created the server" not in copied[1]
    assert not [text for text in copied if "$ " in text]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
