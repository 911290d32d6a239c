"""The sample server of the command tools, whose `send` keeps a record of each request."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_sample import committed, generated, repository, sample

__all__ = ["committed", "generated", "repository", "sample"]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the state of servers."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder
