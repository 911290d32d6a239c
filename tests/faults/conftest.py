"""A project with a real server for each fault, and the summary: one line for each row of `docs/reliability.md`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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

ROWS: Final[list[tuple[str, str, str]]] = []
"""State, test and figure of each fault. A process of the tests sends its reports to the one that prints the summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--short", action="store_true", help="kill and fail at some steps only: about two minutes")


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
    return lambda figure: request.node.user_properties.append(("figure", figure))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        ROWS.append(("NOT RUN", report.nodeid, report.longrepr[2].removeprefix("Skipped: not run: ")))
    elif report.when == "call":
        figure = str(dict(report.user_properties).get("figure", ""))
        ROWS.append(("ok" if report.passed else "BROKEN", report.nodeid, figure))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("faults")
    for state, name, figure in sorted(ROWS, key=lambda row: row[1]):
        terminalreporter.line(f"{state:8}{name.rpartition('/')[2]}: {figure}", bold=state != "ok")
