"""A client offers our tools in its first request, although it does not wait for servers and the machine is busy.

`TOOLMASON_STARTS` is the number of starts of each client, and `TOOLMASON_BUSY` that of processes that do nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from real_clients import ClaudeCode, Codex, Place, RealClient, run, write
from toolmason_runtime.server.package_files import server_files

pytestmark = pytest.mark.skipif(
    os.environ.get("TOOLMASON_CLIENTS") != "all", reason="starts Claude Code; run `nox -s clients`"
)
STARTS = int(os.environ.get("TOOLMASON_STARTS", "3"))
REQUIRED = "required = true\n"
"""The setting with which Codex waits for a server."""
BUSY = int(os.environ.get("TOOLMASON_BUSY", "8"))


class ImpatientClaudeCode(ClaudeCode):
    """Claude Code as it is by default: it does not wait for its servers."""

    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        settings = super().set_up(place, model_url)
        return {name: value for name, value in settings.items() if name != "MCP_CONNECTION_NONBLOCKING"}


@pytest.fixture
def busy_processes() -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    yield
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("busy_processes")
@pytest.mark.parametrize("client", [ImpatientClaudeCode(), Codex()], ids=lambda client: client.key)
def test_the_tools_are_in_the_first_request_of_each_start(client: RealClient, tmp_path: Path) -> None:
    found = [has_tools(client, Place(tmp_path / str(number))) for number in range(STARTS)]

    assert found.count(True) == STARTS


def has_tools(client: RealClient, place: Place) -> bool:
    """Start a client with Workbench in its project; return whether its first request offers our tools."""
    for directory in (place.project, place.home):
        directory.mkdir(parents=True)
    program = write(
        place.programs / "toolmason-workbench", f'#!/bin/sh\nexec {sys.executable} -m workbench_server "$@"\n'
    )
    program.chmod(0o755)
    shutil.copytree(server_files("workbench_server") / "clients" / client.key, place.project, dirs_exist_ok=True)
    for config in place.project.glob(".codex/config.toml"):
        text = config.read_text(encoding="utf-8")
        assert REQUIRED in text
        config.write_text(text.replace(REQUIRED, ""), encoding="utf-8")
    done = run(client, place, "Say hello.", (), approved=True)
    assert done.process.returncode == 0, done.process.stderr
    return sum("workbench" in name for name in done.model.conversations[0].tools) >= 3
