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


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)], ids=["phone", "desktop"])
async def test_the_page_fits_and_shows_each_part(
    evaluate: Callable[..., Result], desk: Path, tmp_path_factory: pytest.TempPathFactory, width: int, height: int
) -> None:
    assert evaluate(QUERIES, "--html", "page.html").exit_code == 0
    with served(desk) as address:
        async with chromium(tmp_path_factory.mktemp("profile")) as browser:
            page = await browser.open(f"{address}/page.html", width, height)
            # A directory for looking at the page: `EVAL_SCREENSHOTS=/tmp/pages pytest ...`.
            if directory := os.environ.get("EVAL_SCREENSHOTS"):
                await anyio.Path(directory, f"eval-{width}.png").write_bytes(await page.screenshot())
            text = await page.evaluate("document.body.innerText")
            overflow = await page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            diagonal = await page.evaluate("document.querySelectorAll('.matrix .right').length")

    assert page.problems == []
    assert overflow <= 0
    assert diagonal > 0
    for part in (
        "Search evaluation: Desk <of> Ada",
        "Recall by category",
        "(nothing)",
        "<script>alert(1)</script>",
        "Proposals",
    ):
        assert part in text, part
