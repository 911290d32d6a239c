"""Servers of Redis, and the server whose calls become tasks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from redis_server import redis_servers

__all__ = ["redis_servers"]

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def tasks_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project `project/`, generated a moment ago."""
    project = tmp_path_factory.mktemp("tasks") / "project"
    shutil.copytree(HERE / "project", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def environ(tasks_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a server of this project, whose state is new."""
    sources = [str(tasks_project / "generated"), str(tasks_project / "handlers")]
    before = os.environ.get("PYTHONPATH")
    state = str(tmp_path / "state")
    monkeypatch.setenv("XDG_STATE_HOME", state)
    return {"PYTHONPATH": os.pathsep.join([*sources, *([before] if before else [])]), "XDG_STATE_HOME": state}
