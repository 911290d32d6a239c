"""Puts the sample server and the ends to talk to it within reach, here and in the processes that tests start."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)


@pytest.fixture(autouse=True)
def reachable_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a started process find what this one finds, and nothing of the settings of who runs the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.delenv("GEMINI_EXPOSE_ALL_TOOLS", raising=False)
    monkeypatch.delenv("SAMPLE_ROOTS", raising=False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def heed_a_hang_up() -> None:
    """Let programs we start heed SIGHUP: whoever runs the tests under `nohup` passes on that it is ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
