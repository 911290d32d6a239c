"""The HTML report in Chromium, on a phone and on a desktop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import anyio
import pytest
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


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a directory on loopback: the browser opens no file of the disk from a link."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(directory)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


LABELS_OUTSIDE = """[...document.querySelectorAll('.heat text')].filter(text => {
    const box = text.getBoundingClientRect(), map = text.closest('svg').getBoundingClientRect();
    return box.left < map.left - 1 || box.right > map.right + 1 || box.top < map.top - 1 || box.bottom > map.bottom + 1;
}).map(text => text.textContent)"""
"""Labels and counts that the picture cuts off."""
CONTRAST = """(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const channels = colours => {
        canvas.clearRect(0, 0, 1, 1);
        for (const [colour, alpha] of colours) {
            canvas.globalAlpha = alpha; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = colours => channels(colours)
        .map(value => value / 255).map(value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
        .reduce((sum, value, place) => sum + value * [.2126, .7152, .0722][place], 0);
    const back = getComputedStyle(document.body).backgroundColor;
    return Math.min(...[...document.querySelectorAll('.heat g')].map(cell => {
        const rect = getComputedStyle(cell.querySelector('rect'));
        const text = getComputedStyle(cell.querySelector('text')).fill;
        const pair = [[[text, 1]], [[back, 1], [rect.fill, rect.fillOpacity]]].map(luminance).sort((a, b) => b - a);
        return (pair[0] + .05) / (pair[1] + .05);
    }));
})()"""
"""The lowest contrast of a count and its cell."""


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
            overflow = await page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            diagonal = await page.evaluate("document.querySelectorAll('.heat .right').length")
            labels_outside = await page.evaluate(LABELS_OUTSIDE)
            contrast = await page.evaluate(CONTRAST)

    assert page.problems == []
    assert overflow <= 0
    assert diagonal > 0
    assert labels_outside == []
    assert contrast >= 4.5
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
