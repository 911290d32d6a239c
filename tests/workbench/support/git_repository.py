"""A real repository in the allowed folder, the sandboxes of this machine, and a program that reports that it ran.

Fixtures for the `conftest.py` of a folder: `calm`, `mode`, `held`, `repository`, `project` and `canary`.
"""

from __future__ import annotations

import array
import fcntl
import os
import shutil
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.programs import sandbox
from toolmason_runtime.programs.access import SANDBOX
from toolmason_runtime.programs.settings import POLICY

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.fixture
def calm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the settings of who runs the tests out of it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", POLICY, SANDBOX):
        monkeypatch.delenv(name, raising=False)


MODES = tuple(dict.fromkeys([sandbox.supported() or "off", "bwrap" if sandbox.can_use_bwrap() else "off", "off"]))
"""The ways in which this machine can hold git: the best one, `bwrap`, and none."""


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(SANDBOX, request.param)
    return str(request.param)


@pytest.fixture(params=tuple(dict.fromkeys([MODES[0], "off"])))
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a sandbox holds git; if none does, repositories that could do harm are refused."""
    monkeypatch.setenv(SANDBOX, request.param)
    return bool(request.param != "off")


@contextmanager
def new_repository(folder: Path) -> Iterator[Path]:
    """Make an empty directory a repository, and yield it. Until the end, git ignores the settings of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        git(folder, "init", "--quiet", "--initial-branch=main")
        yield folder


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of two commits, the second tagged, and a branch."""
    with new_repository(tmp_path_factory.mktemp("repository")) as folder:
        (folder / "docs").mkdir()
        (folder / "app.py").write_text("one\ntwo\n", encoding="utf-8")
        (folder / "docs" / "guide.md").write_text("guide\n", encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message=Begin")
        git(folder, "branch", "topic")
        (folder / "app.py").write_text("one\nTWO\n", encoding="utf-8")
        git(folder, "commit", "--quiet", "--all", "--message=Shout two")
        git(folder, "tag", "v1")
    return folder


@pytest.fixture
def project(repository: Path, room: Any) -> Path:
    """The allowed folder as a fresh copy of the repository."""
    folder: Path = room.project
    shutil.copytree(repository, folder, symlinks=True, dirs_exist_ok=True)
    git(folder, "update-index", "-q", "--refresh")  # the copies have other inodes
    return folder


def git(folder: Path, *arguments: str) -> str:
    argv = ["git", "-C", str(folder), *IDENTITY, *arguments]
    return subprocess.run(argv, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Canary:
    """A program that takes a line out of a pipe when it runs: so it is found out where it can write nothing too."""

    script: Path
    pipe: int

    @property
    def has_run(self) -> bool:
        size = array.array("i", [0])
        fcntl.ioctl(self.pipe, termios.FIONREAD, size)
        return size[0] < len(_LINES)


_LINES = b"line\n" * 200


@pytest.fixture
def canary(room: Any) -> Iterator[Canary]:
    """A canary inside of the roots, where git may read but a sandbox lets it run nothing."""
    folder = room.project / "cage"
    folder.mkdir()
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    pipe, script = folder / "pipe", folder / "canary"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(descriptor, _LINES)
    script.write_text(f"#!/bin/sh\nread -r line < '{pipe}'\nexec cat\n", encoding="utf-8")
    script.chmod(0o755)
    yield Canary(script, descriptor)
    os.close(descriptor)
