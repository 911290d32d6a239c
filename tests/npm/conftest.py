"""The npm package, built once, and a process that calls it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "schema-npm"))
sys.path.append(str(Path(__file__).parents[2]))  # for the corpus, after installed packages

from npm_package import NodeLibrary, build_tarball, unpack


@pytest.fixture(scope="session")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tarball(tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="session")
def package(tarball: Path) -> Path:
    return unpack(tarball)


@pytest.fixture(scope="session")
def library(package: Path) -> Iterator[NodeLibrary]:
    with NodeLibrary(package) as opened:
        yield opened
