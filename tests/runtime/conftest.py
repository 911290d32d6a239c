"""Puts the sample server and the ends to talk to it within reach, here and in the processes that tests start."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

PATIENCE_S = 30.0
"""Seconds to wait for a condition."""

SUPPORT = Path(__file__).parent / "support"
sys.path.insert(0, str(SUPPORT))
# git stores no modes, and other users must not be able to read a token.
(SUPPORT / "token_of_tests").chmod(0o600)


@pytest.fixture(autouse=True)
def reachable_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a started process find what this one finds, and nothing of the settings of who runs the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.delenv("SAMPLE_ALL_TOOLS", raising=False)
    monkeypatch.delenv("SAMPLE_ROOTS", raising=False)


@pytest.fixture(params=["sdk", "lean"])
def each_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Start the sample server with each engine in turn; the name of the engine."""
    from stdio_peer import engine

    token = engine.set(request.param)
    yield request.param
    engine.reset(token)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def heed_a_hang_up() -> None:
    """Let programs we start heed SIGHUP: whoever runs the tests under `nohup` passes on that it is ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait until a condition holds, for a limited time."""

    async def wait(condition: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not condition():  # noqa: ASYNC110  a process elsewhere sets no event
                await anyio.sleep(0.01)

    return wait


@pytest.fixture(scope="session")
def is_running() -> Callable[[int], bool]:
    """Return whether a process runs; one that has ended may still wait for its parent."""

    def look(pid: int) -> bool:
        try:
            os.kill(pid, 0)
            if sys.platform != "linux":
                return True
            return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
        except (ProcessLookupError, FileNotFoundError):
            return False

    return look
