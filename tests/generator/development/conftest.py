from __future__ import annotations

from pathlib import Path

import pytest

from toolmason import pipeline
from toolmason.diagnostics import Diagnostics
from toolmason.project import Project, find_project
from toolmason.scaffold import init, project_names


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A new project with the tool `count_words`."""
    root = tmp_path / "notes"

    def generate(made: Project) -> None:
        pipeline.generate(made, diagnostics=Diagnostics())

    init(root, project_names("notes"), generate=generate)
    return find_project(root)
