"""The book of notes: a server that is generated from `project/` for these tests."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from oracle import LEGACY, MODERN, Oracle, watched
from toolmason_runtime.shared.selection import Selection


@pytest.fixture(scope="session")
def notes_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("notes") / "project"
    shutil.copytree(Path(__file__).parent / "project", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def build_server(notes_project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The function that builds the generated server; its packages are forgotten before and afterwards.

    Before: the projects of other tests have packages of the same name.
    """
    for root in ("generated", "handlers"):
        monkeypatch.syspath_prepend(str(notes_project / root))
    _forget_packages()
    yield importlib.import_module("notes_server.server").build_server
    _forget_packages()


def _forget_packages() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("notes_server", "notes_tools")]:
        del sys.modules[name]


@pytest.fixture
def notes_process(notes_project: Path) -> Callable[..., Any]:
    """The function that returns a transport to the generated server in a process of its own, with these flags."""

    def start(*flags: str) -> Any:
        roots = os.pathsep.join(str(notes_project / root) for root in ("generated", "handlers"))
        return stdio_client(
            StdioServerParameters(
                command=sys.executable, args=["-m", "notes_server", *flags], env={**os.environ, "PYTHONPATH": roots}
            )
        )

    return start


@pytest.fixture(params=["sdk", "lean"])
def notes_server(
    request: pytest.FixtureRequest, build_server: Callable[..., Any], notes_process: Callable[..., Any]
) -> Any:
    """The generated server: in this process with the SDK, and in a process of its own with the lean engine."""
    return build_server() if request.param == "sdk" else notes_process("--engine", "lean")


@pytest.fixture(params=["legacy", MODERN])
def talking(
    request: pytest.FixtureRequest, build_server: Callable[..., Any]
) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Open a client of each era; the oracle checks every message."""

    @asynccontextmanager
    async def talk(selection: Selection | None = None, **options: Any) -> AsyncIterator[Client]:
        oracle = Oracle(LEGACY if request.param == "legacy" else MODERN)
        server = build_server(selection or Selection("classic"))
        async with Client(watched(server, oracle), mode=request.param, **options) as client:
            yield client
        assert oracle.seen

    return talk
