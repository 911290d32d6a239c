"""Parameters of the synthetic tools: no two tools have a parameter with the same text.

Names come from small pools, since real tools share names such as `path` and `limit`; texts contain the verb and the
noun of the tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any, Final


class Kind(Enum):
    """The kind of a parameter."""

    TEXT = auto()
    NUMBER = auto()
    CHOICE = auto()
    LIST = auto()
    TARGET = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. `bound` is the largest number, or the largest length of a list."""

    name: str
    description: str
    kind: Kind
    bound: int = 0
    choices: tuple[str, ...] = ()
    is_required: bool = False

    @property
    def default(self) -> int | str | None:
        """The default value; None without one."""
        if self.is_required or self.kind is Kind.LIST:
            return None
        return min(20, self.bound) if self.kind is Kind.NUMBER else self.choices[0]

    @property
    def example(self) -> Any:
        """A valid value."""
        values = {Kind.TEXT: "2026/spring", Kind.NUMBER: 5, Kind.LIST: ["spring"], Kind.TARGET: {"id": "A-17"}}
        return self.choices[0] if self.kind is Kind.CHOICE else values[self.kind]


_TEXTS: Final = ("path", "folder", "source", "shelf", "place")
_NUMBERS: Final = ("limit", "count", "top", "size", "most", "rows", "depth")
_ORDERS: Final = ("order", "sort", "by")
_MODES: Final = ("mode", "stage", "step", "state", "form")
_LISTS: Final = ("labels", "words", "notes", "marks", "keys", "terms", "topics")
_TARGETS: Final = ("target", "subject", "item")
_SORTED: Final = (
    "newest",
    "oldest",
    "name",
    "size",
    "owner",
    "weight",
    "price",
    "region",
    "colour",
    "rating",
    "status",
)
_STAGED: Final = ("draft", "final", "trial", "full", "quick", "safe", "strict", "silent", "manual", "forced", "partial")


def reading_parameters(number: int, verb: str, many: str) -> tuple[Parameter, ...]:
    """Return the parameters of the reading tool with this number: a path, a bounded number and a choice."""
    return (
        Parameter(
            name=_TEXTS[number % len(_TEXTS)],
            description=f"Folder of the {many} to {verb}",
            kind=Kind.TEXT,
            is_required=True,
        ),
        Parameter(
            name=_NUMBERS[number % len(_NUMBERS)],
            description=f"Most {many} to {verb}",
            kind=Kind.NUMBER,
            bound=50 + number % 97,
        ),
        Parameter(
            name=_ORDERS[number % len(_ORDERS)],
            description=f"Order of {many} to {verb}",
            kind=Kind.CHOICE,
            choices=_choices(_SORTED, number, 3),
        ),
    )


def changing_parameters(number: int, verb: str, many: str) -> tuple[Parameter, ...]:
    """Return the parameters of the changing tool with this number: a choice, a nested object and a list."""
    return (
        Parameter(
            name=_MODES[number % len(_MODES)],
            description=f"How to {verb} {many}",
            kind=Kind.CHOICE,
            choices=_choices(_STAGED, number, 2),
            is_required=True,
        ),
        Parameter(
            name=_TARGETS[number % len(_TARGETS)],
            description=f"The {many} to {verb}",
            kind=Kind.TARGET,
            is_required=True,
        ),
        Parameter(
            name=_LISTS[number % len(_LISTS)],
            description=f"Words for the {verb} of {many}",
            kind=Kind.LIST,
            bound=5 + number % 13,
        ),
    )


def _choices(pool: tuple[str, ...], number: int, count: int) -> tuple[str, ...]:
    """Return `count` values of the pool, whose number of values is a prime: the step is a whole cycle."""
    step = 1 + number // len(pool) % (len(pool) - 1)
    return tuple(islice((pool[(number + place * step) % len(pool)] for place in range(len(pool))), count))
