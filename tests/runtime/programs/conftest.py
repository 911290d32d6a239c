"""Puts programs to run within reach, and ways to see what became of them."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_sample import committed, generated, repository, sample

__all__ = ["committed", "generated", "repository", "sample"]

PROGRAMS = Path(__file__).parent / "programs"


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
