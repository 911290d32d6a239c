"""Puts programs to run within reach, and ways to see what became of them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from command_sample import generated, repository, sample

__all__ = ["generated", "repository", "sample"]

PATIENCE_S = 30.0
PROGRAMS = Path(__file__).parent / "programs"

Until = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def python() -> tuple[str, ...]:
    """How to run one of the programs quickly: nothing of what is installed is imported."""
    return (sys.executable, "-I", "-S")


@pytest.fixture(scope="session")
def program(python: tuple[str, ...]) -> Callable[..., tuple[str, ...]]:
    """Give the command line of a program with arguments."""

    def command(name: str, *arguments: object) -> tuple[str, ...]:
        return (*python, str(PROGRAMS / f"{name}.py"), *map(str, arguments))

    return command


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """A program that plays the client of Docker, in a folder of its own."""
    client = tmp_path / "bin" / "docker"
    client.parent.mkdir()
    source = (PROGRAMS / "docker.py").read_text(encoding="utf-8")
    client.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
    client.chmod(stat.S_IRWXU)
    return client


@pytest.fixture(scope="session")
def until() -> Until:
    """Wait until something is so, and not for ever."""

    async def wait(is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not is_so():  # noqa: ASYNC110  a process elsewhere sets no event
                await anyio.sleep(0.01)

    return wait


@pytest.fixture(scope="session")
def is_running() -> Callable[[int], bool]:
    """Tell whether a process runs; one that has ended may still wait to be collected by who adopted it."""

    def look(pid: int) -> bool:
        try:
            os.kill(pid, 0)
            if sys.platform != "linux":
                return True
            return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
        except (ProcessLookupError, FileNotFoundError):
            return False

    return look
