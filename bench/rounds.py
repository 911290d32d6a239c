"""Alternating rounds: on a machine that others use, only what was measured side by side can be compared."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of ratios taken pair by pair, and the middle half of them."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        around = f" ({self.low:.2f} to {self.high:.2f})" if self.low < self.high else ""
        return f"{self.median:.2f}x{around}"


def alternate(count: int, work: Mapping[Label, Callable[[], Result]]) -> dict[Label, list[Result]]:
    """Do each piece of `work` once a round, `count` rounds, each round beginning with another one.

    Before several rounds each is done once without counting: that caches byte code, as installing does for packages.
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


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Compare two rows of measurements, pair by pair."""
    pairs = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    low, _, high = quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else pairs * 3
    return Ratio(median(pairs), low, high)
