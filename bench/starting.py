"""Start of a server up to its first `tools/list` over stdio: time, peak memory, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench.contestants import BARE, Contestants
from bench.rounds import Ratio, alternate, ratio
from bench.session import Start, Workspace, start


@dataclass(frozen=True, slots=True)
class Starts:
    """All starts, by program and size, in the order of the rounds."""

    all: dict[tuple[str, int], list[Start]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The programs in their original order."""
        return tuple(dict.fromkeys(label for label, _ in self.all))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of tools, ascending."""
        return tuple(sorted({size for _, size in self.all}))

    @property
    def rounds(self) -> int:
        """The number of starts of each program."""
        return min(len(starts) for starts in self.all.values())

    def seconds(self, label: str, size: int) -> list[float]:
        """Return the times of one program at one size."""
        return [start.seconds for start in self.all[label, size]]

    def to_bare(self, label: str, size: int) -> Ratio:
        """Compare a program with the bare SDK server."""
        return ratio(self.seconds(label, size), self.seconds(BARE, size))

    def growth(self, label: str) -> Ratio:
        """Compare a program's start at the largest size with that at the smallest."""
        return ratio(self.seconds(label, self.sizes[-1]), self.seconds(label, self.sizes[0]))

    def memory(self, label: str, size: int) -> float | None:
        """Return the median of the peak memory in MiB; None if the system does not report it."""
        known = [start.memory for start in self.all[label, size] if start.memory is not None]
        return median(known) if known else None

    def bytes_per_tool(self, label: str, size: int) -> float:
        """Return the bytes of one listed tool on the wire, including its share of the envelope."""
        one = self.all[label, size][0]
        return one.size / len(one.tools)

    def tokens(self, label: str, size: int) -> int:
        """Return the estimated tokens of the list."""
        return self.all[label, size][0].listed_tokens


def measure_starts(workspace: Workspace, contestants: Sequence[Contestants], rounds: int) -> Starts:
    """Start every program at every size `rounds` times, in turn."""
    work = {
        (label, compared.size): partial(start, workspace, program)
        for compared in contestants
        for label, program in compared.programs.items()
    }
    return Starts(alternate(rounds, work))
