"""The client of the golden case with typed clients, its server, and the client of a server with odd tools."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from generated_clients import CASE, write_clients
from odd_tools import TOOLS


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden case, generated."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import generate
    from toolmason.project import Project

    root = tmp_path_factory.mktemp("diary")
    shutil.copy(CASE / "manifest.toml", root)
    shutil.copytree(CASE / "handlers", root / "handlers")
    assert generate(Project(root, root / "manifest.toml"), diagnostics=Diagnostics())
    return root


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with both clients of a server with odd tools."""
    return write_clients(TOOLS, tmp_path_factory.mktemp("odd"), name="odd/server")


@pytest.fixture(scope="session")
def importable(project: Path, odd: Path) -> Iterator[None]:
    """The packages can be imported."""
    paths = [str(project / "generated"), str(project / "handlers")]
    paths += [str(project / "generated" / "typed-clients" / "python"), str(odd / "python")]
    sys.path[:0] = paths
    yield
    for path in paths:
        sys.path.remove(path)
