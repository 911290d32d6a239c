"""The server generated from `notes.toml`, as a process over HTTP, and the authorization server that it trusts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from issuer import Issuer, running_issuer
from notes_process import Environment, Notes, serving_notes

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def notes_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("notes")
    (project / "manifest").mkdir()
    shutil.copy(HERE / "notes.toml", project / "manifest")
    shutil.copytree(HERE / "notes_handlers", project / "handlers" / "notes_handlers")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as server:
        yield server


@pytest.fixture(scope="session")
def notes_environment(notes_project: Path) -> Environment:
    """The environment in which Python finds the project, without the variables of `[server.auth]`."""
    path = [str(notes_project / "generated"), str(notes_project / "handlers"), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


@pytest.fixture(scope="session")
def notes(notes_environment: Environment) -> Iterator[Notes]:
    """The server over HTTP, for all tests that leave the keys of its authorization server as they are."""
    with running_issuer() as issuer, serving_notes(issuer, notes_environment) as running:
        yield running


@pytest.fixture
def fresh_notes(issuer: Issuer, notes_environment: Environment) -> Iterator[Notes]:
    """The server over HTTP, which has not fetched any key."""
    with serving_notes(issuer, notes_environment) as running:
        yield running
