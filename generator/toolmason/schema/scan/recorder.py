"""State of one scan: its occurrences, its steps, and the totals of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from toolmason.schema.providers import providers
from toolmason.schema.scan.occurrences import Occurrence
from toolmason.schema.walk import Parts

MAX_DEPTH: Final = 100
"""Maximum nesting of schemas, the same as in the parser of Gemini's message."""
MAX_STEPS: Final = 50_000
"""Maximum keywords, names and enum values."""

Schema: TypeAlias = Mapping[Any, Any]


class Location(NamedTuple):
    """The location of a schema or keyword.

    `level` counts all schemas around it, `nesting` properties and unions, `objects` only properties. `is_partial` is
    true inside schemas that extend another one, such as those of `if`.
    """

    parts: Parts = ()
    within: str = ""
    level: int = 0
    nesting: int = 0
    objects: int = 0
    is_partial: bool = False
    is_required: bool = False

    @property
    def is_root(self) -> bool:
        """Whether this is the whole schema."""
        return not self.parts


class Recorder:
    """Collects the occurrences of one scan, and counts its steps and the totals of the schema."""

    def __init__(self) -> None:
        self.occurrences: list[Occurrence] = []
        self.providers = providers()
        self._remaining_steps = MAX_STEPS
        self._reported: set[str] = set()
        self._totals = {
            "property-count-100": 0,
            "property-count": 0,
            "optional-count": 0,
            "enum-count": 0,
            "text-length": 0,
        }
        """Totals of the whole schema, by the name of their limit in `Providers.sizes`."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the maximum number of steps is exceeded."""
        return self._remaining_steps < 0

    def add(self, parts: Parts, pattern: str, subject: str, *others: str, keyword: str = "") -> None:
        """Record a pattern at a location; `others` are less specific ones."""
        self.occurrences.append(Occurrence(parts, (pattern, *others), subject, keyword))

    def add_once(self, parts: Parts, pattern: str, subject: str, *, keyword: str = "") -> None:
        """Record a pattern that is reported once for the whole schema."""
        if pattern not in self._reported:
            self._reported.add(pattern)
            self.add(parts, pattern, subject, keyword=keyword)

    def consume(self, steps: int, parts: Parts) -> bool:
        """Consume steps and return whether the scan may continue."""
        self._remaining_steps -= steps
        if self.is_exhausted:
            self.add_once(parts, "too-large", f"more than {MAX_STEPS} keywords, names and enum values")
        return not self.is_exhausted

    def count(self, size: str, amount: int, parts: Parts, subject: str) -> None:
        """Add to a total of the schema and report it once above the limit."""
        self._totals[size] += amount
        if self._totals[size] > self.providers.sizes[size]:
            self.add_once(parts, size, subject)
