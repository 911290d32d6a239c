"""A project that `toolmason init` laid out, for the tests of the commands."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.project import Project, find_project


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("covering")


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache directory for the tests, as on a user's machine: not in CI, and not the one of whoever runs them."""
    home = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        patch.setenv("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def laid_out_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laid-out") / "notes"
    result = CliRunner().invoke(toolmason, ["init", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def project(laid_out_once: Path, tmp_path: Path) -> Project:
    """A fresh copy, so that a test may spoil it."""
    folder = tmp_path / "notes"
    shutil.copytree(laid_out_once, folder)
    return find_project(folder)


@pytest.fixture
def run(project: Project) -> Callable[..., Result]:
    """Run `toolmason` on the project, whatever the working directory."""

    def invoke(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(toolmason, [command, *arguments, "--manifest", str(project.manifest)])

    return invoke
