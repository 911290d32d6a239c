from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from edit_server import Person, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    project = tmp_path / "project"
    project.mkdir()
    return Place(project, tmp_path / "state")


@pytest.fixture
def person() -> Person:
    return Person()
