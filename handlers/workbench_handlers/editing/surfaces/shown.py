"""What a question to the user shows of a review, and its place in the queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question to the user shows of a review."""

    diff: str = ""
    number: int = 1
    """Its place among the reviews that wait for the user, from 1."""
    count: int = 1
    """How many wait."""

    @property
    def place(self) -> str:
        """The place as the beginning of a text: `Review 2 of 3: `; empty if no other review waits."""
        return f"Review {self.number} of {self.count}: " if self.count > 1 else ""
