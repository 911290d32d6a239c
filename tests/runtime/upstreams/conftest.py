"""The desk: a server generated from `project/`, whose tools other MCP servers implement."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from oracle import LEGACY, MODERN, Oracle, watched

HERE = Path(__file__).parent
NODE_MODULES = HERE.parents[1] / "node_modules"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def desk_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("desk") / "project"
    shutil.copytree(HERE / "project", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the upstreams work in, and their environment."""
    directory = tmp_path / "desk"
    directory.mkdir()
    variables = {
        "NODE_MODULES": str(NODE_MODULES),
        "DESK_DIR": str(directory),
        "PYTHON": sys.executable,
        "MODERN_SERVER": str(HERE / "modern_server.py"),
        "HOSTILE_PROGRAM": str(HERE / "hostile_program.py"),
        "HOSTILE_SERVER": str(HERE / "hostile_server.py"),
        "DESK_TOKEN": "t0ken-of-the-desk",
        "DESK_SECRET": "passed",
        "DESK_PRIVATE": "not passed",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return directory


@pytest.fixture
def build_server(desk_project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The function that builds the generated server; its packages are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(desk_project / "generated"))
    yield importlib.import_module("desk_server.server").build_server
    for name in [name for name in sys.modules if name.partition(".")[0] == "desk_server"]:
        del sys.modules[name]


Talk = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["legacy", MODERN])
def talking(request: pytest.FixtureRequest, desk: Path, build_server: Callable[..., Any]) -> Talk:  # noqa: ARG001
    """Open a client of each era; the oracle checks every message."""

    @asynccontextmanager
    async def talk(commands: Any = None, **options: Any) -> AsyncIterator[Client]:
        oracle = Oracle(LEGACY if request.param == "legacy" else MODERN)
        server = build_server(commands=commands)
        async with Client(watched(server, oracle), mode=request.param, **options) as client:
            yield client

    return talk
