"""Time by the clock and of processors: of this process's children, or of one running process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from time import perf_counter

from bench.rounds import Cost


@dataclass(slots=True)
class Timer:
    """The cost of a block of code, known after its end."""

    cost: Cost = field(default=Cost(nan, nan))


@contextmanager
def measure_children() -> Iterator[Timer]:
    """Measure a block that runs programs to their end."""
    timer, cpu, started = Timer(), _children_cpu(), perf_counter()
    yield timer
    timer.cost = Cost(perf_counter() - started, _children_cpu() - cpu)


@contextmanager
def measure_process(pid: int) -> Iterator[Timer]:
    """Measure a block during which the process `pid` works, with the programs that it starts."""
    timer, cpu, started = Timer(), process_cpu(pid), perf_counter()
    yield timer
    wall = perf_counter() - started
    timer.cost = Cost(wall, process_cpu(pid) - cpu)


@contextmanager
def measure_own() -> Iterator[Timer]:
    """Measure a block of this process."""
    timer, cpu, started = Timer(), time.process_time(), perf_counter()
    yield timer
    wall = perf_counter() - started
    timer.cost = Cost(wall, time.process_time() - cpu)


def process_cpu(pid: int) -> float:
    """Return the CPU seconds of a running process and of all programs that it started; NaN if unknown.

    Running children count too: our servers start programs from a child of their own. The clock of a process has
    nanoseconds; the times of ended programs in `/proc` have hundredths of a second.
    """
    if sys.platform != "linux":
        return nan
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    total = time.clock_gettime(~pid << 3 | 2) + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in thread.joinpath("children").read_text(encoding="utf-8").split():
            with suppress(OSError):  # it has just ended
                total += process_cpu(int(child))
    return total


def _children_cpu() -> float:
    if sys.platform == "win32":
        return nan
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
