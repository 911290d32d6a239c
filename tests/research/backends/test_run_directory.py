"""Folders for one run, which are removed though the server that made them was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from workbench_research.backends import run_directory as module
from workbench_research.backends.run_directory import MIN_STALE_AGE_S, PREFIX, remove_stale, run_directory

HOLDER = """
import subprocess, sys, time
from workbench_research.backends.run_directory import run_directory
with run_directory() as directory:
    open(directory + "/chat", "w").close()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
    print(directory, child.pid, flush=True)
    time.sleep(60)
"""
"""A server that has started a program, which outlives it."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(directory: Path) -> Path:
    then = time.time() - MIN_STALE_AGE_S - 1
    os.utime(directory, (then, then))
    return directory


def test_a_folder_is_the_users_alone_and_gone_afterwards(place: Path) -> None:
    with run_directory() as directory:
        (Path(directory) / "chat").touch()
        assert Path(directory).parent == place
        assert Path(directory).stat().st_mode & 0o777 == 0o700

    assert list(place.iterdir()) == []


def test_what_a_killed_server_left_is_removed_though_its_program_lives_and_not_before(place: Path) -> None:
    environ = os.environ | {"TMPDIR": str(place)}
    server = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, env=environ, encoding="utf-8")
    assert server.stdout is not None
    name, child = server.stdout.readline().split()
    try:
        assert remove_stale(place) == [], "it is new"
        aged(Path(name))
        assert remove_stale(place) == [], "it is held"
        server.kill()
        server.communicate()
        assert remove_stale(place) == [Path(name)]
    finally:
        os.kill(int(child), signal.SIGKILL)

    assert list(place.iterdir()) == []


def test_the_first_folder_of_a_server_is_made_after_a_sweep(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_cleaned", set())
    (place / f"{PREFIX}left").mkdir()
    aged(place / f"{PREFIX}left")
    with run_directory() as directory:
        assert list(place.iterdir()) == [Path(directory)]


def test_directories_of_others_are_not_removed(place: Path) -> None:
    kept = [place / f"{PREFIX}file", place / "workbench-other", place / f"{PREFIX}link"]
    kept[0].touch()
    kept[1].mkdir()
    kept[2].symlink_to(kept[1], target_is_directory=True)
    then = time.time() - MIN_STALE_AGE_S - 1
    for each in kept:
        os.utime(each, (then, then), follow_symlinks=False)

    assert remove_stale(place) == []
    assert sorted(place.iterdir()) == sorted(kept)
