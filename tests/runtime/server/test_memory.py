"""A server over HTTP has few arenas of glibc, unless its operator sets them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")

ALLOCATING = """
import ctypes, sys, threading
from toolmason_runtime.server.memory import limit_arenas

if sys.argv[2] == "limited":
    limit_arenas()
together = threading.Barrier(12)
kept = []

def allocate():
    together.wait()
    kept.append([bytes(50_000) for _ in range(20)])
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(c.fopen(sys.argv[1].encode(), b"w"))
c.malloc_info(0, file)
c.fclose(file)
"""


def arenas(file: Path, *, is_limited: bool, **variables: str) -> int:
    """Return the number of arenas of a process whose threads allocate memory at once."""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", ALLOCATING, str(file), "limited" if is_limited else "default"]
    subprocess.run(command, check=True, env=environment | variables)
    return file.read_text(encoding="utf-8").count("<heap nr=")


def test_threads_share_two_arenas(tmp_path: Path) -> None:
    assert arenas(tmp_path / "default", is_limited=False) > 2
    assert arenas(tmp_path / "limited", is_limited=True) <= 2


def test_the_operators_variable_has_precedence(tmp_path: Path) -> None:
    assert arenas(tmp_path / "info", is_limited=True, MALLOC_ARENA_MAX="4") == 4
