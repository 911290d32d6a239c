"""A project with a real server for each fault, and the summary: one line for each row of `docs/reliability.md`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "runtime" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "workbench" / "editing" / "support"))

from edit_server import Person, Place
from redis_server import redis_servers
from sql_servers import postgresql_url

__all__ = ["postgresql_url", "redis_servers"]

FIGURES: Final = pytest.StashKey[dict[str, str]]()
NOT_RUN: Final = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--short", action="store_true", help="kill and fail at some steps only: about two minutes")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES], config.stash[NOT_RUN] = {}, {}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    project = tmp_path / "project"
    project.mkdir()
    return Place(project, tmp_path / "state")


@pytest.fixture
def user() -> Person:
    return Person()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def importable_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a started process import the modules of this one."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def steps(request: pytest.FixtureRequest) -> Callable[[int], bool]:
    """Return whether a step is tested: each one, or with `--short` the first two and every seventh."""
    is_short = request.config.getoption("--short")
    return lambda number: not is_short or number <= 2 or number % 7 == 0


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Set the figure of this fault in the summary."""
    return lambda figure: request.config.stash[FIGURES].__setitem__(request.node.nodeid, figure)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    result = yield
    if result.skipped and isinstance(result.longrepr, tuple):
        item.config.stash[NOT_RUN][item.nodeid] = result.longrepr[2].removeprefix("Skipped: ")
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = [("ok", *row) for row in config.stash[FIGURES].items()]
    rows += [("NOT RUN", *row) for row in config.stash[NOT_RUN].items()]
    if rows:
        terminalreporter.section("faults")
        for state, name, text in rows:
            terminalreporter.line(f"{state:8}{name.rpartition('/')[2]}: {text}", bold=state != "ok")
