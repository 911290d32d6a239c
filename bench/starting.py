"""From spawning a server to its first `tools/list` over stdio: time, peak memory, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench.rounds import Ratio, alternate, ratio
from bench.session import Room, Start, start
from bench.workshop import BARE, Workshop


@dataclass(frozen=True, slots=True)
class Starts:
    """All starts, by program and size, in the order of the rounds."""

    all: dict[tuple[str, int], list[Start]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The programs, in the order in which they were given."""
        return tuple(dict.fromkeys(label for label, _ in self.all))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of tools, ascending."""
        return tuple(sorted({size for _, size in self.all}))

    @property
    def rounds(self) -> int:
        """How often each was started."""
        return min(len(each) for each in self.all.values())

    def seconds(self, label: str, size: int) -> list[float]:
        """Give the times of one program at one size."""
        return [each.seconds for each in self.all[label, size]]

    def to_bare(self, label: str, size: int) -> Ratio:
        """Compare a program with the bare SDK server."""
        return ratio(self.seconds(label, size), self.seconds(BARE, size))

    def growth(self, label: str) -> Ratio:
        """Compare a program's start at the largest size with that at the smallest."""
        return ratio(self.seconds(label, self.sizes[-1]), self.seconds(label, self.sizes[0]))

    def memory(self, label: str, size: int) -> float | None:
        """Give the median of the peak memory, in MiB, where the system tells it."""
        known = [each.memory for each in self.all[label, size] if each.memory is not None]
        return median(known) if known else None

    def bytes_per_tool(self, label: str, size: int) -> float:
        """Give what one listed tool takes on the wire, its share of the envelope included."""
        one = self.all[label, size][0]
        return one.size / len(one.tools)

    def tokens(self, label: str, size: int) -> int:
        """Estimate the tokens of all that is listed."""
        return self.all[label, size][0].listed_tokens


def measure_starts(room: Room, workshops: Sequence[Workshop], rounds: int) -> Starts:
    """Start every program at every size `rounds` times, in turn."""
    work = {
        (label, each.size): partial(start, room, program)
        for each in workshops
        for label, program in each.programs.items()
    }
    return Starts(alternate(rounds, work))
