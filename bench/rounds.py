"""Alternating rounds: on a shared machine, only measurements of the same round are comparable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import median, quantiles
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one measurement: by the clock, and of processors. `cpu` is NaN if the system does not report it."""

    wall: float
    cpu: float

    def __truediv__(self, count: float) -> Cost:
        """Return the share of one of `count` equal pieces of work."""
        return Cost(self.wall / count, self.cpu / count)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of pairwise ratios by the clock, the bounds of their middle half, and the median of those of CPU."""

    median: float
    low: float
    high: float
    cpu: float

    def __str__(self) -> str:
        around = [f"{self.low:.2f} to {self.high:.2f}"] if self.low < self.high else []
        return f"{self.median:.2f}x ({'; '.join((*around, f'CPU {self.cpu:.2f}x'))})"


def alternate(count: int, work: Mapping[Label, Callable[[], Result]]) -> dict[Label, list[Result]]:
    """Run each function of `work` once per round, for `count` rounds, each round with another first one.

    With several rounds, each function first runs once without measurement, which caches byte code.
    """
    if count > 1:
        for warm_up in work.values():
            warm_up()
    results: dict[Label, list[Result]] = {label: [] for label in work}
    labels = list(work)
    for number in range(count):
        first = number % len(labels)
        for label in (*labels[first:], *labels[:first]):
            results[label].append(work[label]())
    return results


def ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> Ratio:
    """Return the ratio of two series of measurements, compared pairwise."""
    pairs = [mine.wall / other.wall for mine, other in zip(ours, theirs, strict=True)]
    cpu = median(mine.cpu / other.cpu if other.cpu else nan for mine, other in zip(ours, theirs, strict=True))
    low, _, high = quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else pairs * 3
    return Ratio(median(pairs), low, high, cpu)


def typical(costs: Sequence[Cost]) -> Cost:
    """Return the medians of a series of measurements."""
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))
