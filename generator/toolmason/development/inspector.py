"""The MCP Inspector, a web page that shows what a server offers and calls its tools."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

MIN_NODE: Final = (22, 19)
"""Lowest version of Node.js for the Inspector."""
PACKAGE: Final = "@modelcontextprotocol/inspector@2.12.0"
"""The package that npx downloads: an exact version, the one of the tests."""


class InspectorError(Exception):
    """The Inspector cannot be started here. The message states the fix."""


@contextmanager
def inspector(url: str) -> Iterator[None]:
    """Run the Inspector for the server at `url`. It opens the browser; npx downloads it at the first time.

    Raises:
        InspectorError: there is no Node.js, or it is older than `MIN_NODE`.
    """
    node, npx = shutil.which("node"), shutil.which("npx")
    needed = f"the Inspector needs Node.js {MIN_NODE[0]}.{MIN_NODE[1]} or later"
    if node is None or npx is None:
        raise InspectorError(f"{needed}; `node` and `npx` are not on PATH")
    shown = subprocess.run([node, "--version"], capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    version = shown.stdout.strip()
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < MIN_NODE:
        raise InspectorError(f"{needed}; `node --version` is {version or 'empty'}")
    command = [npx, "--yes", PACKAGE, "--web", "--transport", "http", "--server-url", url, "--protocol-era", "auto"]
    # A process group, since npx does not end its children.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as process:  # noqa: S603
        try:
            yield
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its group, and the group."""
    if sys.platform == "win32":
        process.terminate()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
