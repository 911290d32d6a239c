"""docs/openapi-tutorial.md: its commands give the printed output, and the edits survive the update."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pages import read

PAGE: Final = read("docs/openapi-tutorial.md")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The URL of the stub on the page, and the file with its log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "shop.log"
    source = PAGE.block("python").replace("8000", str(port))
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen([sys.executable, "-c", source], stderr=output) as api,
    ):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1", log
        api.terminate()


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


def test_the_commands_of_the_tutorial_give_the_printed_output(shop: tuple[str, Path], tmp_path: Path) -> None:
    url, log = shop
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

    requests = re.findall(r'"(GET \S+) HTTP', log.read_text(encoding="utf-8"))
    assert requests == ["GET /v1/orders/2026-117/lineItems", "GET /v1/orders/2026-117/lineItems?currency=EUR"]
    assert "[tools.list_articles]  # our customers say articles" in manifest.read_text(encoding="utf-8")
