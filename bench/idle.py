"""Memory of servers that have listed their tools and then wait: most registered servers do nothing else."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from contextlib import ExitStack
from statistics import median
from typing import Final, TypeVar

from bench.clock import process_cpu
from bench.session import Program, Workspace, session

IDLE_S: Final = 5.0
SHORT_IDLE_S: Final = 0.5
Key = TypeVar("Key", bound=Hashable)


def measure_idle(
    workspace: Workspace, programs: Mapping[Key, Program], rounds: int, *, is_short: bool = False
) -> dict[Key, tuple[float | None, float]]:
    """Return the resident memory of each program in MiB, None if unknown, and the CPU seconds that it used meanwhile.

    All programs of a round wait at the same time.
    """
    results: dict[Key, list[tuple[float | None, float]]] = {key: [] for key in programs}
    for _ in range(rounds):
        with ExitStack() as stack:
            running = {key: stack.enter_context(session(workspace, program)) for key, program in programs.items()}
            for opened in running.values():
                opened.request("tools/list")
            before = {key: process_cpu(opened.pid) for key, opened in running.items()}
            time.sleep(SHORT_IDLE_S if is_short else IDLE_S)
            for key, opened in running.items():
                results[key].append((opened.memory(), process_cpu(opened.pid) - before[key]))
    return {
        key: (_median([memory for memory, _ in rows]), median(cpu for _, cpu in rows)) for key, rows in results.items()
    }


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
