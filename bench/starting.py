"""Start of a server up to its first `tools/list` over stdio, its peak memory, the bytes listed, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

from bench.contestants import BARE
from bench.rounds import Cost, Ratio, alternate, ratio
from bench.session import Program, Start, Workspace, start

LARGE_SIZE: Final = 10_000
"""Tools of the largest servers, which are started in fewer rounds."""
SHORT_LARGE_SIZE: Final = 40


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

    def costs(self, label: str, size: int) -> list[Cost]:
        """Return the costs of one program at one size."""
        return [start.cost for start in self.all[label, size]]

    def ends(self, label: str, size: int) -> list[Cost]:
        """Return the costs from the end of the input to the exit."""
        return [start.end for start in self.all[label, size]]

    def to_bare(self, label: str, size: int) -> Ratio:
        """Compare a program with the bare SDK server."""
        return ratio(self.costs(label, size), self.costs(BARE, size))

    def growth(self, label: str) -> Ratio:
        """Compare a program's start at the largest size with that at the smallest."""
        return ratio(self.costs(label, self.sizes[-1]), self.costs(label, self.sizes[0]))

    def memory(self, label: str, size: int) -> float | None:
        """Return the median of the peak memory in MiB; None if the system does not report it."""
        known = [start.memory for start in self.all[label, size] if start.memory is not None]
        return median(known) if known else None

    def bytes_per_tool(self, label: str, size: int) -> float:
        """Return the bytes of one listed tool on the wire, including its share of the envelope."""
        one = self.all[label, size][0]
        return one.size / one.tools

    def tokens(self, label: str, size: int) -> int:
        """Return the estimated tokens of the list."""
        return self.all[label, size][0].listed_tokens


def measure_starts(workspace: Workspace, programs: Mapping[tuple[str, int], Program], rounds: int) -> Starts:
    """Start every program `rounds` times, in turn. Programs are by label and number of tools."""
    return Starts(alternate(rounds, {key: partial(start, workspace, program) for key, program in programs.items()}))
