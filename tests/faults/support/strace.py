"""Attach strace to a running server, which kills it at a chosen system call or lets the call fail."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

PATIENCE_S: Final = 30.0


def require_program(name: str) -> str:
    """Return the path of a program; without it, skip the test, which the summary of the faults reports."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"not run: needs {name}")
    return found


@contextmanager
def injecting(pid: int, calls: str, fault: str, log: Path) -> Iterator[None]:
    """Inject `fault` (`signal=KILL:when=3`, `error=EIO`) into the system calls `calls` of a process and its children.

    `calls` is a set in the syntax of strace, such as `fsync,rename`. `log` gets the calls that the fault met.
    """
    # `?` before a name: not every architecture has every call.
    names = ",".join(f"?{name}" for name in calls.split(","))
    options = ("-f", "-e", f"trace={names}", "-e", f"inject={names}:{fault}", "-o", str(log), "-p", str(pid))
    tracer = subprocess.Popen([require_program("strace"), *options], stderr=subprocess.PIPE, encoding="utf-8")
    try:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        if "Operation not permitted" in line:
            pytest.skip("not run: needs the permission to trace processes")
        assert "attached" in line, line
        yield
    finally:
        tracer.terminate()
        tracer.communicate(timeout=PATIENCE_S)


def injected(log: Path) -> Sequence[str]:
    """Return the lines of calls that failed by injection."""
    ends = time.monotonic() + PATIENCE_S
    while not log.exists():
        assert time.monotonic() < ends, "strace wrote no log"
        time.sleep(0.01)
    return [line for line in log.read_text(encoding="utf-8").splitlines() if "(INJECTED)" in line]
