"""The resources of a server: memory, descriptors, threads, child processes, temporary files. Linux."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ALLOWED: Final = {"descriptors": 0, "threads": 4, "children": 0, "temporary_files": 0}
"""Growth that is not a leak: the pool of threads has its maximum only when as many calls wait at once."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Resources of a process at one time."""

    rss_kb: int
    descriptors: int
    threads: int
    children: int
    temporary_files: int

    @classmethod
    def of(cls, pid: int, temporary: Path) -> Holding:
        """Measure a process. `temporary` is its own `TMPDIR`."""
        process = Path(f"/proc/{pid}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        return cls(
            rss_kb=int(status["VmRSS"].split()[0]),
            descriptors=len(list((process / "fd").iterdir())),
            threads=int(status["Threads"]),
            children=len(_children(pid)),
            temporary_files=sum(1 for _ in temporary.rglob("*")),
        )

    def leaks_since(self, earlier: Holding) -> list[str]:
        """Return the counts that grew; memory has a separate limit."""
        grown = [(name, getattr(earlier, name), getattr(self, name), allowed) for name, allowed in ALLOWED.items()]
        return [f"{name}: {before} -> {after}" for name, before, after, allowed in grown if after > before + allowed]


def _children(pid: int) -> list[int]:
    """Return all descendants of a process, without those that ended."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(word) for word in task.read_text().split()]
            except OSError:  # it has ended
                continue
    return found[1:]
