"""Programs that call the tools of the sample server, whose `send` keeps a record of each request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_sample import Sample, committed, generated, repository, sample
from program_desk import Desk
from redis_server import redis, shared_redis

__all__ = ["committed", "generated", "redis", "repository", "sample", "shared_redis"]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the state of servers."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def desk(sample: Sample, tmp_path: Path) -> Desk:
    return Desk(sample, tmp_path / "record.txt")


@pytest.fixture
def stored(state: Path) -> Callable[[], list[Path]]:
    """The files of suspended programs."""
    return lambda: sorted(state.glob("toolmason/programs/*/program_*"))
