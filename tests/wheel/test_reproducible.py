"""The same commit gives the same files wherever it is built. The sessions `wheel` and `release` install the tools."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


MEMORY = Path("/dev/shm")
"""A file system that lists a directory in the order in which its entries were made."""
PACKAGES = {
    "toolmason": (".", 2),
    "toolmason-toolkit": ("packages/toolkit", 1),
    "toolmason-schema": ("packages/schema", 1),
}
"""Directory and number of published files of each package; the npm package has its own test."""


def clone_commit(directory: Path, *, umask: int) -> Path:
    """Return a clone of the newest commit."""
    directory.mkdir()
    clone = directory / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], umask=umask, check=True)
    return clone


def reorder(clone: Path) -> None:
    """List all files in another order, with other times."""
    for path in sorted(
        (path for path in clone.rglob("*") if path.is_file() and ".git" not in path.parts), reverse=True
    ):
        os.utime(path, (1, 1))
        path.rename(path.with_name(f"{path.name}.moved")).rename(path)


def build(clone: Path, package: str, *, umask: int, **variables: str) -> dict[str, str]:
    """Build a package; return the SHA-256 of each file."""
    directory, count = PACKAGES[package]
    target = clone.parent / f"dist-{package}"
    formats = ["--wheel"] if count == 1 else []
    command = [sys.executable, "-m", "build", "--no-isolation", *formats, "--outdir", str(target), directory]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1580601600", **variables}
    ran = subprocess.run(
        command, cwd=clone, env=environ, umask=umask, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in target.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="releases are built on Linux")
def test_two_builds_of_the_same_commit_are_equal(tmp_path: Path) -> None:
    """They differ in directory, file system, order and times of files, umask, time zone, locale, and hash seed."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else tmp_path) as elsewhere:
        first = clone_commit(tmp_path / "first", umask=0o022)
        second = clone_commit(Path(elsewhere, "a-longer-path"), umask=0o077)
        reorder(second)
        for package, (_, count) in PACKAGES.items():
            files = build(first, package, umask=0o022, TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="1")
            others = build(second, package, umask=0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7")

            assert len(files) == count
            assert files == others
