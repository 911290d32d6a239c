"""The same commit gives the same files wherever it is built. The sessions `wheel` and `release` install the tools."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(directory: Path, *, umask: int, **variables: str) -> dict[str, str]:
    """Build a clone of the newest commit; return the SHA-256 of each file."""
    clone, target = directory / "clone", directory / "dist"
    directory.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], umask=umask, check=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), "."]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1580601600", **variables}
    ran = subprocess.run(
        command, cwd=clone, env=environ, umask=umask, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in target.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="releases are built on Linux")
def test_two_builds_of_the_same_commit_are_equal(tmp_path: Path) -> None:
    first = build(tmp_path / "first", umask=0o022, TZ="UTC", LC_ALL="C.UTF-8")
    second = build(tmp_path / "a-longer-path", umask=0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7")

    assert len(first) == 2
    assert first == second
