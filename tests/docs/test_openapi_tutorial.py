"""docs/openapi-tutorial.md: its commands give the printed output, and the edits survive the update."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from pages import read

PAGE: Final = read("docs/openapi-tutorial.md")


class Shop(ThreadingHTTPServer):
    """The API of the page."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        self.server.seen.append(f"GET {self.path}")
        body = b'[{"article":"Lamp","price":"19.00"}]'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(session: str, project: Path, url: str) -> None:
    """Run the commands of a block, and compare what they print with the lines below them."""
    for part in session.split("$ ")[1:]:
        command, *expected = part.splitlines()
        words = shlex.split(command)
        if words[0] == "export":
            continue
        assert words[0] == "toolmason"
        # `$SHOP_URL` in quotation marks is text; the variable is that of the stub.
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=project,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
            env={**os.environ, "SHOP_URL": url, "NO_COLOR": "1"},
        )
        assert done.returncode == 0, done.stderr
        printed = (done.stdout + done.stderr).splitlines()
        assert [line for line in expected if line != "..."] == [line for line in expected if line in printed], printed


def test_the_commands_of_the_tutorial_give_the_printed_output(shop: Shop, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{shop.server_port}/v1"
    first, second = PAGE.blocks("yaml")
    imported, improved = PAGE.blocks("toml")
    manifest = tmp_path / "manifest" / "shop.toml"
    (tmp_path / "shop.yaml").write_text(first, encoding="utf-8")
    (tmp_path / "shop-2.yaml").write_text(second, encoding="utf-8")
    sessions = PAGE.blocks("console")

    run(sessions[0], tmp_path, url)
    text = manifest.read_text(encoding="utf-8")
    assert imported in text
    manifest.write_text(text.replace(imported, improved), encoding="utf-8")
    for session in sessions[1:]:
        run(session, tmp_path, url)

    assert shop.seen == ["GET /v1/orders/2026-117/lineItems", "GET /v1/orders/2026-117/lineItems?currency=EUR"]
    assert "[tools.list_articles]  # our customers say articles" in manifest.read_text(encoding="utf-8")
